"""Finding what was forgotten in other texts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory.text import fold, stems

_TOKEN = re.compile(r"\w+|[^\w\s]")
_OUTER = " .,!?…;:-—–'\"«»„“”‘’()[]{}*_`~•"
_FEW = 50


class Phrases:
    """Texts to be found inside other texts, whatever the case, spacing and outer punctuation.

    A phrase starts and ends at the border of a word: "cat" is not in "category". One that consists of stop
    words only ("yes") has to be the whole text, or forgetting it would empty half of the chat.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._all = {phrase for phrase in map(_bare, texts) if phrase}
        self._whole = {phrase for phrase in self._all if not stems(phrase)}
        self._by_first: dict[str, list[str]] = {}
        for phrase in self._all - self._whole:
            self._by_first.setdefault(_TOKEN.findall(phrase)[0], []).append(phrase)

    def are_in(self, text: str) -> bool:
        """Whether one of the phrases is in `text`; costs the length of `text`, not the number of phrases."""
        folded = fold(text)
        if len(self._all) <= _FEW and not any(phrase in folded for phrase in self._all):
            return False  # the usual case, in a third of the time
        return _bare(folded) in self._whole or any(
            folded.startswith(phrase, token.start()) and _ends_word(folded, token.start() + len(phrase))
            for token in _TOKEN.finditer(folded)
            for phrase in self._by_first.get(token.group(), ())
        )


def _bare(text: str) -> str:
    """The folded text without outer punctuation, unless it has nothing else."""
    folded = fold(text)
    return folded.strip(_OUTER) or folded


def _ends_word(text: str, place: int) -> bool:
    return place == len(text) or not (text[place].isalnum() and text[place - 1].isalnum())
