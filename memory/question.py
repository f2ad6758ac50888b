"""What a person asks about, without the words that only say that they ask."""

from __future__ import annotations

import re

from memory.text import clean, stems

MAX_CHARS = 2_000
"""A question says what it wants at its beginning; the rest of a long text would only blur it."""

# Each of them makes the vector of a question less like the fact that answers it.
_ASKING = re.compile(
    r"""^(?:
      (?:а|и|ну|слушай|эй|пожалуйста|скажи(?:те)?|подскажи(?:те)?|напомни(?:те)?|ответь(?:те)?
        |расскажи(?:те)?|(?:ты\ |вы\ )?(?:не\ )?(?:помнишь|помните|знаешь|знаете|подскажешь|напомнишь)
        |что\ (?:ты|вы)\ (?:помнишь|помните|знаешь|знаете)
        |so|and|well|hey|please|(?:(?:can|could|would|will)\ you\ (?:please\ )?)?(?:tell|remind)
        |do\ you\ (?:still\ |also\ )?(?:know|remember)|what\ do\ you\ (?:know|remember)|remember)
      (?:\ (?:ли|ты|вы|мне|нам|me|us|пожалуйста|please))*
      (?:\ (?:о|об|обо|про|about|that|of)(?=\s))?
      [\s,:;—–-]+
    )+""",
    re.VERBOSE | re.IGNORECASE,
)


def bare_question(text: str, speaker: str = "") -> str:
    """Return the question without "remind me", "do you know" and the like, and without the name `speaker`.

    Memories rarely name the person who speaks in them, so a name that is already a filter only misleads.
    Where no word to search by is left, the question is returned as it came.
    """
    question = clean(text)[:MAX_CHARS]
    bare = _ASKING.sub("", question, count=1)
    if speaker:
        bare = re.sub(rf"\b{re.escape(speaker)}(?:'s)?(?!\w)", "", bare, flags=re.IGNORECASE)
    return bare.strip() if stems(bare) else question
