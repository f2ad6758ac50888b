"""The Russian and English words and phrases by which bot.intents tells what a message wants."""

from __future__ import annotations

import re


def _any(*phrases: str) -> str:
    """One of the phrases, which " | " separates and which are regular expressions where a space is a gap."""
    alternatives = " | ".join(phrases).split("|")
    return "(?:" + "|".join(r"\s+".join(phrase.split()) for phrase in alternatives) + ")"


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("".join(parts), re.IGNORECASE)


_GAP = r"[\s,:;.!—–-]+"
_END = r"(?!\w)"
_MARKS = r"(?:\s*[,:;.!—–-]+\s*|\s+|\s*$)"

WORD = re.compile(r"\w+(?:[-'’]\w+)*")
ENDS_ASKING = re.compile(r"\?[^\w?]*$")
URL = _pattern(r"(?:https?://|www\.)\S+")

# Greetings

_HELLO = _any(
    "привет | приветик | приветствую | здравствуй | здравствуйте | хай | салют | доброго времени суток",
    "добрый день | добрый вечер | доброе утро | доброй ночи",
    "hello | hi | hey | greetings | good morning | good afternoon | good evening | good day",
)
GREETING_FIRST = _pattern(_HELLO, r"(?:\s+", _any("бот | всем | bot | there | all"), r")?\s*[,.!\n)]+\s*")

# Small talk: these are matched against the bare words of a whole message, lower case and with е for ё.

GREETINGS = _pattern(_HELLO, r"(?:\s", _any(_HELLO, "бот | всем | bot | there | все | all"), ")*")
THANKS = _pattern(
    _any("спасибо | спс | благодарю | большое спасибо | thanks | thank you | thx | ty | cheers"),
    r"(?:\s\w+){0,4}$",
)
ABOUT_BOT = _pattern(
    rf"(?:{_HELLO}\s)?",
    _any(
        "кто ты | ты кто | кто вы | как тебя зовут | что ты умеешь | что ты можешь | что ты такое",
        "как дела | как у тебя дела | как ты | как жизнь | помощь | помоги | старт",
        "who are you | what are you | what['’]?s your name | what is your name | what can you do",
        "how are you | how are you doing | how are you today | help | start",
    ),
)
_FILLER = _any(
    "да | нет | не | ага | угу | ок | окей | хорошо | ладно | понятно",
    "понял | поняла | ясно | верно | точно",
    "класс | круто | супер | отлично | здорово | пока | до свидания | до завтра | спокойной ночи | ха | хаха",
    "лол | хм | ну | я | тоже | не знаю | не надо | все | конечно | давай | молодец | тест | проверка | так",
    "это | и | а | очень | ничего | неважно",
    "yes | no | nope | yeah | yep | ok | okay | k | sure | fine | good",
    "great | cool | nice | wow | lol | haha",
    "hm | hmm | bye | goodbye | see you | good night | i see | i know",
    "i agree | i understand | got it | right",
    "i don['’]?t know | correct | well | so | test | testing | very | it",
    "is | that | that['’]?s | done | me too",
    "nothing | never mind",
)
FILLERS = _pattern(_FILLER, rf"(?:\s{_FILLER})*")

# Told to keep something: what the pattern matches is the lead, the rest are the words to keep.

