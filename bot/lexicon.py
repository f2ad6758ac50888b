"""The Russian and English phrases by which people have something kept, forgotten or done, or tell a fact."""

from __future__ import annotations

import re

from bot.wording import END, PLEASE, QUESTION_WORD, any_of, pattern

_MARKS = r"(?:\s*[,:;.!—–-]+\s*|\s+|\s*$)"

URL = pattern(r"(?:https?://|www\.)\S+")

# Told to keep something: what the pattern matches is the lead, the rest are the words to keep.

_FILLED = any_of("пожалуйста | себе | вот что | это | также | ещ[её] | please | this | also | down")
_THIS = rf"(?:-ка)?(?:(?:\s*,\s*|\s+){_FILLED}{END})*"
_THAT = any_of("то, что | что | that") + r"\s+"
# "Запиши меня к врачу" wants an appointment.
_PERSON = any_of(
    "меня | нас | его | её | ее | их | маму | папу | мужа | жену | сына | дочь | дочку | ребёнка | ребенка",
    "бабушку | дедушку | брата | сестру | друга | подругу | собаку | кошку | кота | детей",
)
_APPOINTMENT = rf"запиши(?:те)?\s+{_PERSON}\s+(?:ко?|на|во?)\s"
# What stands after "save" and "can you remember": it tells something only with a verb or a number.
_TELLING = (
    rf"{any_of('the | my | our | his | her | their | i | i.m | we')}\s[^\n]*?"
    rf"(?::|\d|(?<=\s){any_of('is | are | am | was | were | has | have | likes | loves | lives | works')}\s)"
)
KEEP = pattern(
    PLEASE,
    rf"(?!{_APPOINTMENT})(?:",
    any_of(
        "запомни | запомните | запиши | запишите | не забудь | не забудьте",
        r"сохрани(?!\s+бог) | сохраните",
        "прошу запомнить | прошу записать | прошу не забыть",
    ),
    rf"{END}{_THIS}{_MARKS}(?:{_THAT})?",
    "|",
    rf"(?:{any_of('do | always | you should | you must | i need you to')}\s+)?",
    any_of("(?P<recalls>remember) | don['’]?t forget | memori[sz]e"),
    rf"{END}{_THIS}{_MARKS}(?:{_THAT}|to\s+)?",
    "|",
    rf"{any_of('save | store | note | note down | write down | jot down | put down')}\s+(?={_TELLING})",
    "|",
    # These begin many other sentences too, so they count only before a colon or a "that".
    any_of(
        "отметь | отметьте | заметь | заметьте | заметка | учти | учтите | на заметку",
        "имей в виду | имейте в виду | добавь в память | занеси в память",
        rf"{any_of('надо | нужно | важно | хочу')} {any_of('запомнить | записать | сохранить | не забыть')}",
        "note | save | store | write down | make a note | take a note | keep in mind",
        "add to memory | add to your memory | for the record | fyi",
    ),
    rf"{_THIS}(?:\s*[,:—–]+\s*(?:{_THAT})?|\s+{_THAT}|\s*[.!]*$)",
    ")",
)
ASKED_TO_KEEP = pattern(
    PLEASE,
    "(?:",
    any_of("можешь | ты можешь | можете | хочу, чтобы ты | я хочу, чтобы ты"),
    r"\s+",
    any_of(
        "запомнить | запомнил | запомнила | записать | записал | записала | сохранить | сохранил | сохранила"
    ),
    rf"(?:\s*[,:]+\s*(?:{_THAT})?|\s+)",
    "|",
    any_of(
        "can you | could you | will you | would you",
        "i want you to | i would like you to | i['’]?d like you to",
    ),
    rf"\s+(?:please\s+)?{any_of('remember | note | save | keep in mind')}",
    rf"(?:\s*:+\s*|\s+that\s+|\s+(?={_TELLING}))",
    ")",
)
_HAS_SAID = any_of(
    "сказал | сказала | говорил | говорила | написал | написала | рассказал | рассказала",
    "said | told you | just said | just told you | wrote | just wrote",
)
NO_CONTENT = pattern(
    any_of("меня | нас | это | всё | все | me | us | it | this | that | everything"),
    rf"|(?:{any_of('мой | мою | мо[её] | my | the | an')}\s+)?",
    any_of(
        "адрес | номер | телефон | имя | день рождения | address | number | phone number | name | birthday"
    ),
    rf"|(?:{any_of('вс[её], что | всё | все | то, что | что | what | everything')}\s+)?(?:я|i)\s+",
    rf"(?:{any_of('тебе | вам | уже | сейчас | только что')}\s+)*{_HAS_SAID}",
    rf"(?:\s+{any_of('тебе | вам | раньше | ранее | выше | сейчас | before | earlier | above | now')})*",
)
_NOD = any_of(
    "ок | окей | ладно | хорошо | понял | поняла | понятно | ясно | договорились | пожалуйста",
    "ok | okay | all right | alright | got it | understood | will you | would you | deal | please",
)
TAG = pattern(rf"(?:(?:\A|[,.;!]\s*){_NOD}|\s{_NOD}\s*\?)[\s?!.]*\Z")
"""What asks for a nod after what is to be kept: "the key is at Olga's, ok?"."""

# Told not to keep something, wherever that stands in the message.

