"""Embedding what the peers will look up, with Mnemogram's own embedder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.chats import BenchmarkData, Chat
from benchmarks.encoders import ENCODERS
from benchmarks.peers.vectors import QUESTION, RECORD, Vectors, key, read, write
from memory.embeddings import BUNDLED, SMALL, BundledEmbedder, load_embedder
from memory.ports import Embedder, Purpose
from memory.types import Vector


async def encode(data: BenchmarkData, encoder: str, path: Path) -> Vectors:
    """Return the vectors of all questions and turns, adding to the file at `path` those that it lacks.

    Raises EmbedderUnavailable, OSError, and ValueError when the model cannot be had.
    """
    name = ENCODERS.get(encoder, encoder)
    embedder = load_embedder(name, query_cache=1, note=print)
    try:
        if isinstance(embedder, BundledEmbedder) and name not in (BUNDLED, SMALL):
            raise ValueError(f"The encoder {encoder} cannot be had, and another one would be no comparison.")
        vectors = _known(path, embedder.model_id)
        for chat in data.chats:
            more = await _missing(embedder, chat, vectors)
            if more.by_key:
                vectors = replace(vectors, by_key={**vectors.by_key, **more.by_key})
                write(path, vectors)
    finally:
        await embedder.close()
    return vectors


def _known(path: Path, model_id: str) -> Vectors:
    if path.exists() and (vectors := read(path)).model_id == model_id:
        return vectors
    return Vectors(model_id, {})


async def _missing(embedder: Embedder, chat: Chat, known: Vectors) -> Vectors:
    asked = [one.text for one in chat.questions]
    lines = [one.line for one in chat.records]
    more: dict[str, Vector] = {}
    for kind, texts, purpose in ((QUESTION, asked, Purpose.QUERY), (RECORD, lines, Purpose.PASSAGE)):
        new = [text for text in dict.fromkeys(texts) if key(kind, text) not in known.by_key]
        started = time.perf_counter()
        vectors = await embedder.embed(new, purpose)
        more |= {key(kind, text): vector for text, vector in zip(new, vectors, strict=True)}
        _tell(chat, kind, new, time.perf_counter() - started)
    return Vectors(known.model_id, more)


def _tell(chat: Chat, kind: str, texts: Sequence[str], seconds: float) -> None:
    if texts:
        print(f"{chat.chat_id}: {len(texts)} {kind}s embedded, {1000 * seconds / len(texts):.0f} ms each")
