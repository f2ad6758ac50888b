"""Words of Russian and English texts: cleaning, folding, hashing and stemming, without any state outside."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import Stemmer

from memory.stopwords import STOP_WORDS

MAX_WORD = 64
"""Characters of a word that count; the rest of a longer one (base64, a pasted key) is dropped."""

_NEWLINES = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_SPACES = re.compile(r"\s+")
_OUTER = " \t\n.,!?…;:—–'\"«»„“”‘’()[]{}*_`~"
_BULLET = re.compile(r"(?:[-–—•*]\s+)+")

# Every quantifier that may fail late is bounded, so that hostile text costs linear time.
_TOKEN = re.compile(
    r"""
      \w[\w.+-]{0,63}@\w[\w-]{0,63}(?:\.[\w-]{1,63}){1,8}   # an e-mail address
    | \b(?:c\+\+|[cf]\#)(?!\w)                              # languages whose name ends in a symbol
    | \w+(?:(?:[-'_]|(?<=\d)[.,:/](?=\d)|(?<=[a-z0-9])\.(?=[a-z0-9]))\w+)*
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Runs of one kind inside a token; a capital after a small letter starts a new one.
_PARTS = re.compile(
    r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[А-ЯЁ]+(?![а-яё])|[А-ЯЁ]?[а-яё]+|[^\W\d_A-Za-zА-ЯЁа-яё]+"
)
_NEGATED = re.compile(r"n't$", re.IGNORECASE)
_CONTRACTED = re.compile(r"(?:'(?:s|m|re|ve|ll|d))+$", re.IGNORECASE)
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")


def _plain_letters() -> dict[int, str]:
    """Latin letters with marks as bare ones, and one hyphen and one apostrophe for their many kinds."""
    plain = dict.fromkeys(map(ord, "‐‑−"), "-") | dict.fromkeys(map(ord, "’ʼ`´"), "'")
    for code in range(0xC0, 0x250):
        bare = unicodedata.normalize("NFD", chr(code))[0]
        if bare.isascii():
            plain[code] = bare
    return plain | {ord("ß"): "ss", ord("æ"): "ae", ord("œ"): "oe", ord("ø"): "o", ord("ł"): "l"}


_PLAIN_LETTERS = _plain_letters()
_local = threading.local()


def clean(text: str) -> str:
    r"""Return `text` fit for storing: without lone surrogates and controls, newlines as \n, stripped."""
    return _CONTROLS.sub("", _NEWLINES.sub("\n", _encodable(text))).strip()


def fold(text: str) -> str:
    """Return `text` for comparison: one case, one form of each letter, ё as е, one space for many."""
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", clean(text)))
    return _SPACES.sub(" ", plain.casefold().replace("ё", "е")).strip()


def text_hash(text: str) -> str:
    """Return the SHA-256 (hex) that the same words share, whatever their case and outer punctuation.

    Symbols that carry meaning stay, so that "I write C++" and "I write C" differ.
    """
    folded = fold(text)
    bare = _BULLET.sub("", folded, count=1) if _BULLET.match(folded) else folded
    return hashlib.sha256((bare.strip(_OUTER) or folded).encode()).hexdigest()


def stems(text: str) -> list[str]:
    """Return the words to search by, in order: Snowball stems, Russian for Cyrillic and English for the rest.

    Stop words and symbols are left out. Identifiers, numbers, dates and addresses come whole and in parts.
    """
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", _encodable(text))).translate(_PLAIN_LETTERS)
    return [word for token in _TOKEN.findall(plain) for word in _words(token)]


def language_of(text: str, default: str = "en") -> str:
    """Return "ru" or "en" by the script that most letters are in, `default` where there is no majority."""
    cyrillic, latin = len(_CYRILLIC.findall(text)), len(_LATIN.findall(text))
    if cyrillic == latin:
        return default
    return "ru" if cyrillic > latin else "en"


def _encodable(text: str) -> str:
    """Join surrogate pairs into the characters they mean and drop lone surrogates."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def _words(token: str) -> Iterator[str]:
    """The words of one token: the whole of it where it is more than a plain word, then its parts."""
    if "'" in token:
        if _NEGATED.search(token):
            return  # don't, won't, isn't: all of them auxiliaries
        token = _CONTRACTED.sub("", token).replace("'", "")
    whole = _folded(token).strip("_")
    if whole in STOP_WORDS:
        return
    parts = [part for part in map(_folded, _PARTS.findall(token)) if part not in STOP_WORDS]
    if parts and parts != [whole]:
        yield _stem(whole) if whole.replace("-", "").isalpha() else whole
    yield from map(_stem, parts)


def _folded(word: str) -> str:
    return word.casefold().replace("ё", "е")[:MAX_WORD]


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    if not word[-1].isalpha():
        return word
    stemmer = _stemmer("russian" if _CYRILLIC.search(word) else "english")
    stemmed: str = stemmer.stemWord(word)
    return stemmed


def _stemmer(algorithm: str) -> Any:
    """The stemmer of this thread: one object must not be used by two threads at once."""
    stemmers: dict[str, Any] = _local.__dict__
    if algorithm not in stemmers:
        stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)  # its own cache would come on top of ours
    return stemmers[algorithm]
