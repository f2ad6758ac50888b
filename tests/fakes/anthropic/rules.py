"""A brain of rules for tests of the whole process: no script that a retry or a restart could confuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tests.fakes.anthropic.answers import Answer, text
from tests.fakes.anthropic.requests import Request, last_user_words, tool_rounds

Said: TypeAlias = Answer | Callable[[Request], Answer]


class Rules:
    """`FakeAnthropic(brain=Rules())`: what was written last decides, and how many tools have run since."""

    def __init__(self, otherwise: Said | None = None) -> None:
        self._otherwise = otherwise or text("I see.")
        self._rules: list[tuple[str, tuple[Said, ...]]] = []

    def when(self, words: str, *said: Said) -> None:
        """Answer a message that contains `words` with the first of `said`, after one tool round the second…

        The last one also stands for all later rounds. A newer rule goes before an older one.
        """
        self._rules.insert(0, (words, said))

    def __call__(self, request: Request) -> Answer:
        asked = last_user_words(request)
        for words, said in self._rules:
            if words in asked:
                return _spoken(said[min(tool_rounds(request), len(said) - 1)], request)
        return _spoken(self._otherwise, request)


def _spoken(said: Said, request: Request) -> Answer:
    return said if isinstance(said, Answer) else said(request)
