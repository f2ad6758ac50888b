"""The pages of the documentation as the tests read them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
READMES = {"en": ROOT / "README.md", "ru": ROOT / "README.ru.md"}
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#{1,6}) +(.+?)$", re.MULTILINE)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """The page without its blocks of code, where a link or a heading is none."""
    return FENCE.sub("", text_of(page))


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Language and content of each block of code."""
    return [(match[1], match[2]) for match in FENCE.finditer(text_of(page))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def code_on(page: Path) -> list[str]:
    """Every piece of code on the page, blocks and words in backticks."""
    return [content for _, content in blocks_of(page)] + re.findall(r"`([^`\n]+)`", prose_of(page))


def menu() -> list[str]:
    """The commands that Telegram shows, read without importing its library."""
    tree = ast.parse(text_of(ROOT / "handlers" / "commands.py"))
    [shown] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "SHOWN"
    ]
    return list(ast.literal_eval(shown))
