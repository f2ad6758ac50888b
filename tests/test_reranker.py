"""The second opinion: cross-encoders, their batches and their thread, and what happens without one."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.cross_encoder import CrossEncoderModel
from memory.errors import RerankerUnavailable
from memory.model_files import RERANKER, find_model
from memory.ports import Reranker
from memory.reranker import MAX_CHARACTERS, MAX_QUESTION, CrossEncoderReranker, load_reranker

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "is", "a", "dog", "cat", "##s", "?"]
QUESTION = "who is a dog ?"
TEXTS = ["a dog", "cats is dogs", "xyzzy", "", "dog " * 500, "\ud800 dog", "🐕"]


def cross_encoder(directory: Path, labels: int = 1) -> Path:
    """The files of a small cross-encoder whose weights mean nothing."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(5)
    configured: Any = BertConfig
    config = configured(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=labels,
        initializer_range=0.5,
    )
    built: Any = BertForSequenceClassification(config)
    built.save_pretrained(directory)
    (directory / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    tokenizer = {"tokenizer_class": "BertTokenizer", "model_max_length": 64}
    (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cross_encoder(tmp_path_factory.mktemp("models") / "judge")


# The model


async def test_each_text_gets_the_sigmoid_of_its_logit_in_the_order_of_the_texts(files: Path) -> None:
    reranker = load_reranker(str(files))
    assert reranker

    scores = await reranker.rerank(QUESTION, TEXTS)

    assert scores.shape == (len(TEXTS),)
    assert scores.dtype == np.float32
    assert scores[:3] == pytest.approx([_sigmoid_of_logit(files, text) for text in TEXTS[:3]], abs=1e-5)
    assert ((scores > 0) & (scores < 1)).all()
    assert len(set(scores[:4].tolist())) == 4
    await reranker.close()


def _sigmoid_of_logit(files: Path, text: str) -> float:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    load: Any = AutoTokenizer.from_pretrained
    model: Any = AutoModelForSequenceClassification.from_pretrained(files)
    with torch.inference_mode():
        logit = model.eval()(**load(files)(QUESTION, text, return_tensors="pt")).logits[0, 0]
    return float(torch.sigmoid(logit))


async def test_a_model_that_says_to_leave_its_logits_alone_gives_scores_all_the_same(
    files: Path, tmp_path: Path
) -> None:
    raw = copytree(files, tmp_path / "raw")
    config = json.loads((raw / "config.json").read_text(encoding="utf-8"))
    activation = {"activation_fn": "torch.nn.modules.linear.Identity"}
    (raw / "config.json").write_text(json.dumps(config | {"sentence_transformers": activation}))

    scores = CrossEncoderModel("raw", raw).score(QUESTION, TEXTS[:3])

    assert scores == pytest.approx(CrossEncoderModel("judge", files).score(QUESTION, TEXTS[:3]), abs=1e-6)


def test_the_identity_of_a_reranker_tells_models_and_weights_apart(files: Path, tmp_path: Path) -> None:
    other = copytree(files, tmp_path / "other")
    with (other / "model.safetensors").open("ab") as weights:
        weights.write(b"more")

    identities = [
        CrossEncoderModel(name, place).model_id
        for name, place in (("org/judge", files), ("org/another", files), ("org/judge", other))
    ]

    assert identities[0].startswith("cross-encoder:org/judge@")
    assert len(set(identities)) == 3


def test_what_is_no_cross_encoder_with_one_score_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RerankerUnavailable, match="org/classes is no cross-encoder that gives one score"):
        CrossEncoderModel("org/classes", cross_encoder(tmp_path / "classes", labels=3))
    for config in ({"architectures": ["BertModel"], "id2label": {"0": "LABEL_0"}}, {}):
        (tmp_path / "classes" / "config.json").write_text(json.dumps(config))
        with pytest.raises(RerankerUnavailable, match="is no cross-encoder"):
            CrossEncoderModel("org/encoder", tmp_path / "classes")
    (tmp_path / "classes" / "config.json").write_text("{")
    with pytest.raises(RerankerUnavailable, match="org/broken cannot be used"):
        CrossEncoderModel("org/broken", tmp_path / "classes")


async def test_a_model_that_cannot_be_loaded_is_tried_once_and_says_so_each_time(
    files: Path, tmp_path: Path
) -> None:
    damaged = copytree(files, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"no weights")
    reranker = load_reranker(str(damaged))
    assert reranker

    for _ in range(2):
        with pytest.raises(RerankerUnavailable, match="cannot be used; delete its files"):
            await reranker.rerank(QUESTION, TEXTS)
        copytree(files, damaged, dirs_exist_ok=True)
    await reranker.close()


def test_a_model_whose_tokens_are_not_its_own_is_refused_and_does_not_break_the_search(
    files: Path, tmp_path: Path
) -> None:
    mixed = copytree(files, tmp_path / "mixed")
    (mixed / "vocab.txt").write_text("\n".join([*WORDS, "mouse"]), encoding="utf-8")

    with pytest.raises(RerankerUnavailable, match="cannot be used"):
        CrossEncoderModel("mixed", mixed).score(QUESTION, ["mouse"])


def test_threads_do_not_spin_while_they_wait_unless_the_operator_says_so(files: Path) -> None:
    program = (
        "import os\nfrom pathlib import Path\nfrom memory.cross_encoder import CrossEncoderModel\n"
        f"CrossEncoderModel('judge', Path({str(files)!r})).score('who', ['dog'])\n"
        "print(os.environ['OMP_WAIT_POLICY'])"
    )
    bare = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}

    for given, policy in ((bare, "PASSIVE\n"), (bare | {"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE\n")):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            check=True,
            env=given,
        )
        assert done.stdout == policy


