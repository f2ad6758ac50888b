"""A chat's memory as one JSON-able value, and the way back into this or any other database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.export_format import (
    ChatExport,
    LinkItem,
    MemoryItem,
    MessageItem,
    ProfileItem,
    SessionItem,
    parse_export,
)
from memory.forget import hidden_traces
from memory.rows import NO_TURN, fetch, insert_rows, writing
from memory.session_rows import reopen
from memory.tables import links, memories, messages, profiles, sessions, sources
from memory.text import text_hash
from memory.traces import Traces
from memory.types import Memory, SessionState, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from memory.database import Database


async def export_chat(database: Database, chat_id: int) -> dict[str, Any]:
    """Return all that is kept of a chat, ready for `json.dump`, as it is at one moment.

    Vectors and turns are left out, which are made anew, and everything that tells of what is forgotten, the
    undo window included.
    """
    async with database.read() as conn:
        versions, traces = await hidden_traces(conn, chat_id)
        gone = {memory.id for memory in versions} | traces.memories
        kept = [memory for memory in await fetch(conn, chat_id, NO_TURN) if memory.id not in gone]
        ids = {memory.id for memory in kept}
        export = ChatExport(
            chat_id=chat_id,
            profile=await _profile(conn, chat_id, traces),
            sessions=tuple([_session(row, traces) for row in await _rows(conn, chat_id, sessions)]),
            messages=tuple([_message(row, traces) for row in await _rows(conn, chat_id, messages)]),
            memories=tuple([_memory(memory, ids) for memory in kept]),
            links=tuple(
                [
                    LinkItem.model_validate(row)
                    for row in await _rows(conn, chat_id, links)
                    if row.from_id in ids and row.to_id in ids
                ]
            ),
        )
    return export.model_dump(mode="json")


async def import_chat(database: Database, chat_id: int, data: object) -> int:
    """Add to a chat what `export_chat` returned for this or another one; return how many memories are new.

    Ids are given anew. What the chat has already is left as it is, so that importing twice adds nothing.
    Everything is stored or nothing. Raises InvalidExport.
    """
    export = parse_export(data)
    async with writing(database) as conn:
        session_ids = await _add_sessions(conn, chat_id, export)
        message_ids = await _add_messages(conn, chat_id, export, session_ids)
        known = await _known_memories(conn, chat_id, export)
        memory_ids = await _add_memories(conn, chat_id, export, known, session_ids, message_ids)
        rows = [_linked(chat_id, link, memory_ids) for link in export.links]
        if rows:
            await conn.execute(insert(links).on_conflict_do_nothing(), rows)
        if export.profile:
            profile = insert(profiles).values(chat_id=chat_id, **dict(export.profile))
            await conn.execute(profile.on_conflict_do_nothing())
    return len(export.memories) - len(known)


async def _rows(conn: AsyncConnection, chat_id: int, table: sa.Table) -> list[Any]:
    query = sa.select(table).where(table.c.chat_id == chat_id).order_by(*table.primary_key.columns)
    return list((await conn.execute(query)).all())


async def _profile(conn: AsyncConnection, chat_id: int, traces: Traces) -> ProfileItem | None:
    rows = await _rows(conn, chat_id, profiles)
    return ProfileItem.model_validate(rows[0]) if rows and not traces.profile else None


def _session(row: Any, traces: Traces) -> SessionItem:
    item = SessionItem.model_validate(row)
    if row.id not in traces.sessions:
        return item
    return item.model_copy(update={"summary": "", "compressed_to": None})


def _message(row: Any, traces: Traces) -> MessageItem:
    item = MessageItem.model_validate(row)
    return item.model_copy(update={"text": ""}) if row.id in traces.messages else item


def _memory(memory: Memory, ids: set[int]) -> MemoryItem:
    item = MemoryItem.model_validate(memory)
    return item if memory.superseded_by in ids else item.model_copy(update={"superseded_by": None})


async def _add_sessions(conn: AsyncConnection, chat_id: int, export: ChatExport) -> dict[int, int]:
    """Add sessions, closed, so that they are indexed here. Return their new ids by the old ones."""
    present = {(row.thread_id, row.started_at): row.id for row in await _rows(conn, chat_id, sessions)}
    fresh = {
        key: item for item in export.sessions if (key := (item.thread_id, item.started_at)) not in present
    }
    rows = [
        {
            **item.model_dump(exclude={"id", "compressed_to"}),
            "chat_id": chat_id,
            "state": SessionState.CLOSED,
        }
        for item in fresh.values()
    ]
    present |= zip(fresh, await _insert(conn, sessions, rows), strict=True)
    return {item.id: present[item.thread_id, item.started_at] for item in export.sessions}


async def _add_messages(
    conn: AsyncConnection, chat_id: int, export: ChatExport, session_ids: Mapping[int, int]
) -> dict[int, int]:
    """Add messages in their order, then tie answers to questions. Return their new ids by the old ones."""
    present = await _rows(conn, chat_id, messages)
    ids = _known_messages(present, chat_id, export)
    fresh = [item for item in export.messages if item.id not in ids]
    rows = [
        {
            **item.model_dump(exclude={"id", "reply_to"}),
            "chat_id": chat_id,
            "session_id": session_ids[item.session_id],
            # That of an answer is tied to the number of its question, which may be taken here until then.
            "source": _source(item, chat_id, export) if item.reply_to is None else f"imported:{item.id}",
        }
        for item in fresh
    ]
    ids |= zip((item.id for item in fresh), await _insert(conn, messages, rows), strict=True)
    answers = [
        {
            "the_id": ids[item.id],
            "question": ids[item.reply_to],
            "tied": f"{item.source.partition(':')[0]}:{ids[item.reply_to]}",
        }
        for item in fresh
        if item.reply_to is not None
    ]
    tie = sa.update(messages).where(messages.c.chat_id == chat_id, messages.c.id == sa.bindparam("the_id"))
    tie = tie.values(reply_to=sa.bindparam("question"), source=sa.bindparam("tied"))
    if answers:
        await conn.execute(tie, answers)
    await reopen(conn, chat_id, {session_ids[item.session_id] for item in fresh})
    return ids


def _known_messages(present: list[Any], chat_id: int, export: ChatExport) -> dict[int, int]:
    """New ids by old ones of the messages that the chat has: by their source, answers by their question."""
    by_source = {row.source: row.id for row in present}
    by_question = {row.reply_to: row.id for row in present}
    ids: dict[int, int] = {}
    for item in export.messages:
        known = (
            by_source.get(_source(item, chat_id, export))
            if item.reply_to is None
            else by_question.get(ids.get(item.reply_to, 0))
        )
        if known is not None:
            ids[item.id] = known
    return ids


def _source(item: MessageItem, chat_id: int, export: ChatExport) -> str:
    """A source is unique in its chat; that of another chat is told apart, and comes home unchanged."""
    home = f"import:{chat_id}:"
    if item.source.startswith(home):
        return item.source.removeprefix(home)
    if export.chat_id == chat_id or item.source.startswith("import:"):
        return item.source
    return f"import:{export.chat_id}:{item.source}"


async def _known_memories(conn: AsyncConnection, chat_id: int, export: ChatExport) -> dict[int, int]:
    """New ids by old ones of the memories that the chat has: the same words, learned then or known now."""
    present = await fetch(conn, chat_id, memories.c.status != Status.FORGOTTEN, NO_TURN)
    active = {text_hash(memory.text): memory.id for memory in present if memory.status == Status.ACTIVE}
    ever = {(text_hash(memory.text), memory.learned_at): memory.id for memory in present}
    ids: dict[int, int] = {}
    for item in export.memories:
        words = text_hash(item.text)
        known = ever.get((words, item.learned_at))
        if known is None and item.status == Status.ACTIVE:
            known = active.get(words)
        if known is not None:
            ids[item.id] = known
    return ids


async def _add_memories(
    conn: AsyncConnection,
    chat_id: int,
    export: ChatExport,
    known: Mapping[int, int],
    session_ids: Mapping[int, int],
    message_ids: Mapping[int, int],
) -> dict[int, int]:
    ids = dict(known)
    fresh = [item for item in export.memories if item.id not in known]
    rows = await insert_rows(conn, chat_id, [_values(item, session_ids) for item in fresh])
    ids |= {item.id: row.id for item, row in zip(fresh, rows, strict=True)}
    stood_on = [
        {"chat_id": chat_id, "memory_id": ids[item.id], "message_id": message_ids[each]}
        for item in fresh
        for each in item.message_ids
    ]
    if stood_on:
        await conn.execute(insert(sources).on_conflict_do_nothing(), stood_on)
    replaced = [
        {"the_id": ids[item.id], "by": ids[item.superseded_by]}
        for item in fresh
        if item.superseded_by is not None
    ]
    tie = sa.update(memories).where(memories.c.chat_id == chat_id, memories.c.id == sa.bindparam("the_id"))
    if replaced:
        await conn.execute(tie.values(superseded_by=sa.bindparam("by")), replaced)
    return ids


def _values(item: MemoryItem, session_ids: Mapping[int, int]) -> dict[str, Any]:
    own = item.model_dump(exclude={"id", "message_ids", "superseded_by"})
    return own | {"session_id": session_ids.get(item.session_id) if item.session_id is not None else None}


def _linked(chat_id: int, link: LinkItem, ids: Mapping[int, int]) -> dict[str, Any]:
    return link.model_dump() | {"chat_id": chat_id, "from_id": ids[link.from_id], "to_id": ids[link.to_id]}


async def _insert(conn: AsyncConnection, table: sa.Table, rows: list[dict[str, Any]]) -> list[int]:
    """Insert rows and return their new ids in the same order."""
    if not rows:
        return []
    inserted = sa.insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return list((await conn.execute(inserted, rows)).scalars())
