"""How phrases of people are written as patterns: a gap for each space, several phrases in one line."""

from __future__ import annotations

import re


def any_of(*phrases: str) -> str:
    """One of the phrases, which " | " separates and which are regular expressions where a space is a gap."""
    alternatives = " | ".join(phrases).split("|")
    return "(?:" + "|".join(r"\s+".join(phrase.split()) for phrase in alternatives) + ")"


def pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("".join(parts), re.IGNORECASE)


END = r"(?!\w)"
"""No word goes on here."""

WORD = re.compile(r"\w+(?:[-'’]\w+)*")

PLEASE = rf"(?:{any_of('пожалуйста | слушай | бот | так | и | please | hey | bot | also')}[\s,!]+)*"

QUESTION_WORD = (
    "(?:"
    + any_of(
        "в | во | на | о | об | у | с | со | к | ко | по | для | за | из | от | до | под | при",
        "in | at | on | for | with | to | from",
    )
    + r"\s+)?"
    + any_of(
        "кто | что | чего | чему | кого | кому | кем | чем | ч[её]м | ком",
        "где | куда | откуда | когда | как",
        "какой | какая | какое | какие | какого | какую | каком | каким | какому | каких | какими",
        "сколько | скольки | почему | зачем | чей | чья | чь[её] | чьи",
        "который | которая | которое | которые",
        "who | whom | whose | what | where | when | which | why | how",
    )
    + r"(?:['’]?s|['’](?:re|d|ll))?(?![\w-])"
)