# The thread and its batches


class Counting:
    """A model that scores a text by its length, notes its batches and waits for leave."""

    model_id = "counting"

    def __init__(self) -> None:
        self.batches: list[tuple[str, int]] = []
        self.threads: set[str] = set()
        self.longest = 0
        self.leave = threading.Event()
        self.leave.set()

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append((question, len(texts)))
        self.threads.add(threading.current_thread().name)
        self.longest = max(self.longest, *map(len, texts))
        assert self.leave.wait(10)
        return np.array([len(text) for text in texts], np.float32)


class Stopwatch:
    """Shows a fixed time more whenever it is looked at."""

    def __init__(self, seconds: float) -> None:
        self.step = seconds
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


async def test_scores_keep_the_order_of_the_texts_whatever_the_batches() -> None:
    model = Counting()
    reranker = CrossEncoderReranker(model, Stopwatch(0.4))
    texts = ["x" * (number * 37 % 101) for number in range(200)]

    scores = await reranker.rerank("question", texts)

    assert scores.tolist() == [len(text) for text in texts]
    assert len(model.batches) > 2
    assert len(model.threads) == 1
    await reranker.close()


async def test_a_slow_machine_gets_small_batches_and_a_fast_one_large_ones() -> None:
    sizes = {}
    for seconds in (0.01, 0.4, 30.0):
        model = Counting()
        reranker = CrossEncoderReranker(model, Stopwatch(seconds))
        await reranker.rerank("question", ["x" * 142] * 100)
        sizes[seconds] = [size for _, size in model.batches]
        await reranker.close()

    assert sizes[0.01] == [10, 90]
    assert sizes[0.4] == [10] * 10
    assert sizes[30.0] == [10] + [1] * 90


async def test_another_question_gets_its_turn_between_two_batches() -> None:
    model = Counting()
    model.leave.clear()
    reranker = CrossEncoderReranker(model, Stopwatch(0.4))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reranker.rerank("long", ["x" * 700] * 9))
        await asyncio.sleep(0)
        tasks.create_task(reranker.rerank("short", ["y"]))
        await asyncio.sleep(0)
        model.leave.set()

    assert model.batches[:2] == [("long", 2), ("short", 1)]
    await reranker.close()


async def test_only_the_beginning_of_long_texts_is_read() -> None:
    model = Counting()
    reranker = CrossEncoderReranker(model)

    await reranker.rerank("q" * 10_000, ["x" * 10_000, "short"])

    assert model.longest == MAX_CHARACTERS
    assert all(len(question) == MAX_QUESTION for question, _ in model.batches)
    await reranker.close()


async def test_no_texts_get_no_scores() -> None:
    reranker: Reranker = CrossEncoderReranker(Counting())

    assert (await reranker.rerank("question", [])).shape == (0,)


async def test_a_closed_reranker_says_so() -> None:
    reranker = CrossEncoderReranker(Counting())
    await reranker.rerank("question", ["text"])
    await reranker.close()

    with pytest.raises(RerankerUnavailable, match="closed"):
        await reranker.rerank("question", ["text"])


# Finding and fetching


def test_there_is_none_unless_it_is_asked_for_and_then_nothing_is_loaded_before_a_question(
    files: Path,
) -> None:
    program = (
        "import sys\nfrom memory.reranker import load_reranker\nassert load_reranker('') is None\n"
        f"assert load_reranker({str(files)!r}).model_id\n"
        "print([name for name in ('torch', 'transformers', 'sentence_transformers') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"


def test_a_reranker_that_is_nowhere_gives_one_sentence_and_none() -> None:
    notes: list[str] = []

    assert load_reranker("no-such-model", notes.append) is None

    [note] = notes
    assert note.startswith("There is no reranker no-such-model; memory.reranker takes nothing, a directory")
    assert note.endswith("Going on without a reranker.")


def test_a_hub_that_is_out_of_reach_gives_one_sentence_and_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr("memory.model_files.HUB_SECONDS", 0.5)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        notes: list[str] = []

        assert load_reranker("org/judge", notes.append) is None

    [note] = notes
    assert note.startswith("The reranker org/judge cannot be downloaded, because the hub was not reached")
    assert note.endswith("Going on without a reranker.")


@pytest.fixture
def cached(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cross-encoder without modules in the hub's cache, as most are that were fetched."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    model = tmp_path / "models--org--judge"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("c" * 40)
    return copytree(files, model / "snapshots" / ("c" * 40))


def test_a_reranker_that_was_fetched_before_is_found_without_the_hub(cached: Path) -> None:
    nowhere = "http://127.0.0.1:9"

    assert find_model("org/judge", print, nowhere, RERANKER) == cached
    (cached / "vocab.txt").unlink()
    with pytest.raises(RerankerUnavailable, match="the hub was not reached"):
        find_model("org/judge", print, nowhere, RERANKER)
