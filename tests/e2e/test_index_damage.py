"""The index is truncated, deleted, garbage, or taken away from under the bot: nothing is lost or missed."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.stage import Stage, set_up
from tests.fakes.anthropic import last_user_text, text, tool_use
from tests.fakes.telegram import Chat

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("index damage")]