_PLEASE = rf"(?:{_any('пожалуйста | слушай | бот | так | и | please | hey | bot | also')}[\s,!]+)*"
_FILLED = _any("пожалуйста | себе | вот что | это | также | ещ[её] | please | this | also | down")
_THIS = rf"(?:,?\s+{_FILLED}{_END})*"
_THAT = _any("то, что | что | that") + r"\s+"
KEEP = _pattern(
    _PLEASE,
    "(?:",
    _any("запомни | запомните | запиши | запишите | не забудь | не забудьте"),
    rf"{_END}{_THIS}{_MARKS}(?:{_THAT})?",
    "|",
    _any("remember | don['’]?t forget | memori[sz]e"),
    rf"{_END}{_THIS}{_MARKS}(?:{_THAT}|to\s+)?",
    "|",
    # These begin many other sentences too, so they count only before a colon or a "that".
    _any(
        "сохрани | сохраните | отметь | отметьте | заметь | заметьте | заметка | учти | учтите | на заметку",
        "имей в виду | имейте в виду | note | save | write down | make a note | take a note | keep in mind",
        "for the record | fyi",
    ),
    rf"{_THIS}(?:\s*[,:—–]+\s*(?:{_THAT})?|\s+{_THAT}|\s*[.!]*$)",
    ")",
)
ASKED_TO_KEEP = _pattern(
    _PLEASE,
    "(?:",
    _any("можешь | ты можешь | можете | хочу, чтобы ты | я хочу, чтобы ты"),
    r"\s+",
    _any(
        "запомнить | запомнил | запомнила | записать | записал | записала | сохранить | сохранил | сохранила"
    ),
    rf"(?:\s*[,:]+\s*(?:{_THAT})?|\s+)",
    "|",
    _any(
        "can you | could you | will you | would you",
        "i want you to | i would like you to | i['’]?d like you to",
    ),
    rf"\s+(?:please\s+)?{_any('remember | note | save | keep in mind')}(?:\s*:+\s*|\s+that\s+)",
    ")",
)

# Asked for what only a command or a language model can do.

FORGET = _pattern(_PLEASE, _any("забудь | забудьте | сотри | удали | forget | delete | erase"), _END)
REMINDER = _pattern(
    _PLEASE,
    "(?:",
    _any("напомни | напомните"),
    r"(?:\s+мне)?\s.*(?<!\w)",
    _any("завтра | послезавтра | вечером | утром | через | в \\d | в понедельник | во вторник | в среду"),
    "|",
    _any("remind me to | remind me in | remind me at | remind me on | remind me tomorrow"),
    f"){_END}",
)
ORDER = _pattern(
    _PLEASE,
    _any(
        "напиши | переведи | сделай | посчитай | придумай | объясни | помоги",
        "дай | открой | включи | выключи",
        "сгенерируй | нарисуй | составь | проверь | исправь | перескажи | сократи | расскажи | поставь",
        "позвони | отправь | закажи | запусти | прочитай | перестань",
    ),
    rf"(?:те)?{_END}|",
    _PLEASE,
    _any(
        "write | translate | explain | make | create | generate | draw",
        "help | give | calculate | summari[sz]e",
        "fix | open | play | send | tell | list | show | stop | call | set | turn on | turn off | read | run",
        "let['’]?s",
    ),
    _END,
)

# Questions

