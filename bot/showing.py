"""What commands show of memories: which ones a list has, why one was found, and what was said around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.texts import shortened, text
from memory.ranking import WORDS
from memory.types import Author, Hit, Memory, MemoryType, Origin, Score

NEIGHBOUR_CHARS = 120
"""Characters of a turn that stands beside a found one."""

MEANT = 0.05
"""What meaning must add to the relevance of a hit to be named as a reason."""

SHARED = 0.15
"""The share of the question's words, rare ones counting for more, that must be there to be a reason: one of
several, but not a lone common one. The same holds for the words around a turn.
"""

FITS = 0.5
"""From here on a hit lies in the time that was named, or the second opinion is for it."""


def why(hit: Hit, language: str, you: Author) -> str:
    """Return in a few words how a hit was found: "by meaning and by words, said by you"."""
    return ", ".join([text(_way(hit.score), language), *_besides(hit, language, you)])


def around(hit: Hit, language: str) -> list[str]:
    """Return what was said before a found turn and after it, a line for each of them."""
    before = [text("showing-before", language, said=said) for said in _said(hit.before, language)]
    after = [text("showing-after", language, said=said) for said in _said(hit.after, language)]
    return before + after


def speaker_of(memory: Memory, language: str) -> str:
    """Return who said it, as the bot tells a person: its own turns have no name."""
    own = memory.type is MemoryType.TURN and memory.origin is Origin.ASSISTANT
    return text("showing-me", language) if own else memory.speaker


def _way(score: Score) -> str:
    """The text for how it was found; what led to it only by a neighbour or a link is named after those."""
    by_words = score.words >= SHARED
    by_meaning = score.cosine > 0 and score.relevance - WORDS * score.words >= MEANT
    if by_words or by_meaning:
        both = "showing-meaning-and-words"
        return both if by_words and by_meaning else "showing-words" if by_words else "showing-meaning"
    if score.context >= SHARED:
        return "showing-around"
    if score.linked:
        return "showing-linked"
    return "showing-words" if score.words > score.cosine else "showing-meaning"


def _besides(hit: Hit, language: str, you: Author) -> Iterator[str]:
    """What else spoke for it: the time, the speaker, the second opinion."""
    if hit.score.window >= FITS:
        yield text("showing-window", language)
    if hit.score.speaker and _is_of(hit.memory, you):
        yield text("showing-yours", language)
    elif hit.score.speaker and hit.memory.speaker:
        yield text("showing-speaker", language, speaker=hit.memory.speaker)
    if (hit.score.reranked or 0.0) >= FITS:
        yield text("showing-reranked", language)


def _is_of(memory: Memory, you: Author) -> bool:
    """People may change their names, but what was imported has no id."""
    return memory.speaker == you.name if memory.speaker_id is None else memory.speaker_id == you.id


def _said(turns: Sequence[Memory], language: str) -> Iterator[str]:
    for turn in turns:
        words = shortened(turn.text, NEIGHBOUR_CHARS)
        speaker = speaker_of(turn, language)
        yield f"{speaker}: {words}" if speaker else words
