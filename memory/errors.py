"""What can go wrong in memory; the text of each error is one sentence that says what to do."""

from __future__ import annotations


class MnemogramError(Exception):
    """Something that the user or the operator can act on; ``str(error)`` may be shown to them."""


class ConfigError(MnemogramError):
    """The configuration cannot be used."""


class StorageError(MnemogramError):
    """The database or the data directory cannot be used."""


class AlreadyRunning(StorageError):
    """Another process owns the data directory."""


class MemoryNotFound(MnemogramError):
    """This chat has no such memory."""

    def __init__(self, memory_id: int) -> None:
        super().__init__(f"There is no memory {memory_id} in this chat; `memory list` shows the ids.")
        self.memory_id = memory_id


class StaleRevision(MnemogramError):
    """The memory was changed by somebody else in the meantime."""

    def __init__(self, memory_id: int) -> None:
        super().__init__(
            f"Memory {memory_id} has changed in the meantime; look at it again before you edit it."
        )
        self.memory_id = memory_id


class InvalidMemory(MnemogramError):
    """The text cannot be stored as a memory."""


class InvalidExport(MnemogramError):
    """The file does not hold the memory of a chat as `memory export` writes it."""


class LeaseLost(MnemogramError):
    """Another worker took over the job, so its result must not be stored."""


class EmbedderUnavailable(MnemogramError):
    """The embedding model cannot be loaded or did not answer."""


class RerankerUnavailable(MnemogramError):
    """The reranking model cannot be loaded or did not answer; search goes on in the order it has."""


class IndexUnavailable(MnemogramError):
    """The vector index cannot be used now; search goes on without it."""


class IndexDamaged(IndexUnavailable):
    """The vector index is lost or broken and has to be built anew."""


class IndexLost(IndexDamaged):
    """The vector index is not there, or a process died before it had made the whole of it."""