OPENER = _pattern(
    "(?:",
    _any("а | и | ну | но | так | слушай | интересно | and | so | but | well | ok | hey | please"),
    r"[\s,]+)+",
)
_ABOUT = _any("о | об | обо | про | about | of")
_QUESTION_WORD = (
    "(?:"
    + _any(
        "в | во | на | о | об | у | с | со | к | ко | по | для | за | из | от | до | под | при",
        "in | at | on | for | with | to | from",
    )
    + r"\s+)?"
    + _any(
        "кто | что | чего | чему | кого | кому | кем | чем | ч[её]м | ком",
        "где | куда | откуда | когда | как",
        "какой | какая | какое | какие | какого | какую | каком | каким | какому | каких | какими",
        "сколько | скольки | почему | зачем | чей | чья | чь[её] | чьи",
        "который | которая | которое | которые",
        "who | whom | whose | what | where | when | which | why | how",
    )
    + r"(?:['’](?:s|re|d|ll))?(?![\w-])"
)
QUESTION_WORD = _pattern(_QUESTION_WORD)
# What begins like a question and is none: "when I was small, we lived in Omsk", "what I like most is tea".
TELLS = _pattern(
    "(?:когда|when)\\s[^,]+,|что\\s+касается",
    rf"|как\s+{_any('правило | обычно | только | оказалось | и | раз | будто')}{_END}",
    rf"|{_any('what | where | when | why | how')}\s+{_any('i | we | you | he | she | they | it')}\s",
)
INVERSION = _pattern(
    _any(
        "is | are | am | was | were | do | does | did | can | could",
        "should | would | will | has | have | had",
    ),
    r"\s+",
    _any("i | you | we | he | she | it | they | my | our | his | her | their | your | the | there | anyone"),
    r"\s|\w+\s+ли\s",
)
RECALL = _pattern(
    "(?:",
    _any("скажи | скажите | подскажи | подскажите | напомни | напомните | вспомни | вспомните"),
    rf"(?:\s+мне)?{_END}[\s,:]*(?:{_ABOUT}\s+)?",
    "|",
    _any("помнишь | помните | ты помнишь | не помнишь | ты не помнишь | вы помните"),
    rf"(?:\s+ли)?(?:\s+ты)?{_END}[\s,]*(?:{_ABOUT}\s+)?",
    "|",
    _any("знаешь | знаете | ты знаешь | не знаешь | ты не знаешь | вы знаете"),
    rf"(?:\s+ли)?(?:\s+ты)?[\s,]+(?:{_ABOUT}\s+|(?={_QUESTION_WORD}))",
    "|",
    rf"что\s+(?:(?:ты|вы)\s+)?{_any('знаешь | знаете | помнишь | помните | известно')}\s+{_ABOUT}\s+",
    "|",
    rf"расскажи(?:те)?(?:\s+мне)?\s+{_ABOUT}\s+|(?:найди|поищи|покажи)(?:те)?(?:\s+мне)?\s+",
    "|",
    _any(
        "what do you know about | what do you remember about | find | show me | search for | search | look up"
    ),
    r"\s+|do\s+you\s+(?:know|remember)\s+",
    rf"(?:{_ABOUT}\s+)?|tell\s+me\s+(?:about\s+|(?={_QUESTION_WORD}))|remind\s+me\s+(?:{_ABOUT}\s+)?|remember\s+",
    ")",
)
EVERYTHING = _pattern(
    _any(
        rf"{_any('знаешь | помнишь | знаете | помните')} {_any('обо мне | про меня')}",
        rf"{_any('обо мне | про меня')} {_any('знаешь | помнишь | знаете | помните')}",
        "вс[её],? что ты знаешь | вс[её],? что ты помнишь | вс[её],? что знаешь | вс[её],? что помнишь",
        "know about me | remember about me | everything you know | everything you remember",
    ),
    _END,
)

# Statements

CODE = re.compile(
    r"```|\A\s*[{\[<].*[}\]>]\s*\Z|[;{}]\s*\n.*[;{}]\s*\Z"
    r"|^\s*(?:\$ |>>> |#!|#include|def \w+\(|class \w+[:(]|import \w+$|from \w+ import |SELECT .+ FROM )"
    r"|^\s*(?:sudo|pip|npm|docker|git|curl|apt|cd|ls|ssh|make)\s+(?:-|/|~|install|run|clone|push|pull|commit)",
    re.MULTILINE | re.DOTALL,
)
LIKING = _pattern(
    r"(?<!\w)(?:",
    _any(
        r"люблю | любит | любим | любят | обожа\w+ | нравится",
        r"нравятся | нравил[ао]сь | предпочита\w+ | ненавижу",
        r"ненавидит | терпеть не | не выно\w+ | любимый | любимая | любимое | любимые | любимую",
        r"likes | loves | prefers | hates | enjoys | dislikes | favou?rite | can['’]?t stand | cannot stand",
    ),
    r"|",
    _any("i | we | they | you"),
    rf"(?:\s+{_any('really | also | do | don[’]t | don.t | do not | absolutely | never | always')})*\s+",
    _any("like | love | prefer | hate | enjoy | adore | dislike"),
    f"){_END}",
)
