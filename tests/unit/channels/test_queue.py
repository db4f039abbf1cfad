import json
from typing import Any

import pytest

from forklore.channels.queue import QueueUnreadable, cancelled, emptied, read_queue
from forklore.formats.lorebook_json import Lorebook, parse_lorebook
from forklore.model.fact import fact
from forklore.testing.stories import Json, entry, lorebook_bytes, operation, pretty, queue, queue_content
from forklore.texts import words


def book(*operations: Json) -> Lorebook:
    return parse_lorebook("Book", lorebook_bytes([entry(0, "a"), queue(operations)]))


def book_with(content: Any) -> Lorebook:
    return parse_lorebook("Book", lorebook_bytes([queue() | {"content": content}]))


class TestReading:
    @pytest.mark.req(13, 35, 151)
    @pytest.mark.parametrize(
        "status, busy",
        [
            ("pending", True),
            ("in_progress", True),
            ("retrying", True),
            ("completed", False),
            ("failed", False),
            ("cancelled", False),
        ],
    )
    def test_what_still_has_to_do_something_is_busy(self, status: str, busy: bool) -> None:
        (found,) = read_queue(book(operation(status=status)))

        assert found.is_busy is busy
        assert found.status == status

    @pytest.mark.parametrize("status", [None, 5, {}])
    def test_an_operation_whose_state_nobody_can_read_may_still_run(self, status: Any) -> None:
        (found,) = read_queue(book(operation() | {"status": status}))

        assert found.is_busy

    @pytest.mark.req(53)
    @pytest.mark.parametrize("content", ["", "  \n", None, "{}", queue_content()])
    def test_an_empty_queue_is_idle(self, content: Any) -> None:
        assert read_queue(book_with(content)) == ()

    def test_no_book_and_no_queue_are_idle(self) -> None:
        assert read_queue(None) == ()
        assert read_queue(parse_lorebook("Book", lorebook_bytes([entry(0, "a")]))) == ()

    @pytest.mark.parametrize(
        "content", ["{", "[]", '{"queue":{}}', '{"queue":["x"]}', '{"queue":null}', '{"queue":[null]}', "garbled"]
    )
    def test_a_garbled_queue_is_unreadable(self, content: str) -> None:
        with pytest.raises(QueueUnreadable):
            read_queue(book_with(content))

    def test_two_queues_are_unreadable(self) -> None:
        two = parse_lorebook("Book", lorebook_bytes([queue(uid=1), queue(uid=2)]))

        with pytest.raises(QueueUnreadable, match="2 operation queues") as refused:
            read_queue(two)
        assert refused.value.fact == fact("several_queues", count=2)

    def test_a_double_queue_under_one_key_is_one(self) -> None:
        one = parse_lorebook("Book", pretty({"entries": {"5": queue(uid=5)}}))

        assert read_queue(one) == ()


class TestTargets:
    @pytest.mark.req(15)
    @pytest.mark.parametrize(
        "members, target",
        [
            ({"metadata": {"entry_comment": "character-Mira"}}, 'entity: "character-Mira"'),
            ({"params": {"entryData": {"comment": "location-Inn"}, "index": 3}}, 'entity: "location-Inn"'),
            ({"metadata": {"entry_comment": "", "entry_name": "Mira"}}, 'entity: "Mira"'),
            ({"params": {"entryName": "The inn"}}, 'entity: "The inn"'),
            ({"params": {"comment": "item-Lamp"}}, 'entity: "item-Lamp"'),
            ({"params": {"entityId": "e7"}}, 'entity: "e7"'),
            ({"metadata": {"message_index": 5}}, "message 5"),
            ({"params": {"entryUid": 12}}, 'entity: "12"'),
            ({"params": {"resolvedUid": 0}}, 'entity: "0"'),
            ({"params": {"index": 42}}, "message 42"),
            ({"params": {"messageIndex": 0}}, "message 0"),
            ({"params": {"startIndex": 3, "endIndex": 9}}, "message 9"),
            ({"metadata": {"scene_index": 21}}, "message 21"),
            ({"params": {}, "metadata": {}}, ""),
            ({"params": None, "metadata": "x"}, ""),
        ],
    )
    def test_an_operation_says_what_it_works_on(self, members: Json, target: str) -> None:
        (found,) = read_queue(book(operation(kind="merge_lorebook_entry", **members)))

        assert found.target == target
        assert words(found.to_fact()) == (f"merge_lorebook_entry ({target})" if target else "merge_lorebook_entry")

    def test_an_operation_that_says_nothing_of_itself_is_told_as_such(self) -> None:
        (found,) = read_queue(book({}))

        assert (found.operation_id, found.type, found.status) == ("", "unknown", "pending")

    def test_an_operation_is_shown_as_the_contract_says(self) -> None:
        (found,) = read_queue(book(operation(3, params={"index": 4})))

        assert found.to_json() == {
            "id": operation(3)["id"],
            "type": "lorebook_entry_lookup",
            "status": "pending",
            "target": "message 4",
            "entity": None,
            "message": 4,
        }


class TestEmptying:
    @pytest.mark.req(163)
    def test_every_operation_goes_and_the_rest_stays(self) -> None:
        content = queue_content([operation(0), operation(1, "cancelled")], queueVersion=7, paused=True)

        assert json.loads(emptied(content)) == {
            "queue": [],
            "current_operation_id": None,
            "paused": True,
            "version": 1,
            "queueVersion": 7,
        }

    @pytest.mark.parametrize("content", ["", " ", "{}", queue_content()])
    def test_what_is_empty_stays_as_it_is_written(self, content: str) -> None:
        assert emptied(content) == content

    @pytest.mark.req(163)
    @pytest.mark.parametrize(
        "content", ["garbled op_9", '{"queue":{"op_9":1}}', '{"queue":[],"current_operation_id":"op_9"}']
    )
    def test_nothing_odd_is_taken_along(self, content: str) -> None:
        made = emptied(content)

        assert "op_9" not in made
        assert json.loads(made)["queue"] == []


class TestCancelling:
    def test_only_the_status_of_the_named_operations_changes(self) -> None:
        content = queue_content([operation(0), operation(1, "in_progress"), operation(2)])
        ids = frozenset({operation(1)["id"]})

        made = cancelled(content, ids)

        assert made == content.replace('"in_progress"', '"cancelled"')

    def test_a_cancelled_operation_is_no_longer_the_current_one(self) -> None:
        content = queue_content([operation(0, "in_progress")], current_operation_id=operation(0)["id"])

        made = json.loads(cancelled(content, frozenset({operation(0)["id"]})))

        assert made["current_operation_id"] is None
        assert made["queue"][0]["status"] == "cancelled"

    def test_an_operation_without_an_id_is_not_meant_by_none(self) -> None:
        content = queue_content([{key: value for key, value in operation(1).items() if key != "id"}])

        assert cancelled(content, frozenset({"None"})) == content
