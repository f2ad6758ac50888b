"""What a benchmark looks at while Mnemogram works: how long things take, and how much memory they need."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memory.embeddings import Model
from memory.ports import Purpose
from memory.types import Vector

_STATM = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Spread:
    """The median and the 95th percentile of some times, in milliseconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> Spread:
        """Raises ValueError when there are none."""
        if not milliseconds:
            raise ValueError("There are no times to tell the spread of.")
        p50, p95 = np.percentile(milliseconds, [50, 95])
        return cls(round(float(p50), 2), round(float(p95), 2))


class TimedModel:
    """A `memory.embeddings.Model` that notes for how many seconds it worked, by the clock and by processor.

    Both encoders of the bundled model work in the thread that calls them.
    """

    def __init__(self, model: Model) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self._model = model

    @property
    def model_id(self) -> str:
        return self._model.model_id

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        started, worked = time.perf_counter(), time.thread_time()
        try:
            return self._model.encode(texts, purpose)
        finally:
            self.seconds += time.perf_counter() - started
            self.cpu_seconds += time.thread_time() - worked


def resident_mb() -> float | None:
    """How much memory this process has now, in MB of 10⁶ bytes; ``None`` where the system does not tell."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def machine() -> dict[str, str | int | float]:
    """What the figures depend on besides the program, the load of the last minute included."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else -1.0
    return {
        "processor": _processor(),
        "processors": os.cpu_count() or 0,
        "load": round(load, 1),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
