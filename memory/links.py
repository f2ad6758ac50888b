"""Links between the memories of a chat: adding them, and reading those that lead somewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.rows import batches
from memory.tables import links, memories
from memory.types import Link, Relation, Status

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


async def add_links(conn: AsyncConnection, chat_id: int, news: Iterable[Link]) -> None:
    """Store links; the weight of one that is known is replaced.

    A link from a memory to itself is left out, and one of which an end is not in the chat.
    """
    wanted = {(link.from_id, link.to_id, link.relation): link for link in news if link.from_id != link.to_id}
    own: set[int] = set()
    for batch in batches({each for from_id, to_id, _ in wanted for each in (from_id, to_id)}):
        mine = sa.select(memories.c.id).where(memories.c.chat_id == chat_id, memories.c.id.in_(batch))
        own.update((await conn.execute(mine)).scalars())
    rows = [
        {"chat_id": chat_id, "from_id": from_id, "to_id": to_id, "relation": relation, "weight": link.weight}
        for (from_id, to_id, relation), link in wanted.items()
        if {from_id, to_id} <= own
    ]
    if rows:
        new = insert(links)
        known = [links.c.from_id, links.c.to_id, links.c.relation]
        await conn.execute(
            new.on_conflict_do_update(index_elements=known, set_={"weight": new.excluded.weight}), rows
        )


async def linked(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> list[Link]:
    """Return the links from and to these memories of which both ends are active.

    What a memory has replaced is its history and leads nowhere. Links and ends are read one after the other:
    of a table that was never analysed PostgreSQL takes a join for small, and goes through all pairs.
    """
    query = sa.select(links).where(links.c.chat_id == chat_id, links.c.relation != Relation.REPLACES)
    found: dict[tuple[int, int, Relation], Link] = {}
    for batch in batches(ids):
        for end in (links.c.from_id, links.c.to_id):
            for row in await conn.execute(query.where(end.in_(batch))):
                link = Link(row.chat_id, row.from_id, row.to_id, Relation(row.relation), row.weight)
                found[link.from_id, link.to_id, link.relation] = link
    active = await _active(conn, chat_id, {end for key in found for end in key[:2]}) if found else set()
    return [found[key] for key in sorted(found) if active.issuperset(key[:2])]


async def _active(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> set[int]:
    active: set[int] = set()
    for batch in batches(ids):
        # The + 0 keeps the databases from reading the whole chat instead of these rows.
        mine = (memories.c.chat_id + 0 == chat_id, memories.c.status == Status.ACTIVE)
        query = sa.select(memories.c.id).where(memories.c.id.in_(batch), *mine)
        active.update((await conn.execute(query)).scalars())
    return active
