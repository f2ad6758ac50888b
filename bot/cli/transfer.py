"""`memory export`, `memory import` and `import`: a chat's memory as a file, and documents into it."""

from __future__ import annotations

import asyncio
import json
import os
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

from bot.app import open_app
from bot.cli.errors import Failed
from bot.cli.output import print_json, progress, say
from bot.cli.targets import check_target
from bot.config import Config
from memory.errors import EmbedderUnavailable
from memory.export import export_chat, import_chat

DOCUMENTS = (".txt", ".md", ".markdown", ".text")
"""The names of plain text; other kinds of documents need a reader of their own."""


async def export(config: Config, args: Namespace) -> int:
    if args.file:
        check_target(args.file, force=args.force)
    async with open_app(config, owner=False) as app:
        exported = await export_chat(app.database, args.chat)
    if args.file is None:
        print_json(exported)
        return 0
    await asyncio.to_thread(_write, args.file, json.dumps(exported, ensure_ascii=False, indent=2) + "\n")
    count = len(exported["memories"])
    if args.json:
        print_json({"file": str(args.file.absolute()), "memories": count})
    else:
        print(f"{args.file} holds memories {count} of chat {args.chat}.")
    return 0


async def import_memories(config: Config, args: Namespace) -> int:
    try:
        exported = json.loads(await asyncio.to_thread(_read, args.file))
    except (ValueError, RecursionError):
        raise Failed(f"{args.file} is not JSON; name a file that `memory export` wrote.") from None
    async with open_app(config, owner=False, note=say) as app:
        count = await import_chat(app.database, args.chat, exported)
        # An export holds no vectors. Without a model the running or next bot makes them later.
        with suppress(EmbedderUnavailable):
            await app.index.sync()
    if args.json:
        print_json({"memories": count})
    else:
        print(f"Imported into chat {args.chat}: memories {count}.")
    return 0


async def import_document(config: Config, args: Namespace) -> int:
    file: Path = args.file
    if file.suffix.lower() not in DOCUMENTS:
        raise Failed(f"{file} is not a text file; save it as .txt or .md and import that.")
    text = await asyncio.to_thread(_read, file)
    async with open_app(config, owner=False, note=say) as app:
        memories = await app.memory.remember_document(args.chat, file.name, text, progress=progress("Read"))
    if args.json:
        print_json({"document": file.name, "memories": [memory.id for memory in memories]})
    else:
        print(f"Chat {args.chat} knows {file.name} now, in pieces {len(memories)}.")
    return 0


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Failed(f"{file} is not UTF-8 text; convert it first.") from None
    except OSError as error:
        raise Failed(
            f"{file} cannot be read ({error.strerror}); check the path and its permissions."
        ) from None


def _write(file: Path, text: str) -> None:
    """Write for the owner's eyes only, and whole or not at all."""
    part = file.with_name(file.name + ".part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Failed(f"{file} cannot be written ({error.strerror}); choose another place.") from None
