"""An embedder that makes each vector once, and may keep them in a file for the next run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory.ports import Embedder, Purpose
from memory.types import Vector


class KeepingEmbedder:
    """An `Embedder` around another one. It begins with the vectors of `file`, where there is one."""

    def __init__(self, embedder: Embedder, file: Path | None = None) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}
        self.seconds = 0.0  # spent by the model, not by this process's other work
        if file and file.is_file():
            with np.load(file) as stored:
                self._known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        keys = [self._key(text, purpose) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            started = time.perf_counter()
            made = await self._embedder.embed(list(new.values()), purpose)
            self.seconds += time.perf_counter() - started
            self._known |= dict(zip(new, made, strict=True))
        return np.stack([self._known[key] for key in keys])

    def save(self, file: Path) -> None:
        """Write all vectors to a file. Raises OSError."""
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, keys=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))

    def _key(self, text: str, purpose: Purpose) -> str:
        told = f"{self._embedder.model_id}\n{purpose}\n{text}"
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
