"""Planning to cancel operations in a lorebook's queue."""

from __future__ import annotations

from forklore.channels.queue import cancelled
from forklore.formats.json_text import encode
from forklore.formats.lorebook_json import Lorebook
from forklore.model.plan import EditFile, LineEdit, Put


def cancellation(book: Lorebook, path: str, ids: frozenset[str]) -> EditFile:
    """Return the edit of the book at *path* that cancels the operations *ids*; it has a queue."""
    queue = book.outline.queue_entries[0]
    content = encode(cancelled(queue.content or "", ids))
    return EditFile(path, (LineEdit(None, Put(("entries", queue.key, "content"), content)),), role="queue")
