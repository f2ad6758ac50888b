"""Vectors that were made beforehand, in a file, so that every peer gets the same ones and pays for none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

QUESTION, RECORD = "question", "record"


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors of texts by `key`, each of shape (dimensions,) and of length one, as a model made them."""

    model_id: str
    by_key: Mapping[str, NDArray[np.float32]]

    @property
    def dimensions(self) -> int:
        return len(next(iter(self.by_key.values())))

    def of_question(self, text: str) -> list[float]:
        """Raises KeyError when the text was not embedded, like the others here."""
        return self._list(key(QUESTION, text))

    def of_record(self, text: str) -> list[float]:
        return self._list(key(RECORD, text))

    def of(self, text: str) -> list[float]:
        """For systems that do not say which of the two they embed: a text that was asked is a question."""
        return self.of_question(text) if key(QUESTION, text) in self.by_key else self.of_record(text)

    def _list(self, one: str) -> list[float]:
        numbers: list[float] = self.by_key[one].tolist()
        return numbers


def key(kind: str, text: str) -> str:
    """Return what stands for a text in the file. Spaces around it do not count: some peers take them off."""
    return hashlib.sha256(f"{kind}\0{text.strip()}".encode()).hexdigest()[:32]


def read(path: Path) -> Vectors:
    """Raises OSError and, for a file of another kind, ValueError."""
    with np.load(path, allow_pickle=False) as file:
        try:
            keys, vectors, model_id = file["keys"], file["vectors"], file["model_id"]
        except KeyError:
            raise ValueError(f"{path} holds no vectors; delete it.") from None
    return Vectors(str(model_id), dict(zip(keys.tolist(), vectors, strict=True)))


def write(path: Path, vectors: Vectors) -> None:
    """Put the file in place in one step, so that a broken run leaves the old one. Raises OSError."""
    part = path.with_suffix(".part.npz")
    rows = np.stack(list(vectors.by_key.values()))
    np.savez(part, keys=np.array(list(vectors.by_key)), vectors=rows, model_id=np.array(vectors.model_id))
    part.replace(path)
