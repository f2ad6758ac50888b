"""Files that commands write: only new ones or, where that was asked for, over a plain file."""

from __future__ import annotations

from pathlib import Path

from bot.cli.errors import Failed, WrongUse


def check_target(file: Path, *, force: bool) -> None:
    """Raise WrongUse or Failed unless `file` may be written."""
    if file.is_dir() or file.name == "":
        raise WrongUse(f"{file} is a directory; name the file to write.")
    if file.exists() and not file.is_file():
        raise WrongUse(f"{file} is a device and no file; name a file to write.")
    if file.exists() and not force:
        raise Failed(f"{file} exists already; name another file or add --force.")
    if not file.parent.is_dir():
        raise Failed(f"There is no directory {file.parent}; make it first.")
