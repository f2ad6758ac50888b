"""How many tokens a text is, about."""

from __future__ import annotations

import math
import re

LATIN_CHARS_PER_TOKEN = 3.5
CYRILLIC_CHARS_PER_TOKEN = 2.0

_CYRILLIC = re.compile("[\u0400-\u052f]")
_IDEOGRAPHS = re.compile("[\u2e80-\U0010ffff]")  # from the CJK radicals on, emoji included


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` is, rather too many than too few; no tokenizer is public."""
    cyrillic, ideographs = len(_CYRILLIC.findall(text)), len(_IDEOGRAPHS.findall(text))
    rest = len(text) - cyrillic - ideographs
    return math.ceil(cyrillic / CYRILLIC_CHARS_PER_TOKEN + ideographs + rest / LATIN_CHARS_PER_TOKEN)
