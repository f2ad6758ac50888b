"""How a command ends when it cannot do what it was asked for."""

from __future__ import annotations

from memory.errors import MnemogramError


class Failed(MnemogramError):
    """The command could not do its work: exit status 1."""


class WrongUse(MnemogramError):
    """The command line asks for something impossible: exit status 2."""
