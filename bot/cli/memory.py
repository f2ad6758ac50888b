"""`memory chats`, `list`, `search`, `show` and `forget`; a bot may run beside, and its index follows."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.app import App, open_app
from bot.cli.errors import Failed, WrongUse
from bot.cli.output import (
    hit_json,
    memory_json,
    memory_line,
    neighbour_lines,
    print_json,
    say,
    score_line,
)
from bot.config import Config
from bot.selection import Everything, Selection, Some
from memory.chats import chats as all_chats
from memory.dates import bound
from memory.errors import AlreadyRunning, EmbedderUnavailable, IndexUnavailable, StorageError
from memory.search import PLAUSIBLE
from memory.types import Memory, MemoryType, Query, Where


async def chats(config: Config, args: Namespace) -> int:
    async with open_app(config, owner=False, note=say) as app:
        found = await all_chats(app.database)
    if args.json:
        print_json([asdict(chat) for chat in found])
        return 0
    for chat in found:
        day = chat.last_at.astimezone(config.memory.zone).date()
        print(f"{chat.chat_id:>14}  memories {chat.memories}, messages {chat.messages}, last on {day}")
    if not found:
        print("No chat has left anything here yet.")
    return 0


async def list_memories(config: Config, args: Namespace) -> int:
    where = _where(args, config.memory.zone)
    async with open_app(config, owner=False, note=say) as app:
        memories = await app.memory.list(args.chat, where, limit=args.limit)
        total = await app.memory.count(args.chat, where)
    if args.json:
        print_json([memory_json(memory) for memory in memories])
        return 0
    for memory in memories:
        print(memory_line(memory, config.memory.zone))
    print(f"{len(memories)} of {total}" if memories else f"Chat {args.chat} has no memories of this kind.")
    return 0


async def search(config: Config, args: Namespace) -> int:
    zone = config.memory.zone
    query = Query(
        args.chat,
        args.query,
        _where(args, zone),
        k=args.limit,
        floor=PLAUSIBLE,
        zone=zone,
        neighbours=config.memory.neighbours if args.neighbours is None else args.neighbours,
    )
    async with open_app(config, owner=False, note=say) as app:
        hits = await app.memory.search(query)
    if args.json:
        print_json([hit_json(hit) for hit in hits])
        return 0
    for hit in hits:
        explained = [score_line(hit.score)] if args.explain else []
        print("\n".join([memory_line(hit.memory, zone), *explained, *neighbour_lines(hit)]))
    if not hits:
        print("Nothing was found.")
    return 0


async def show(config: Config, args: Namespace) -> int:
    async with open_app(config, owner=False, note=say) as app:
        memory = await app.memory.get(args.chat, args.id)
    if args.json:
        print_json(memory_json(memory))
    else:
        print(_described(memory, config.memory.zone))
    return 0


async def forget(config: Config, args: Namespace) -> int:
    """Forget through SQL; the index follows here, or in the running bot where there is one."""
    agreed = None if args.yes else await _agreed(config, args)
    async with _owner_if_free(config) as (app, owner):
        shown = await _chosen(app, args) if agreed is None else agreed
        receipt = await _selection(app, args, shown).forget(None)
        if owner:
            await _clear_index(app)
    if args.json:
        print_json({"memories": receipt.memories, "messages": receipt.messages})
    else:
        print(f"Forgotten for good: memories {receipt.memories}, messages {receipt.messages}.")
    return 0


@asynccontextmanager
async def _owner_if_free(config: Config) -> AsyncIterator[tuple[App, bool]]:
    """Open the program, and tell whether the data directory is ours: it may be a running bot's."""
    async with AsyncExitStack() as stack:
        try:
            yield await stack.enter_async_context(open_app(config, note=say)), True
            return
        except AlreadyRunning:
            app = await stack.enter_async_context(open_app(config, owner=False, note=say))
        yield app, False


