"""The copies of the vector index: which one is in use, opening and replacing it, removing what is left."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.errors import IndexDamaged, IndexLost
from memory.ports import VectorIndex
from memory.vector_rows import Cursor, VectorRows

log = logging.getLogger(__name__)


class OpenIndex(VectorIndex, Protocol):
    """An index that holds files or a connection."""

    async def close(self) -> None: ...


class IndexHome(Protocol):
    """Where indexes are kept under names. Opening and making raise IndexUnavailable or IndexDamaged."""

    @property
    def kind(self) -> str:
        """What sets the ids of these indexes apart from those kept elsewhere."""
        ...

    async def open(self, name: str) -> OpenIndex: ...

    async def create(self, name: str) -> OpenIndex: ...

    async def remove(self, name: str) -> None: ...

    async def exists(self, name: str) -> bool: ...

    async def strays(self, known: Collection[str]) -> list[str]: ...


@dataclass(slots=True)
class Copy:
    """The index in use: all changes up to `cursor` are in it, and nothing that was erased up to `begun`.

    `index_id` is its home's kind, a slash and its name.
    """

    index_id: str
    index: OpenIndex
    cursor: int

    @property
    def name(self) -> str:
        return _name(self.index_id)

    @property
    def begun(self) -> int:
        return int(self.name.split("-")[2])


class IndexCopies:
    """Finds the index of one model in its home. SQL knows every copy, so none is ever lost out of sight.

    A name is memories-SERIAL-REVISION-RANDOM: the highest serial is in use, the revision is the one at which
    the copy was begun, and the rest keeps bots apart that share a server.
    """

    def __init__(self, rows: VectorRows, home: IndexHome, model_id: str) -> None:
        self._rows = rows
        self._home = home
        self._model_id = model_id
        self._condemned: set[str] = set()

    async def open(self) -> Copy:
        """Open the newest sound copy, or begin an empty one, and remove all others.

        Raises IndexUnavailable, StorageError.
        """
        return await self._stored() or await self._fresh()

    async def exists(self, copy: Copy) -> bool:
        """Tell whether its files are still there; cheap."""
        return await self._home.exists(copy.name)

    def condemn(self, copy: Copy) -> None:
        """Never open this copy again."""
        self._condemned.add(copy.index_id)

    async def condemn_all(self) -> None:
        self._condemned |= {cursor.index_id for cursor in await self._rows.cursors(self._home.kind)}

    async def _stored(self) -> Copy | None:
        cursors = await self._rows.cursors(self._home.kind)
        found: Copy | None = None
        for cursor in reversed(cursors):
            usable = cursor.model_id == self._model_id and cursor.index_id not in self._condemned
            if usable and (found := await self._sound(cursor)):
                break
        try:
            await self._remove_all_but(found, cursors)
        except BaseException:
            if found:
                await found.index.close()
            raise
        return found

    async def _sound(self, cursor: Cursor) -> Copy | None:
        try:
            index = await self._home.open(_name(cursor.index_id))
            copy = Copy(cursor.index_id, index, cursor.revision)
            try:
                await self._mend(copy)
            except BaseException:
                await index.close()
                raise
        except IndexLost:
            log.info("the vector index is not there and is made anew", extra={"index": cursor.index_id})
            return None
        except IndexDamaged:
            log.warning("the vector index is broken and is built anew", extra={"index": cursor.index_id})
            return None
        return copy

    async def _remove_all_but(self, kept: Copy | None, cursors: Sequence[Cursor]) -> None:
        for cursor in cursors:
            if not kept or cursor.index_id != kept.index_id:
                await self._home.remove(_name(cursor.index_id))
                await self._rows.drop(cursor.index_id)
        for name in await self._home.strays({_name(cursor.index_id) for cursor in cursors}):
            await self._home.remove(name)

    async def _mend(self, copy: Copy) -> None:
        """Take out what does not belong there, and follow again from the first change that got lost."""
        held = await copy.index.ids()
        active = await self._rows.active(self._model_id)
        lost = [revision for memory_id, (revision, _) in active.items() if memory_id not in held]
        copy.cursor = min([copy.cursor, *(revision - 1 for revision in lost)])
        await copy.index.delete(sorted(held - active.keys()))

    async def _fresh(self) -> Copy:
        """Make an empty copy. It is noted first, so that it is found and removed if we die in between."""
        cursors = await self._rows.cursors(self._home.kind)
        serial = 1 + max((int(_name(cursor.index_id).split("-")[1]) for cursor in cursors), default=0)
        begun = await self._rows.last_revision()
        name = f"memories-{serial:06}-{begun}-{secrets.token_hex(3)}"
        cursor = Cursor(f"{self._home.kind}/{name}", self._model_id, 0)
        await self._rows.begin(cursor)
        return Copy(cursor.index_id, await self._home.create(name), 0)


def _name(index_id: str) -> str:
    return index_id.rpartition("/")[2]
