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

# Made once: an alias of a wide table takes longer to build than the query does to run.
_BEGINS, _ENDS = memories.alias("begins"), memories.alias("ends")
_BETWEEN_ACTIVE = (
    sa.select(links)
    .join(_BEGINS, (links.c.from_id == _BEGINS.c.id) & (_BEGINS.c.status == Status.ACTIVE))
    .join(_ENDS, (links.c.to_id == _ENDS.c.id) & (_ENDS.c.status == Status.ACTIVE))
    .where(links.c.relation != Relation.REPLACES)
)


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

    What a memory has replaced is its history and leads nowhere.
    """
    mine = [table.c.chat_id == chat_id for table in (links, _BEGINS, _ENDS)]
    query = _BETWEEN_ACTIVE.where(*mine)
    found: dict[tuple[int, int, str], Link] = {}
    for batch in batches(ids):
        touching = sa.or_(links.c.from_id.in_(batch), links.c.to_id.in_(batch))
        for row in await conn.execute(query.where(touching)):
            relation = Relation(row.relation)
            link = Link(row.chat_id, row.from_id, row.to_id, relation, row.weight)
            found[link.from_id, link.to_id, relation] = link
    return [found[key] for key in sorted(found)]
