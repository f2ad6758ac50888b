"""Which of the scored hits are shown: each wording once, from different conversations, within the budget."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memory.text import fold, stems
from memory.tokens import estimate_tokens
from memory.types import Hit, MemoryType

SAME_SESSION = 0.01
SAME_SESSION_FOR_SEVERAL = 0.035
"""Each turn that is found makes the others of its session so much less wanted: the rest may lie elsewhere."""

_NEGATION = re.compile(r"(?:не|ни|нет|без|no|not|never|none|without|cannot|\w*n['’]t)")
_WRITTEN = re.compile(r"\w+(?:['’]\w+)?")


def distinct(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Leave out what says the same as a better hit: the same stems in other forms or another order.

    Negations must agree and half of the words as they are written, so that "I love Masha" and
    "Masha loves me" both stay.
    """
    known: dict[frozenset[str], list[frozenset[str]]] = {}
    for hit in hits:
        folded = fold(hit.memory.text)
        written = frozenset(_WRITTEN.findall(folded) or [folded])
        same = known.setdefault(frozenset(stems(folded)), [])
        if not any(_alike(written, other) for other in same):
            same.append(written)
            yield hit


def diverse(hits: Sequence[Hit], k: int, *, several: bool) -> list[Hit]:
    """Choose `k` hits, best first, each of which makes the other turns of its session less wanted.

    It is maximal marginal relevance (Carbonell and Goldstein, 1998) with the session as the likeness: what
    answers one question in several conversations is rarely all in one of them.
    """
    step = SAME_SESSION_FOR_SEVERAL if several else SAME_SESSION
    rest, chosen, taken = list(hits), list[Hit](), Counter[int | None]()
    while rest and len(chosen) < k:
        best = max(rest, key=lambda hit: hit.score.total - step * taken[_session(hit)])
        rest.remove(best)
        chosen.append(best)
        taken[_session(best)] += _session(best) is not None
    return chosen


def within(hits: Iterable[Hit], tokens: int | None) -> list[Hit]:
    """Keep what fits into so many tokens, best first; turns around a hit go before the hit itself does."""
    kept: list[Hit] = []
    for hit in hits:
        if tokens is None:
            kept.append(hit)
            continue
        for smaller in (hit, replace(hit, before=(), after=())):
            if (cost := _tokens(smaller)) <= tokens:
                kept.append(smaller)
                tokens -= cost
                break
    return kept


def _session(hit: Hit) -> int | None:
    return hit.memory.session_id if hit.memory.type is MemoryType.TURN else None


def _tokens(hit: Hit) -> int:
    return sum(estimate_tokens(memory.text) for memory in (hit.memory, *hit.before, *hit.after))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    if any(map(_NEGATION.fullmatch, one ^ other)):
        return False
    return 2 * len(one & other) >= len(one | other)