DO_NOT_KEEP = pattern(
    "(?:^|[.,;:!(\n—–-])\\s*",
    PLEASE,
    "(?:",
    r"не\s+",
    any_of("запоминай | запоминайте | записывай | записывайте | сохраняй | сохраняйте"),
    END,
    "|",
    rf"{any_of('не надо | не нужно | не стоит')}\s+(?:(?:это|этого|такое)\s+)?",
    rf"{any_of('запоминать | записывать | сохранять')}{END}",
    "|",
    rf"{any_of('do not | don[’]?t | don.t | never | you needn.t | no need to')}\s+(?:ever\s+)?",
    rf"(?:{any_of('remember | memori[sz]e | save | record')}{END}",
    rf"|{any_of('keep | store | note | write')}\s+{any_of('this | that | it | my | any | anything')}{END})",
    rf"(?!\s+{QUESTION_WORD}))",
)

# Asked for what only a command or a language model can do.

FORGET = pattern(PLEASE, any_of("забудь | забудьте | сотри | удали | forget | delete | erase"), END)
REMINDER = pattern(
    PLEASE,
    "(?:",
    any_of("напомни | напомните"),
    r"(?:\s+мне)?\s(?:.*(?<!\w)",
    any_of("завтра | послезавтра | вечером | утром | через | в \\d | в понедельник | во вторник | в среду"),
    rf"|\w+(?:ть|ти|чь)(?:ся)?{END})",
    "|",
    any_of("разбуди | разбудите | поставь будильник | поставь таймер | wake me | set an alarm | set a timer"),
    "|",
    any_of("remind me to | remind me in | remind me at | remind me on | remind me tomorrow"),
    f"){END}",
)
ORDER = pattern(
    PLEASE,
    "(?:",
    _APPOINTMENT,
    rf"|{any_of('запиши | запишите')}\s+{any_of('видео | аудио | голосовое | песню')}",
    "|",
    any_of(
        "напиши | переведи | сделай | посчитай | придумай | объясни | помоги | опиши | ответь | повтори",
        "дай | открой | закрой | включи | выключи | купи | забронируй | запланируй | создай | реши | спой",
        "сгенерируй | нарисуй | составь | проверь | исправь | перескажи | сократи | расскажи | поставь",
        "позвони | отправь | закажи | запусти | прочитай | перестань | продолжай | продолжи | поговори",
        "посоветуй | порекомендуй | предложи | подбери | выбери | сравни | вычисли | загугли | поздравь",
    ),
    rf"(?:те)?{END}|давай(?:те)?\s",
    "|",
    any_of(
        "write | translate | explain | make | create | generate | draw | describe | recommend | suggest",
        "help | give | calculate | summari[sz]e | compare | continue | repeat | convert | solve | sing",
        "fix | play | send | tell | list | show | turn on | turn off | read",
        r"(?:open|stop|run)(?!\s+\d) | set(?!\s.*\s(?:code|price|date|deadline|limit|budget)\s+to\s)",
        "let['’]?s | sign me up | buy | schedule | google",
        "call (?!me)\\w+ | call me (?:back|later|at|on|when|tomorrow)",
        "plan (?:my|our|a|the) | check (?:if|whether|the|my|out|this)",
        "book (?:me|a|an|us|the) | order (?:me|a|an|some|us|the)",
    ),
    rf"{END})",
)

# Statements

HABIT = pattern(
    r"(?<!\w)",
    any_of(r"every | each | twice an? | once an? | daily | weekly | on \w+days"),
    END,
)
"""What begins like an order in English and is one's custom: "run 5 km every morning"."""
FOR_ME = pattern(r"(?<!\w)", any_of("me | us"), END)

CODE = re.compile(
    r"```|\A\s*[{\[<].*[}\]>]\s*\Z|[;{}]\s*\n.*[;{}]\s*\Z"
    r"|^\s*(?:\$ |>>> |#!|#include|def \w+\(|class \w+[:(]|import \w+$|from \w+ import |SELECT .+ FROM )"
    r"|^\s*(?:sudo|pip|npm|docker|git|curl|apt|cd|ls|ssh|make)\s+(?:-|/|~|install|run|clone|push|pull|commit)",
    re.MULTILINE | re.DOTALL,
)
FIRST_PERSON = pattern(any_of("я | мне | мы | нам | i | i['’]?m | i['’]ve | we | we['’]re | we['’]ve"), END)
"""Who begins so tells something in two words already: "I'm vegetarian"."""

ABOUT_BOT = pattern(r"(?:\w{1,4}[\s,]+)?", any_of("ты | вы | you | you['’]re"), END)
_ABOUT_PEOPLE = any_of(
    "я | меня | мне | мной | мой | моя | мо[её] | мои | моего | моей | моих | моему | моим | мою | мы | нас",
    "нам | наш | наша | наше | наши | i | i['’]m | me | my | mine | we | us | our",
)
ABOUT_PEOPLE = pattern(r"(?<!\w)", _ABOUT_PEOPLE, END)

LIKING = pattern(
    r"(?<!\w)(?:",
    any_of(
        r"люблю | любит | любим | любят | обожа\w+ | нравится",
        r"нравятся | нравил[ао]сь | нравишься | предпочита\w+ | ненавижу",
        r"ненавидит | терпеть не | не выно\w+ | любимый | любимая | любимое | любимые | любимую",
        r"likes | loves | prefers | hates | enjoys | dislikes | favou?rite | can['’]?t stand | cannot stand",
    ),
    r"|",
    any_of("i | we | they | you"),
    rf"(?:\s+{any_of('really | also | do | don[’]t | don.t | do not | absolutely | never | always')})*\s+",
    any_of("like | love | prefer | hate | enjoy | adore | dislike"),
    f"){END}",
)
