"""Applying the grammar of times to the words of a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory.dates import clauses, phrases
from memory.dates.spans import Now
from memory.dates.tokens import Token


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of the grammar with its pattern compiled."""

    kind: str
    pattern: re.Pattern[str]
    make: Callable[..., Any]


_RULES = tuple(
    Rule(kind, re.compile(pattern), make)
    for lines in (phrases.lines(), clauses.lines())
    for kind, pattern, make in lines
)


def parse(tokens: Sequence[Token], now: Now) -> Sequence[Token]:
    """Apply all rules, each to what the ones before it have left."""
    kinds = _kinds(tokens)
    for rule in _RULES:
        made = list(_made(rule, tokens, kinds, now))
        if made:
            tokens = _replaced(tokens, made)
            kinds = _kinds(tokens)
    return tokens


def _kinds(tokens: Sequence[Token]) -> str:
    return "".join([token.kind for token in tokens])


def _made(rule: Rule, tokens: Sequence[Token], kinds: str, now: Now) -> Iterator[tuple[int, int, Token]]:
    for match in rule.pattern.finditer(kinds):
        places = [match.start(group) for group in range(1, rule.pattern.groups + 1)]
        values = [None if place < 0 else tokens[place].value for place in places]
        try:
            value = rule.make(now, *values)
        except (ValueError, OverflowError):
            continue
        if value is not None:
            start, end = match.span()
            yield start, end, Token(rule.kind, value, tokens[start].start, tokens[end - 1].end)


def _replaced(tokens: Sequence[Token], made: Sequence[tuple[int, int, Token]]) -> Sequence[Token]:
    rest: list[Token] = []
    place = 0
    for start, end, token in made:
        rest += tokens[place:start]
        rest.append(token)
        place = end
    return [*rest, *tokens[place:]]
