"""Cross-encoders of sentence-transformers: one score for a question and a text that are read together."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable
from memory.model_files import RERANKER
from memory.sentence_models import BrokenModel, fingerprint, known_as, open_model, read_json

log = logging.getLogger(__name__)

MAX_TOKENS = 320
"""What is read of question and text together, whatever the model could hold."""


class CrossEncoderModel:
    """One cross-encoder on the processor. Its files are looked at at once, and loaded at the first question:
    importing torch takes seconds.
    """

    def __init__(self, name: str, directory: Path) -> None:
        """`directory` holds the files of the model `name`. Raises RerankerUnavailable."""
        self._name = name
        self._directory = directory
        self._model: Any = None
        self._is_broken = False
        try:
            if not _gives_one_score(directory):
                raise RerankerUnavailable(
                    f"{name} is no cross-encoder that gives one score; {RERANKER.key} takes {RERANKER.takes}."
                )
            self.model_id = f"cross-encoder:{known_as(name)}@{fingerprint(directory, MAX_TOKENS)}"
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise _unusable(name, error) from None

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the sigmoid of each text's logit, shape (len(texts),). Raises RerankerUnavailable."""
        if self._is_broken:
            raise _unusable(self._name)
        if self._model is None:
            self._model = self._load()
        pairs = [(question, text) for text in texts]
        try:
            logits = self._model.predict(
                pairs, batch_size=len(pairs), show_progress_bar=False, activation_fn=_as_they_are
            )
        except (RuntimeError, ValueError, IndexError) as error:  # no memory left, or a faulty tokenizer
            raise _unusable(self._name, error) from None
        if np.shape(logits) != (len(pairs),) or not np.isfinite(logits).all():
            raise _unusable(self._name, ValueError())
        return _sigmoid(logits)

    def _load(self) -> Any:
        """Load it, or remember that it cannot be: to try costs seconds, and each question would."""
        try:
            model = open_model("CrossEncoder", self._directory, activation_fn=_as_they_are)
        except BrokenModel as error:
            self._is_broken = True
            raise _unusable(self._name, error) from None
        model.max_seq_length = min(model.max_seq_length or MAX_TOKENS, MAX_TOKENS)
        return model


def _gives_one_score(directory: Path) -> bool:
    """Tell a cross-encoder by its files: any other model would get a head of random weights."""
    if read_json(directory / "config_sentence_transformers.json").get("model_type") == "CrossEncoder":
        return True
    config = read_json(directory / "config.json")
    [built, *_] = config.get("architectures") or [""]
    labels = config.get("id2label") or ("no", "yes")  # two are not written down
    return len(labels) == 1 and str(built).endswith("ForSequenceClassification")


def _as_they_are(logits: Any) -> Any:
    """Models differ in what they make of their logits, so we ask for them and do it ourselves."""
    return logits


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 / (1 + exp(-x)), written so that no logit is too large for it."""
    scores: NDArray[np.float32] = (0.5 + 0.5 * np.tanh(0.5 * logits.astype(np.float64))).astype(np.float32)
    return scores


def _unusable(name: str, error: Exception | None = None) -> RerankerUnavailable:
    if error:
        log.warning("a reranker cannot be used", extra={"error": type(error).__name__})
    return RerankerUnavailable(
        f"The reranker {name} cannot be used; delete its files so that they are fetched again, "
        "or leave memory.reranker empty."
    )
