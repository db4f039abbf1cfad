"""The edit that cancels operations of a queue."""

import json

from forklore.formats.lorebook_json import parse_lorebook
from forklore.model.plan import EditFile, LineEdit, Put
from forklore.planning.cancelling import cancellation
from forklore.testing.stories import QUEUE_UID, lorebook_bytes, operation, queue, queue_content


def test_the_queue_is_written_with_them_cancelled() -> None:
    waiting = [operation(1), operation(2)]
    book = parse_lorebook("Lore", lorebook_bytes([queue(waiting)]))

    made = cancellation(book, "worlds/Lore.json", frozenset({waiting[0]["id"]}))

    content = json.dumps(queue_content([operation(1, "cancelled"), operation(2)]), ensure_ascii=False)
    edit = Put(("entries", str(QUEUE_UID), "content"), content)
    assert made == EditFile("worlds/Lore.json", (LineEdit(None, edit),), role="queue")
