"""What the wording of a text gives away, in Russian and English: whether it asks, for what, of whom."""

from __future__ import annotations

import re

_WORDS = r"(?<!\w)(?:{})(?!\w)"


def _any(*words: str) -> re.Pattern[str]:
    return re.compile(_WORDS.format("|".join("|".join(each.split()) for each in words)), re.IGNORECASE)


_ASKS = re.compile(
    r"""^\W*(?:(?:а|и|ну|so|and)\s+)?(?:
      кто|кого|кому|кем|чей|чья|чь[её]|чьи|что|чего|чему|чем|где|куда|откуда|когда|почему|зачем|как|какой|какая
      |какое|какие|каких|каким|какого|какую|какому|сколько|который|(?:в|на)\ как\w+|о\ ч[её]м|с\ кем|у\ кого
      |who|whom|whose|what|which|where|when|why|how|do|does|did|is|are|was|were|has|have|had|can|could|will
      |would
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ENDS_ASKING = re.compile(r"\?[\s\"'»”)\]!…]*(?:\[[^\]]*\]\s*)?$")
_SENTENCE = re.compile(r"[.!?…]+")
_I = _any(
    "я меня мне мной мною мой моя мо[её] мои моего моей моему моим моих моими мо[её]м мою",
    "i me my mine myself i'm i've i'd i'll i’m i’ve i’d i’ll",
)
_YOU = _any(
    "ты тебя тебе тобой твой твоя тво[её] твои твоего твоей твоих вы вас вам ваш ваша", "you your yours"
)
_TIME = _any(
    "сегодня вчера позавчера завтра утром днём днем вечером ночью недавно назад скоро",
    r"недел\w+ месяц\w* год\w* лет выходн\w+ дн(?:я|ей) прошл\w+ следующ\w+",
    "понедельник вторник сред[ауы] четверг пятниц[ауы] суббот[ауы] воскресень[ея]",
    r"январ\w+ феврал\w+ март\w* апрел\w+ ма[яе] июн\w+ июл\w+ август\w*",
    r"сентябр\w+ октябр\w+ ноябр\w+ декабр\w+",
    r"весн\w+ лет(?:о|ом) осен\w+ зим\w+",
    "today tonight yesterday tomorrow morning evening recently ago since last next",
    "weeks? weekend months? years? days? monday tuesday wednesday thursday friday saturday sunday",
    "january february march april may june july august september october november december",
    r"summer winter spring autumn fall \d{4}",
)
_NUMBER = _any(
    r"\d[\d.,:/-]* од(?:ин|на|но) дв[ае] три четыре пять шесть семь восемь девять десять двадцать",
    r"сто тысяч\w*",
    "дважды трижды пару несколько полтора",
    "one two three four five six seven eight nine ten dozen hundred once twice couple several few",
)
_NAME = re.compile(r"(?<=[\w,;:'\"«“(-] )[\"«“]?[A-ZА-ЯЁ][\w'’-]+")
_WANTS_TIME = re.compile(
    r"""(?<!\w)(?:when|what\ (?:date|day|month|year|time)|which\ (?:date|day|month|year)|how\ long|since\ when
    |когда|какого\ числа|в\ каком\ (?:году|месяце)|в\ какой\ день|как\ давно|как\ долго|во\ сколько
    |с\ каких\ пор)
    (?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_WANTS_NUMBER = re.compile(
    r"""(?<!\w)(?:how\ (?:many|much|often|old|tall|far|big)|(?:what|which)\ (?:number|code|size|price)
    |сколько|скольк\w+|каков\w*\ (?:номер|цена|рост|размер)
    |как\w+\ (?:номер|код|размер|рост|вес|цена))(?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_WANTS_SEVERAL = re.compile(
    r"""(?<!\w)(?:(?:what|which|how\ many)(?:\ \w+){0,2}?\ (?!(?:is|was|does|has|this|his)\b)\w+[^s'’\ ]s
    |(?:has|have)\ \w+|(?:kinds?|types?|sorts?)\ of|list|all\ the
    |какие|каких|какими|каким|перечисли\w*|скольк\w+|все|всех|чем\ \w+\ (?:увлека|занима)\w+)(?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_ONCE = re.compile(r"(?<!\w)(?:did|was|were|had)(?!\w)", re.IGNORECASE)


def is_question(text: str) -> bool:
    """Whether a text asks, by its last sign or its first word."""
    return bool(_ENDS_ASKING.search(text[-200:]) or _ASKS.match(text[:80]))


def ends_asking(text: str) -> bool:
    """Whether what is said ends in a question."""
    return bool(_ENDS_ASKING.search(text[-300:]))


def only_asks(text: str) -> bool:
    """Whether there is nothing but a question."""
    return ends_asking(text) and sum(bool(part.strip(" \"'»”)")) for part in _SENTENCE.split(text)) <= 1


def is_about_oneself(text: str) -> bool:
    """Whether "I" or "my" is in it."""
    return bool(_I.search(text))


def is_about_the_other(text: str) -> bool:
    """Whether "you" or "your" is in it."""
    return bool(_YOU.search(text))


def tells_time(text: str) -> bool:
    return bool(_TIME.search(text))


def tells_number(text: str) -> bool:
    return bool(_NUMBER.search(text))


def names(text: str) -> int:
    """How many words inside sentences begin with a capital."""
    return len(_NAME.findall(text))


def wants_time(question: str) -> bool:
    return bool(_WANTS_TIME.search(question))


def wants_number(question: str) -> bool:
    return bool(_WANTS_NUMBER.search(question))


def wants_several(question: str) -> bool:
    """Whether a question asks for a list of things, not for what happened once."""
    return bool(_WANTS_SEVERAL.search(question)) and not _ONCE.search(question)
