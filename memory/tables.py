"""The tables of the SQL database, which is the truth; the vector index is derived from them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite only gives out fresh ids for a column that is exactly INTEGER PRIMARY KEY.
BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class UtcDateTime(sa.types.TypeDecorator[datetime]):
    """An aware UTC datetime on every database; SQLite itself would drop the zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time must be aware; take it from the clock")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        assert isinstance(value, datetime)
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _id() -> sa.Column[int]:
    return sa.Column("id", BigId, primary_key=True, autoincrement=True)


def _chat() -> sa.Column[int]:
    return sa.Column("chat_id", sa.BigInteger, nullable=False)


def _time(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    return sa.Column(name, UtcDateTime, nullable=nullable)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")


# An id is never given out twice, so that a forgotten memory's number cannot come to mean another one.
_FRESH_IDS: dict[str, Any] = {"sqlite_autoincrement": True}

REVISION = "revision"  # rises with every change of a memory
ERASED = "erased"  # above 0 while the files still have to be cleaned of erased text

counters = sa.Table(
    "counters",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)

inbox = sa.Table(
    "inbox",
    metadata,
    _id(),
    sa.Column("bot_id", sa.BigInteger, nullable=False),
    sa.Column("update_id", sa.BigInteger, nullable=False),
    _chat(),
    sa.Column("state", sa.Text, nullable=False),  # see bot.inbox.UpdateState
    sa.Column("payload", sa.Text),  # the update as it came; emptied as soon as it is dealt with
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    _time("received_at"),
    sa.UniqueConstraint("bot_id", "update_id"),
    sa.Index(None, "bot_id", "state", "id"),
    **_FRESH_IDS,
)

sessions = sa.Table(
    "sessions",
    metadata,
    _id(),
    _chat(),
    sa.Column("thread_id", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("state", sa.Text, nullable=False),
    _time("started_at"),
    _time("last_at"),
    _text("summary"),
    sa.Column("compressed_to", sa.BigInteger),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Index(None, "chat_id", "thread_id", "state"),
    sa.Index(None, "state", "last_at"),
    # One conversation at a time in each thread.
    sa.Index(
        "uq_sessions_open",
        "chat_id",
        "thread_id",
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    ),
    **_FRESH_IDS,
)

messages = sa.Table(
    "messages",
    metadata,
    _id(),
    _chat(),
    sa.Column("session_id", BigId, sa.ForeignKey(sessions.c.id), nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    _text("text"),
    _time("sent_at"),
    sa.Column("source", sa.Text, nullable=False),
    _text("speaker"),
    sa.Column("speaker_id", sa.BigInteger),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("reply_to", BigId, sa.ForeignKey("messages.id"), unique=True),
    sa.Column("delivered", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.UniqueConstraint("chat_id", "source"),
    sa.Index(None, "session_id", "id"),
    **_FRESH_IDS,
)

# The messenger's own ids of what shows the answer to a message, so that a restart edits instead of repeating.
outgoing = sa.Table(
    "outgoing",
    metadata,
    _chat(),
    sa.Column("message_id", BigId, sa.ForeignKey(messages.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    sa.Column("platform_id", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("message_id", "part"),
    sa.Index(None, "chat_id", "platform_id"),
)

# The same of what was said besides answers, so that nothing is put in its place; `channel` is one bot of one
# messenger.
notices = sa.Table(
    "notices",
    metadata,
    sa.Column("channel", sa.Text, nullable=False),
    _chat(),
    sa.Column("platform_id", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("channel", "chat_id", "platform_id"),
)

memories = sa.Table(
    "memories",
    metadata,
    _id(),
    _chat(),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("text_hash", sa.Text, nullable=False),  # of the folded text, to recognise what is known
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    _text("speaker"),
    sa.Column("speaker_id", sa.BigInteger),
    sa.Column("session_id", BigId, sa.ForeignKey(sessions.c.id)),
    _text("document"),
    _text("original"),
    sa.Column("importance", sa.Float, nullable=False),
    _time("learned_at"),
    _time("valid_from"),
    _time("valid_until", nullable=True),
    sa.Column("superseded_by", BigId, sa.ForeignKey("memories.id", ondelete="SET NULL")),
    _time("purge_at", nullable=True),
    sa.Column("forgotten_in", sa.BigInteger),  # the message whose turn has forgotten it, if a turn has
    sa.Column("word_count", sa.Integer, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False, unique=True),
    sa.Index(None, "chat_id", "status", "valid_from"),
    # What people list and count, which must not cost what was said.
    sa.Index(
        "ix_memories_listed",
        "chat_id",
        "status",
        "valid_from",
        sqlite_where=sa.text("type <> 'turn'"),
        postgresql_where=sa.text("type <> 'turn'"),
    ),
    sa.Index(None, "session_id", "id"),  # the turns around a turn
    sa.Index(None, "chat_id", "revision"),
    sa.Index(None, "status", "purge_at"),
    sa.Index("ix_memories_document", "chat_id", "document"),
    sa.Index(None, "superseded_by"),  # without it each delete would read the whole table
    # The same words are kept once in a chat; that they were said twice is another matter.
    sa.Index(
        "uq_memories_active",
        "chat_id",
        "text_hash",
        unique=True,
        sqlite_where=sa.text("status = 'active' AND type <> 'turn'"),
        postgresql_where=sa.text("status = 'active' AND type <> 'turn'"),
    ),
    **_FRESH_IDS,
)

# The messages that a memory stands on.
sources = sa.Table(
    "sources",
    metadata,
    _chat(),
    sa.Column("memory_id", BigId, sa.ForeignKey(memories.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("message_id", BigId, sa.ForeignKey(messages.c.id, ondelete="CASCADE"), nullable=False),
    sa.PrimaryKeyConstraint("memory_id", "message_id"),
    sa.Index(None, "message_id"),
)

links = sa.Table(
    "links",
    metadata,
    _chat(),
    sa.Column("from_id", BigId, sa.ForeignKey(memories.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("to_id", BigId, sa.ForeignKey(memories.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("relation", sa.Text, nullable=False),
    sa.Column("weight", sa.Float, nullable=False),
    sa.PrimaryKeyConstraint("from_id", "to_id", "relation"),
    sa.Index(None, "to_id"),
)

# The inverted index: one row for each stem of an active memory. Counted within the chat, so that a search
# costs what the chat's own memory costs.
words = sa.Table(
    "words",
    metadata,
    _chat(),
    sa.Column("word", sa.Text, nullable=False),
    sa.Column("memory_id", BigId, sa.ForeignKey(memories.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("count", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("chat_id", "word", "memory_id"),
    sa.Index(None, "memory_id"),
    sqlite_with_rowid=False,
)

vectors = sa.Table(
    "vectors",
    metadata,
    _chat(),
    sa.Column("memory_id", BigId, sa.ForeignKey(memories.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("model_id", sa.Text, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),  # float32, little-endian
    sa.PrimaryKeyConstraint("memory_id", "model_id"),
    sa.Index(None, "chat_id", "model_id"),
)

# What left the database for good, so that the index can follow: ids and revisions, no text.
tombstones = sa.Table(
    "tombstones",
    metadata,
    sa.Column("memory_id", BigId, primary_key=True, autoincrement=False),
    _chat(),
    sa.Column("revision", sa.BigInteger, nullable=False, unique=True),
    sa.Index(None, "chat_id", "revision"),
)

# How far each copy of the vector index has followed the revisions.
index_cursors = sa.Table(
    "index_cursors",
    metadata,
    sa.Column("index_id", sa.Text, primary_key=True),
    sa.Column("model_id", sa.Text, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
)

# Chats that forget everything: the messages up to this one, as soon as the undo window has ended.
erasures = sa.Table(
    "erasures",
    metadata,
    sa.Column("chat_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("message_id", BigId, nullable=False),
    _time("purge_at"),
)

profiles = sa.Table(
    "profiles",
    metadata,
    sa.Column("chat_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("text", sa.Text, nullable=False),
    _time("updated_at"),
)

# One row for each kind of background work on one subject; `token` fences off a worker that was too slow.
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("token", sa.BigInteger, nullable=False),
    _time("expires_at"),
)

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    _time("last_run_at", nullable=True),
    _time("last_ok_at", nullable=True),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    _text("last_error"),  # the class of the error, never its text
)

usage = sa.Table(
    "usage",
    metadata,
    _id(),
    _chat(),
    _time("at"),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("input_tokens", sa.Integer, nullable=False),
    sa.Column("cache_read_tokens", sa.Integer, nullable=False),
    sa.Column("cache_write_tokens", sa.Integer, nullable=False),
    sa.Column("output_tokens", sa.Integer, nullable=False),
    sa.Column("cost_usd", sa.Float, nullable=False),
    sa.Index(None, "chat_id", "at"),
    **_FRESH_IDS,
)
