"""What a peer is to the benchmark, and which there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from benchmarks.chats import Record
from benchmarks.peers.vectors import Vectors


class Peer(Protocol):
    """One system with the store of one chat; it is used by one thread."""

    name: str

    def ingest(self, records: Sequence[Record]) -> None:
        """Store the turns, each as one memory under the id of its record."""
        ...

    def search(self, question: str, k: int) -> list[str]:
        """Return the ids of at most `k` records, the best first."""
        ...


@dataclass(frozen=True, slots=True)
class Installed:
    """Where a peer is: the class in a module of this package, and the distribution that is measured."""

    module: str
    adapter: str
    distribution: str

    @property
    def version(self) -> str:
        """Raises PackageNotFoundError, which is an ImportError, when it is not installed."""
        return version(self.distribution)

    def open(self, vectors: Vectors, folder: Path) -> Peer:
        """Return it with an empty store in the empty `folder`. Raises ImportError."""
        adapter: Any = getattr(import_module(f"benchmarks.peers.{self.module}"), self.adapter)
        peer: Peer = adapter(vectors, folder)
        return peer


PEERS: Mapping[str, Installed] = {
    "bm25s": Installed("bm25", "Bm25", "bm25s"),
    "chroma": Installed("chroma", "Chroma", "chromadb"),
    "langgraph": Installed("langgraph", "LangGraph", "langgraph"),
    "mem0": Installed("mem0", "Mem0", "mem0ai"),
    "mem0-bm25": Installed("mem0", "Mem0WithBm25", "mem0ai"),
    "mempalace": Installed("mempalace", "MemPalace", "mempalace"),
    "protoprompt": Installed("protoprompt", "ProtoPrompt", "protoprompt"),
}