async def _clear_index(app: App) -> None:
    """Let the index follow at once. What was forgotten is forgotten without it, and it holds no text."""
    try:
        await app.index.sync()
        await app.index.compact()
    except (IndexUnavailable, EmbedderUnavailable, StorageError):
        say("The vector index cannot follow now; it does at the next start.")


async def _agreed(config: Config, args: Namespace) -> Sequence[Memory]:
    """Ask, with the data directory left to others, and return what may be forgotten."""
    async with open_app(config, owner=False, note=say) as app:
        shown = await _chosen(app, args)
        _confirm(shown, args.chat, config.memory.zone, everything=args.all)
    return shown


def _selection(app: App, args: Namespace, shown: Sequence[Memory]) -> Selection:
    if args.all:
        return Everything(app.memory, args.chat)
    return Some(app.memory, args.chat, [memory.id for memory in shown])


async def _chosen(app: App, args: Namespace) -> Sequence[Memory]:
    """Return the memories to be forgotten, those to show where all is."""
    if args.all:
        return await app.memory.list(args.chat)
    if args.id:
        shown: Sequence[Memory] = [await app.memory.get(args.chat, memory_id) for memory_id in args.id]
    else:
        shown = await app.memory.matching(args.chat, args.match)
    if not shown:
        raise Failed(f"Chat {args.chat} has no memory with the words {args.match!r}; nothing was forgotten.")
    return shown


def _confirm(shown: Sequence[Memory], chat_id: int, zone: ZoneInfo, *, everything: bool) -> None:
    """Ask the person at the terminal. Raises WrongUse where there is none, Failed when they decline."""
    if not (sys.stdin and sys.stdin.isatty()):
        raise WrongUse("There is nobody to ask; add --yes to forget without a question.")
    for memory in shown[:20]:
        print(memory_line(memory, zone), file=sys.stderr)
    if len(shown) > 20:
        print(f"        … and {len(shown) - 20} more", file=sys.stderr)
    what = "everything" if everything else f"{len(shown)}"
    print(f"Forget {what} in chat {chat_id} for good? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failed("Nothing was forgotten.")


def _where(args: Namespace, zone: ZoneInfo) -> Where:
    since, until = _bound("--since", args.since, zone), _bound("--until", args.until, zone, end=True)
    if since and until and since >= until:
        raise WrongUse("--since must lie before --until; exchange them or leave one out.")
    return Where(
        types=tuple(MemoryType(kind) for kind in args.type), speaker=args.speaker, since=since, until=until
    )


def _bound(option: str, value: str | None, zone: ZoneInfo, *, end: bool = False) -> datetime | None:
    if value is None:
        return None
    try:
        return bound(value, zone, end=end)
    except ValueError:
        raise WrongUse(f"{option} must be a day like 2026-03-12 or a time like 2026-03-12T18:30.") from None


def _described(memory: Memory, zone: ZoneInfo) -> str:
    """All that is known of a memory, one thing a line; what is empty is left out."""
    shown = {
        "id": memory.id,
        "type": memory.type,
        "status": memory.status,
        "said by": memory.speaker,
        "origin": memory.origin,
        "document": memory.document,
        "valid from": _when(memory.valid_from, zone),
        "valid until": _when(memory.valid_until, zone),
        "learned at": _when(memory.learned_at, zone),
        "replaced by": memory.superseded_by,
        "gone for good at": _when(memory.purge_at, zone),
        "from messages": ", ".join(map(str, memory.message_ids)),
        "session": memory.session_id,
        "importance": f"{memory.importance:g}",
        "revision": memory.revision,
        "original words": memory.original if memory.original != memory.text else "",
    }
    lines = [f"{name + ':':<18}{value}" for name, value in shown.items() if value not in (None, "")]
    return "\n".join([*lines, "", memory.text])


def _when(moment: datetime | None, zone: ZoneInfo) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}" if moment else ""
