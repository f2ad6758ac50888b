"""The side-by-side without the peers: their vectors, the asking, and what is said of one that failed."""

from __future__ import annotations

import ast
import json
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from benchmarks.chats import BenchmarkData, Chat, Question, Record
from benchmarks.peers import worker
from benchmarks.peers.__main__ import table
from benchmarks.peers.embedding_server import serve
from benchmarks.peers.peer import PEERS, Peer
from benchmarks.peers.vectors import QUESTION, RECORD, Vectors, key, read, write

FOLDER = Path(worker.__file__).parent
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
VECTORS = Vectors(
    "model-1",
    {
        key(QUESTION, "Where?"): np.array([1.0, 0.0], np.float32),
        key(RECORD, "Where?"): np.array([0.0, 1.0], np.float32),
        key(RECORD, "Here."): np.array([0.6, 0.8], np.float32),
    },
)
CHAT = Chat(
    "c1",
    (Record("t1", "Here.", "", "S1", NOON), Record("t2", "There.", "", "S1", NOON)),
    (Question("q1", "Where?", "single", ("t2",), None), Question("q2", "Who?", "none", (), None)),
)
DATA = BenchmarkData("small", "made up", "", (CHAT,))


class Latest:
    """A peer that always brings what was said last."""

    name = "latest"

    def __init__(self) -> None:
        self._ids: list[str] = []

    def ingest(self, records: Sequence[Record]) -> None:
        self._ids = [record.id for record in records]

    def search(self, question: str, k: int) -> list[str]:
        return self._ids[::-1][:k]


@dataclass(frozen=True)
class Latests:
    """Where the peer of these tests comes from."""

    def open(self, vectors: Vectors, folder: Path) -> Peer:
        return Latest()


def test_vectors_are_the_same_after_a_stay_in_their_file(tmp_path: Path) -> None:
    write(tmp_path / "vectors.npz", VECTORS)

    again = read(tmp_path / "vectors.npz")

    assert (again.model_id, again.dimensions) == ("model-1", 2)
    assert again.of_record("Here.") == pytest.approx([0.6, 0.8])


def test_a_text_has_one_vector_as_a_question_and_another_as_a_turn() -> None:
    assert (VECTORS.of_question("Where?"), VECTORS.of_record("Where?")) == ([1, 0], [0, 1])
    assert VECTORS.of("Where?") == [1, 0]
    assert VECTORS.of(" Here. ") == VECTORS.of_record("Here.")


def test_a_text_that_was_not_embedded_has_no_vector() -> None:
    with pytest.raises(KeyError):
        VECTORS.of("Nowhere.")


def test_another_file_is_not_taken_for_vectors(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", numbers=np.arange(3))

    with pytest.raises(ValueError, match="holds no vectors"):
        read(tmp_path / "other.npz")


def test_the_server_gives_the_vectors_in_the_order_of_the_texts() -> None:
    request = urllib.request.Request(
        f"{serve(VECTORS)}/v1/embeddings", json.dumps({"input": ["Where?", "Here."]}).encode()
    )

    with urllib.request.urlopen(request, timeout=10) as answer:
        rows = json.load(answer)["data"]

    assert [row["index"] for row in rows] == [0, 1]
    assert rows[1]["embedding"] == VECTORS.of_record("Here.")


def test_every_question_is_asked_and_every_search_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PEERS", {"latest": Latests()})

    done = worker.run("latest", VECTORS, [CHAT])

    assert [(one.qid, one.chat, one.ranked) for one in done.results] == [
        ("q1", "c1", ["t2", "t1"]),
        ("q2", "c1", ["t2", "t1"]),
    ]
    assert (done.records, len(done.search_ms)) == (2, 2)


def test_all_chats_in_one_store_keep_their_turns_apart() -> None:
    data = BenchmarkData("two", "made up", "", (CHAT, Chat("c2", CHAT.records, ())))

    joined = worker.together(data)

    assert [record.id for record in joined.records] == ["c1/t1", "c1/t2", "c2/t1", "c2/t2"]
    assert [one.qid for one in joined.questions] == ["q1", "q2"]


def test_the_table_has_the_measures_of_a_peer_and_the_reason_of_one_that_failed() -> None:
    report = {
        "peer": "latest",
        "version": "1.0",
        "results": [{"qid": "q1", "ranked": ["t2", "t1"]}],
        "ingest_seconds": 0.5,
        "search_ms": {"p50": 1.0, "p95": 2.0},
    }

    lines = table(DATA, [report, {"peer": "gone", "error": "gone cannot be run."}]).splitlines()

    assert "| latest | 1.0 | 1.000 | 1.000 | 1.000 (1.000–1.000) |" in lines[2]
    assert lines[3].startswith("| gone | –")
    assert lines[3].endswith("| gone cannot be run. |")


@pytest.mark.parametrize("name", sorted(PEERS))
def test_every_peer_has_its_adapter_and_a_pinned_version(name: str) -> None:
    source = (FOLDER / f"{PEERS[name].module}.py").read_text(encoding="utf-8")
    pinned = (FOLDER / "requirements.txt").read_text(encoding="utf-8")

    adapters = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}

    assert f'name = "{name}"' in ast.unparse(adapters[PEERS[name].adapter]).replace("'", '"')
    assert f"\n{PEERS[name].distribution}==" in pinned
