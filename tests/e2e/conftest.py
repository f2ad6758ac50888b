"""Stages for end-to-end tests: one that a module shares, and one for a test that kills or configures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.stage import Stage, set_up

HERE = Path(__file__).parent
SECONDS = 300
"""A start alone may take a minute on a busy machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """A running bot for all tests of a module, each with `shared.person()` of its own.

    The module needs `pytestmark = pytest.mark.asyncio(loop_scope="module")`; what it names `SETTINGS` goes to
    `set_up`.
    """
    settings = getattr(request.module, "SETTINGS", {})
    async with set_up(tmp_path_factory.mktemp("shared"), **settings) as stage:
        await stage.bot.launch()
        yield stage
        stage.check()


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage for one test, which starts, kills and restarts the bot itself.

    It fails when a fake has refused something; a test that means to be refused clears `refusals`.
    """
    async with set_up(tmp_path) as stage:
        yield stage
        stage.check()
