"""What is answered next: planned faults first, then the script, then the brain."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from tests.fakes.anthropic.answers import Answer, Brain, Thinking, text
from tests.fakes.anthropic.faults import Break, Fault, Hold, HttpFault, StreamFault
from tests.fakes.anthropic.requests import Request

Condition: TypeAlias = Callable[[Request], bool]


def always(request: Request) -> bool:
    return True


def plain_brain(request: Request) -> Answer:
    return text("I see.")


@dataclass(slots=True)
class _Planned:
    fault: Fault
    times: int | None
    when: Condition


class Plan:
    """The dialogue that a test has written. With `thinking`, answers begin with an undisplayed thought."""

    def __init__(self, brain: Brain, *, thinking: bool) -> None:
        self.brain = brain
        self.thinking = thinking
        self._script: deque[Answer | Fault] = deque()
        self._planned: list[_Planned] = []

    def script(self, *answers: Answer | Fault) -> None:
        """Queue what the next requests get, one each."""
        self._script.extend(answers)

    @property
    def left(self) -> int:
        """How much of the script has not been said yet."""
        return len(self._script)

    def fail(self, fault: Fault, times: int | None = 1, when: Condition = always) -> None:
        """Answer the next `times` requests (``None``: all) that fit `when` with a fault.

        The script is not used up by it, so that a retry gets what the first try should have got.
        """
        self._planned.append(_Planned(fault, times, when))

    def heal(self) -> None:
        """Take back all planned faults."""
        self._planned.clear()

    def hold(self, after: int | None = 1, when: Condition = always) -> Hold:
        """Let the next fitting answer wait after so many deltas (``None``: before the headers).

        Its place in the script is used up when it is released.
        """
        hold = Hold()
        self.fail(StreamFault(Break.HOLD, after, hold=hold), when=when)
        return hold

    def choose(self, request: Request) -> Answer | HttpFault:
        """Return what this request gets."""
        fault = self._fault_for(request)
        if isinstance(fault, HttpFault):
            return fault
        spoken = self._script[0] if self._script else self.brain(request)
        if fault is None:
            self._used(spoken)
        elif fault.hold:
            fault.hold.released = partial(self._used, spoken)
        if isinstance(spoken, HttpFault):
            return spoken
        if isinstance(spoken, StreamFault):
            spoken = text("This is the answer to what you have said.").broken(spoken)
        return self._thoughtful(spoken.broken(fault) if fault else spoken)

    def _fault_for(self, request: Request) -> Fault | None:
        for plan in self._planned:
            if plan.times != 0 and plan.when(request):
                plan.times = None if plan.times is None else plan.times - 1
                return plan.fault
        return None

    def _used(self, spoken: Answer | Fault) -> None:
        if self._script and self._script[0] is spoken:
            self._script.popleft()

    def _thoughtful(self, answer: Answer) -> Answer:
        if not self.thinking or not answer.blocks or isinstance(answer.blocks[0], Thinking):
            return answer
        return replace(answer, blocks=(Thinking(""), *answer.blocks))
