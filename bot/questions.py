"""The Russian and English phrases by which people ask for what is remembered."""

from __future__ import annotations

from bot.wording import END, QUESTION_WORD, any_of, pattern

_LAST = any_of(
    "кто | что | где | куда | откуда | когда | какой | какая | какое | какие | сколько | почему | как"
)
_WHICH = any_of("какой | какая | какое | какие | каком | какую")
ASKS = pattern(
    r"\?[^\w?]*$|\?(?=\s)|(?<!\w)",
    _LAST,
    rf"\W*$|(?<![,—]\s)(?<!\w){any_of('во? | на | у')}\s+{_WHICH}\s+\w+\W*$",
    rf"|(?<!\w){any_of('is | are | was | were | called | lives | starts | leaves')}\s+(?:(?:at|on|in)\s+)?",
    r"(?:what|where|when|who|(?:what|which)\s+\w+)\W*$",
)
"""A question mark where a sentence ends, or a word that asks at the end of all: "а рост какой"."""

OPENER = pattern(
    "(?:",
    any_of(
        "а | и | ну | но | так | слушай | интересно | кстати | and | so | but | well | ok | hey | please",
        "by the way",
    ),
    r"[\s,]+)+",
)
_ABOUT = any_of("о | об | обо | про | about | of")
BEGINS_ASKING = pattern(QUESTION_WORD)
RECOLLECTS = pattern(
    rf"{QUESTION_WORD}(?!.*:(?!\d))|{any_of('my | our | the')}\s+[\w'’]+(?:\s+[\w'’]+)?\s*\?\W*$"
)
"""What follows a "remember" that asks; what a colon explains is told: "where the key is: under the mat"."""
# What begins like a question and is none: "when I was small, we lived in Omsk", "what I like most is tea".
TELLS = pattern(
    "(?:когда|when)\\s[^,]+,|что\\s+касается",
    rf"|как\s+{any_of('правило | обычно | только | оказалось | выяснилось | известно')}{END}",
    rf"|как\s+{any_of('и | раз | будто | ни странно')}{END}",
    rf"|как\s+{any_of('ты | вы')}\s+(?:уже\s+)?{any_of('знаешь | знаете | помнишь | помните | видишь')}\s*,",
    r"|(?:\w{1,3}\s+)?\w+\s+бы\s+(?:\w+\s+){0,3}ни\s",
    rf"|как\s+(?:я\s+)?(?:уже\s+)?{any_of('говорил | говорила | сказал | сказала | писал | писала')}{END}",
    r"|what\s+an?\s",
    rf"|{any_of('what | where | when | why | how')}\s+{any_of('i | we | you | he | she | they | it')}\s",
)
_PRONOUN = any_of(
    "i | you | we | he | she | it | they | my | our | his | her | their | your | the | there | anyone"
)
# "Was born in Perm" leaves the person out and asks nothing.
_NO_SUBJECT = any_of(
    "born | raised | married | divorced | promoted | hired | fired | diagnosed | vaccinated | told | given",
    "in | at | on | not | never | always | just",
)
INVERSION = pattern(
    rf"{any_of('is | are | was | were | does | did')}\s(?!{_NO_SUBJECT}{END}|\d)|",
    r"есть\s+у\s+\w+\s+\w+(?:\s+\w+)?\W*$|",
    any_of("am | do | can | could | should | would | will | has | have | had"),
    rf"\s+{_PRONOUN}\s|\w+\s+ли\s",
)
_KNOWABLE = any_of(
    r"код\w* | парол\w* | пин\w* | номер\w* | адрес\w* | имя | дат[уы] | размер\w* | рост | рейс",
    "день рождения | codes? | passwords? | passcode | pin | numbers? | address | name | birthday | date",
    "size | flight | login",
)
_MINE = any_of(
    "мой | моя | мо[её] | мои | мою | моего | моей | моих | наш | наша | наше | наши | нашу | все мои",
    "my | our | all | everything",
)
RECALL = pattern(
    "(?:",
    any_of("скажи | скажите | подскажи | подскажите | напомни | напомните | вспомни | вспомните"),
    rf"(?:\s+мне)?{END}[\s,:]*(?:{_ABOUT}\s+)?",
    "|",
    any_of("помнишь | помните | ты помнишь | не помнишь | ты не помнишь | вы помните"),
    rf"(?:\s+ли)?(?:\s+ты)?{END}[\s,]*(?:{_ABOUT}\s+)?",
    "|",
    any_of("знаешь | знаете | ты знаешь | не знаешь | ты не знаешь | вы знаете"),
    rf"(?:\s+ли)?(?:\s+ты)?[\s,]+(?:{_ABOUT}\s+|(?={QUESTION_WORD})|(?={_MINE}{END}))",
    "|",
    # Who has forgotten something wants to hear it.
    rf"(?:я\s+)?{any_of('не помню | забыл | забыла | не знаю | не могу вспомнить | понятия не имею')},?\s+",
    rf"(?:(?={QUESTION_WORD})(?!\w+\s+\w+(?:ть|ти|чь){END})|(?=(?:\w+\s+)?{_KNOWABLE}{END}))",
    "|",
    any_of(
        "i forgot | i have forgotten | i['’]ve forgotten | i can['’]?t remember",
        "i don['’]?t remember | i don['’]?t know | i do not know | don['’]?t remember",
        "any idea | any clue | do you have any idea | have you any idea | i have no idea | no idea",
    ),
    rf"\s+(?:(?={QUESTION_WORD})(?!\w+\s+to\s)",
    rf"|(?={any_of('my | our | the')}\s+(?:[\w'’]+\s+){{0,3}}?{_KNOWABLE}{END}))",
    "|",
    rf"что\s+(?:(?:ты|вы)\s+)?{any_of('знаешь | знаете | помнишь | помните | известно')}\s+{_ABOUT}\s+",
    "|",
    rf"расскажи(?:те)?(?:\s+мне)?\s+{_ABOUT}\s+",
    "|",
    rf"{any_of('найди | поищи | покажи | назови | перечисли')}(?:те)?(?:\s+мне)?\s+",
    "|",
    any_of(
        "what do you know about | what do you remember about | find | show me | search for | search | look up"
    ),
    r"\s+|do\s+you\s+(?:know|remember)\s+",
    rf"(?:{_ABOUT}\s+)?|{any_of('tell me | list | show | name | give me')}\s+(?={_MINE}{END})",
    rf"|tell\s+me\s+(?:about\s+|(?={QUESTION_WORD}))|remind\s+me\s+(?:{_ABOUT}\s+)?|remember\s+",
    ")",
)
EVERYTHING = pattern(
    "(?:",
    any_of(
        rf"{any_of('знаешь | помнишь | знаете | помните')} {any_of('обо мне | про меня')}",
        rf"{any_of('обо мне | про меня')} {any_of('знаешь | помнишь | знаете | помните')}",
        "вс[её],? что ты знаешь | вс[её],? что ты помнишь | вс[её],? что знаешь | вс[её],? что помнишь",
        "расскажи обо мне | расскажи про меня | расскажи вс[её] | кто я",
        "know about me | remember about me | everything you know | everything you remember",
        "tell me about me | tell me about myself | who am i",
    ),
    END,
    "|",
    any_of(
        "что ты помнишь | что помнишь | что вы помните | что ты знаешь | что ты запомнил | что ты запомнила",
        "покажи вс[её] | покажи память | покажи воспоминания | покажи все воспоминания",
        "what do you remember | what do you know | what have you saved",
        "show me everything | show everything | show my memories | show me my memories | list everything",
    ),
    r"\W*\Z",
    ")",
)
