"""A second opinion on what was found: a cross-encoder, which reads the question together with each text."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.cross_encoder import CrossEncoderModel
from memory.errors import RerankerUnavailable
from memory.model_files import RERANKER, find_model
from memory.text import clean

log = logging.getLogger(__name__)

MAX_QUESTION = 400
MAX_CHARACTERS = 800
"""What is read of a question and of a text: an answer mostly stands near the beginning, and time grows with
the length.
"""

BATCH_SECONDS = 0.4
"""How long a batch is meant to take: another question waits for no more than one."""

FIRST_BATCH = 2_000
LARGEST_BATCH = 40_000
"""Characters of questions and texts in one batch, before its pace is known and at most."""

_PAIR = 50
"""What a pair costs besides its characters, in characters."""


class PairModel(Protocol):
    """A model as its library offers it: blocking, and used by one thread at a time."""

    @property
    def model_id(self) -> str: ...

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Load the model when it is not, and score each text in 0..1, shape (len(texts),).

        Raises RerankerUnavailable.
        """
        ...


class CrossEncoderReranker:
    """A `Reranker` that runs its model in one thread of its own, in batches that fit the machine's pace."""

    def __init__(self, model: PairModel, seconds: Callable[[], float] = time.perf_counter) -> None:
        """`seconds` is the stopwatch that batches are timed with."""
        self._model = model
        self._seconds = seconds
        self._room = FIRST_BATCH
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reranker")
        self._closed = False

    @property
    def model_id(self) -> str:
        return self._model.model_id

    async def rerank(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        question = clean(question)[:MAX_QUESTION]
        cut = [clean(text)[:MAX_CHARACTERS] for text in texts]
        costs = [_PAIR + len(question) + len(text) for text in cut]
        waiting = sorted(range(len(cut)), key=costs.__getitem__)  # in a batch all are as long as the longest
        scores = np.zeros(len(cut), np.float32)
        while waiting:
            batch = waiting[: _fitting([costs[place] for place in waiting], self._room)]
            scores[batch] = await self._scored(question, [cut[place] for place in batch])
            del waiting[: len(batch)]
        return scores

    async def close(self) -> None:
        """Let the running batch end and drop the waiting ones."""
        self._closed = True
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    async def _scored(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._closed:
            raise RerankerUnavailable("The reranker is closed already; start the program again.")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._timed, question, texts)

    def _timed(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score, and make the next batch as long as this one's pace allows."""
        began = self._seconds()
        scores = self._model.score(question, texts)
        characters = sum(_PAIR + len(question) + len(text) for text in texts)
        pace = characters / max(self._seconds() - began, 1e-6)
        self._room = min(LARGEST_BATCH, round(pace * BATCH_SECONDS))
        return scores


def load_reranker(name: str, note: Callable[[str], None] = log.info) -> CrossEncoderReranker | None:
    """Return the reranker that `name` names: a model of the hub, a package or a directory; none for "".

    A model of the hub is downloaded at its first use, which blocks: call this in a thread. `note` gets one
    sentence at a time about the download, also about a failed one, after which there is no reranker. The
    weights themselves are read later, at the first question.
    """
    if not name:
        return None
    try:
        return CrossEncoderReranker(CrossEncoderModel(name, find_model(name, note, kind=RERANKER)))
    except RerankerUnavailable as error:
        note(f"{error} Going on without a reranker.")
        return None


def _fitting(costs: Sequence[int], room: int) -> int:
    """How many of the first pairs fit; one always does."""
    return max(1, int(np.searchsorted(np.cumsum(costs), room, side="right")))
