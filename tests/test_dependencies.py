"""What is imported is declared, and what is declared is locked."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OWN = {"bot", "handlers", "memory"}


def plain(requirement: str) -> str:
    """The name alone, as package indexes compare it."""
    name = re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    return {plain(requirement) for requirement in PROJECT["project"]["dependencies"]}


def locked(file: str) -> set[str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {plain(line) for line in lines if "==" in line and not line.startswith((" ", "#"))}


def imported() -> set[str]:
    names: set[str] = set()
    for file in (path for package in OWN for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
    return {name.partition(".")[0] for name in names} - OWN - set(sys.stdlib_module_names)


def test_every_library_that_is_imported_is_declared() -> None:
    provided = packages_distributions()

    undeclared = [
        name for name in sorted(imported()) if not {plain(each) for each in provided[name]} & declared()
    ]

    assert undeclared == []


def test_every_declared_library_is_locked_but_pytorch() -> None:
    assert declared() - locked("requirements.lock") == {"torch"}
    assert locked("requirements.lock") <= locked("requirements-dev.lock")
    dev = {plain(requirement) for requirement in PROJECT["dependency-groups"]["dev"]}
    assert dev <= locked("requirements-dev.lock")


def test_the_makefile_and_the_dockerfile_install_the_same_pytorch() -> None:
    pins = {
        re.findall(r"torch==([\d.]+)", (ROOT / name).read_text(encoding="utf-8"))[0]
        for name in ("Makefile", "Dockerfile")
    }
    assert len(pins) == 1
