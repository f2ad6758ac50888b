"""How a name or a borrowed word may be spelled in the other script, so that "Dasha" finds «Даша»."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, product

from memory.text import stems

MAX_SPELLINGS = 12
_MIN_LETTERS = 3

_LATIN = {
    "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ж": "zh", "з": "z", "и": "i", "й": "y",
    "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t", "у": "u",
    "ф": "f", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ы": "y", "ь": "", "э": "e",
    "ю": "yu", "я": "ya",
}  # fmt: skip
_OTHER_LATIN = {"х": "h", "ц": "c", "в": "w", "й": "i", "к": "c", "дж": "j", "кс": "x", "ю": "u", "я": "ia"}

# Longer spellings first. A letter that may be several gets each of them in turn.
_CYRILLIC = (
    ("shch", ("щ",)), ("sch", ("щ", "ш")), ("zh", ("ж",)), ("kh", ("х",)), ("ts", ("ц",)), ("ch", ("ч",)),
    ("sh", ("ш",)), ("yu", ("ю",)), ("ya", ("я",)), ("ye", ("е",)), ("yo", ("е",)), ("ph", ("ф",)),
    ("ck", ("к",)), ("oo", ("у",)), ("ee", ("и",)), ("iy", ("ий",)), ("ia", ("ия", "я")),
    ("ie", ("ье", "ие")), ("a", ("а",)), ("b", ("б",)), ("c", ("к", "ц")), ("d", ("д",)), ("e", ("е", "э")),
    ("f", ("ф",)), ("g", ("г",)), ("h", ("х", "г")), ("i", ("и",)), ("j", ("дж", "й")), ("k", ("к",)),
    ("l", ("л", "ль")), ("m", ("м",)), ("n", ("н",)), ("o", ("о",)), ("p", ("п",)), ("q", ("к",)),
    ("r", ("р",)), ("s", ("с",)), ("t", ("т",)), ("u", ("у", "ю")), ("v", ("в",)), ("w", ("в",)),
    ("x", ("кс",)), ("y", ("й", "и", "ы")), ("z", ("з",)),
)  # fmt: skip
_SOUNDS = dict(_CYRILLIC)
_SOUND = re.compile("|".join(sound for sound, _ in _CYRILLIC))
_IS_CYRILLIC = re.compile("[а-яё]+")
_IS_LATIN = re.compile("[a-z]+")


@lru_cache(maxsize=4_096)
def spellings(stem: str) -> tuple[str, ...]:
    """Return how a stem may look in the other script, the likeliest first; nothing for mixed or short ones.

    A Cyrillic stem comes back as beginnings of Latin words, a Latin one as Cyrillic stems.
    """
    if len(stem) < _MIN_LETTERS:
        return ()
    if _IS_CYRILLIC.fullmatch(stem):
        return _in_latin(stem)
    return _in_cyrillic(stem) if _IS_LATIN.fullmatch(stem) else ()


def _in_latin(stem: str) -> tuple[str, ...]:
    """The usual spelling, those that write one kind of letter otherwise, and one that does so with all."""
    other = stem
    for letters, latin in _OTHER_LATIN.items():
        other = other.replace(letters, latin)
    one_other = [stem.replace(letters, latin) for letters, latin in _OTHER_LATIN.items()]
    written = ("".join(_LATIN.get(letter, letter) for letter in each) for each in (stem, *one_other, other))
    return tuple(dict.fromkeys(written))


def _in_cyrillic(stem: str) -> tuple[str, ...]:
    choices = [_SOUNDS[sound] for sound in _SOUND.findall(stem)]
    words = ("".join(letters) for letters in islice(product(*choices), MAX_SPELLINGS))
    return tuple(dict.fromkeys(found for word in words for found in stems(word)))
