"""BM25 alone: bm25s with its own tokens and stop words, and the Snowball stemmer that it recommends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s  # type: ignore[import-not-found]
import Stemmer

from benchmarks.chats import Record
from benchmarks.peers.vectors import Vectors


class Bm25:
    """One index a chat; it uses no vectors."""

    name = "bm25s"

    def __init__(self, vectors: Vectors, folder: Path) -> None:  # noqa: ARG002
        self._stemmer = Stemmer.Stemmer("english")
        self._index = bm25s.BM25()
        self._ids: list[str] = []

    def ingest(self, records: Sequence[Record]) -> None:
        self._ids = [record.id for record in records]
        self._index.index(self._tokens([record.line for record in records]), show_progress=False)

    def search(self, question: str, k: int) -> list[str]:
        found, _ = self._index.retrieve(
            self._tokens([question]), k=min(k, len(self._ids)), corpus=self._ids, show_progress=False
        )
        return [str(one) for one in found[0]]

    def _tokens(self, texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False)
