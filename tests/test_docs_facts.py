"""What the pages say about files, keys, metrics, tables and tests, against those themselves."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from bot.config import Config, Section, load_config
from bot.metrics import Metrics
from memory.tables import metadata
from tests.pages import DOCS, HEADING, LINK, PAGES, ROOT, blocks_of, code_on, named, prose_of, text_of


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    words = LINK.sub(lambda link: link[0].partition("]")[0][1:], heading)
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_to_a_file_and_to_a_heading(page: Path) -> None:
    for link in LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in {slug(words) for _, words in HEADING.findall(prose_of(target))}, link


def keys() -> set[str]:
    return {
        f"{section}.{key}"
        for section, owner in Config.model_fields.items()
        if isinstance(owner.annotation, type) and issubclass(owner.annotation, Section)
        for key in owner.annotation.model_fields
    }


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_key_that_a_page_names_exists(page: Path) -> None:
    names = "|".join(Config.model_fields)
    said = re.findall(rf"`((?:{names})\.[a-z_]+)(?![\w.])", prose_of(page))
    variables = re.findall(r"\bMNEMOGRAM_([A-Z]+)__([A-Z_]+[A-Z])\b", text_of(page))

    files = {f"{name}.{end}" for name in Config.model_fields for end in ("md", "py", "toml")}
    assert set(said) - files <= keys()
    assert {f"{section}.{key}".lower() for section, key in variables} - {"section.key"} <= keys()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_piece_of_configuration_on_a_page_can_be_used(page: Path, tmp_path: Path) -> None:
    for language, content in blocks_of(page):
        if language == "toml":
            (tmp_path / "config.toml").write_text(content, encoding="utf-8")
            assert set(tomllib.loads(content)) <= set(Config.model_fields)
            load_config(tmp_path / "config.toml", {})


def test_every_metric_is_explained_and_none_is_invented() -> None:
    metrics = Metrics()
    metrics.watch_embedder(lambda: (0, 0))
    families = re.findall(
        r"^# TYPE (\w+) (?:counter|gauge|histogram)$", metrics.render().decode(), re.MULTILINE
    )

    said = set(re.findall(r"`(mnemogram_\w+)`", text_of(DOCS / "operations.md")))

    assert said == {name for name in families if not name.endswith("_created")}


def test_every_table_stands_in_the_architecture_and_no_other() -> None:
    part = text_of(DOCS / "architecture.md").partition("| table | one row is |")[2].partition("\n\n")[0]

    said = re.findall(r"^\| `(\w+)`", part, re.MULTILINE)

    assert sorted(said) == sorted([*metadata.tables, "schema_migrations"])


def test_every_test_that_guards_something_exists() -> None:
    page = text_of(DOCS / "architecture.md")
    guards = re.findall(r"\(\.\./(tests/[\w/]+\.py)\): ((?:`test_\w+`(?:, )?)+)", page)
    assert guards

    for file, names in guards:
        for name in re.findall(r"`(test_\w+)`", names):
            assert re.search(rf"^(async )?def {name}\(", text_of(ROOT / file), re.MULTILINE), (
                f"{file}: {name}"
            )


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_makes_the_makefile_has(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    code = "\n".join(code_on(page))

    made = re.findall(r"\bmake ((?:[A-Z]+=\S+ )*)([a-z]+)\b", code)

    assert {target for _, target in made} <= targets
