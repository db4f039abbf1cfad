"""The channels that are one key of the metadata each."""

from typing import Any

import pytest

from forklore.channels import CHANNELS, cut_channels
from forklore.formats.record import own_identity
from forklore.model.timeline import mark_of
from forklore.testing.cuts import cut, metadata_after, parent, point
from forklore.testing.stories import Json, conversation, entry


def combined(count: Any = 3) -> Json:
    return {"auto_recap": {"combined_recap": {"content": "All of it.", "message_count": count, "timestamp": 9}}}


class TestCombinedRecap:
    @pytest.mark.req(68, 136, 159)
    def test_at_the_head_it_is_kept_and_recorded(self) -> None:
        origin = parent(combined(100), conversation(100))

        made = cut(origin, "combined_recap")

        assert made.edits == ()
        assert made.record == {
            "combined_recap_content": "All of it.",
            "combined_recap_message_count": 100,
            "combined_recap_timestamp": 9,
        }

    @pytest.mark.req(68, 135)
    def test_in_the_past_it_is_kept_while_it_covers_no_later_message(self) -> None:
        origin = parent(combined(3), conversation(9))

        made = cut(origin, "combined_recap", 2)

        assert (made.edits, made.left_out, made.findings) == ((), (), ())
        assert made.record["combined_recap_message_count"] == 3

    @pytest.mark.req(135)
    @pytest.mark.parametrize("count", [4, 100, None, "3"])
    def test_in_the_past_it_is_left_out_when_it_may_cover_one(self, count: Any) -> None:
        origin = parent(combined(count), conversation(9))

        made = cut(origin, "combined_recap", 2)

        assert "auto_recap" not in metadata_after(origin, made)
        assert made.left_out == ("auto_recap",)
        assert [finding.code for finding in made.findings] == ["COMBINED_RECAP_LEFT_OUT"]
        assert set(made.record.values()) == {None}

    def test_the_warning_says_how_far_it_reaches(self) -> None:
        (finding,) = cut(parent(combined(4), conversation(9)), "combined_recap", 2).findings

        assert finding.code == "COMBINED_RECAP_LEFT_OUT"
        assert finding.params == {"covered": 4, "messages": 3}

    def test_one_of_another_shape_is_left_out_in_the_past(self) -> None:
        origin = parent({"auto_recap": {"combined_recap": "later"}}, conversation(9))

        made = cut(origin, "combined_recap", 2)

        assert "auto_recap" not in metadata_after(origin, made)
        assert made.left_out == ("auto_recap",)

    @pytest.mark.req(68)
    def test_none_is_recorded_as_null(self) -> None:
        made = cut(parent({}, conversation(3)), "combined_recap")

        assert set(made.record.values()) == {None}


class TestCheckpointMap:
    KEY = "checkpoint_lorebook_map"

    @pytest.mark.parametrize("at", [None, 1])
    def test_the_map_stays_with_the_parent(self, at: int | None) -> None:
        origin = parent({"auto_recap": {self.KEY: {"A": "B"}, "enabled": True}}, conversation(3))

        after = metadata_after(origin, cut(origin, "checkpoint_map", at))

        assert after["auto_recap"] == {"enabled": True}

    def test_what_it_leaves_empty_goes_too(self) -> None:
        origin = parent({"auto_recap": {self.KEY: {"A": "B"}}}, conversation(3))

        assert "auto_recap" not in metadata_after(origin, cut(origin, "checkpoint_map"))

    @pytest.mark.parametrize("space", [{"enabled": True}, "later", ["later"]])
    def test_what_is_beside_it_is_carried_and_named(self, space: Any) -> None:
        origin = parent({"auto_recap": space}, conversation(3))

        assert cut(origin, "checkpoint_map", 1).carried == ("auto_recap",)
        assert cut(origin, "checkpoint_map").carried == ()

    @pytest.mark.parametrize("space", [{KEY: {"A": "B"}}, {}, None])
    def test_nothing_beside_it_is_nothing_to_name(self, space: Any) -> None:
        origin = parent({"auto_recap": space} if space is not None else {}, conversation(3))

        assert cut(origin, "checkpoint_map", 1).carried == ()


PENDING: Json = {"autoLorebooks": {"pendingOps": {"entry_1": {"stage": "lookup"}}}}


class TestPendingOperations:
    def test_at_the_head_they_are_kept(self) -> None:
        assert cut(parent(PENDING, conversation(3)), "pending_operations").edits == ()

    @pytest.mark.req(163)
    def test_in_the_past_they_are_left_out(self) -> None:
        origin = parent(PENDING, conversation(3))

        made = cut(origin, "pending_operations", 1)

        assert "autoLorebooks" not in metadata_after(origin, made)
        assert (made.left_out, made.carried) == (("autoLorebooks",), ())

    def test_what_is_beside_them_is_carried_and_named(self) -> None:
        origin = parent({"autoLorebooks": {"pendingOps": {"x": 1}, "other": 2}}, conversation(3))

        made = cut(origin, "pending_operations", 1)

        assert metadata_after(origin, made)["autoLorebooks"] == {"other": 2}
        assert (made.left_out, made.carried) == (("autoLorebooks",), ("autoLorebooks",))

    def test_none_are_nothing_to_leave_out(self) -> None:
        origin = parent({"autoLorebooks": {"pendingOps": {}}}, conversation(3))

        made = cut(origin, "pending_operations", 1)

        assert (made.edits, made.left_out, made.carried) == ((), (), ())

    def test_what_is_not_understood_is_carried_and_named(self) -> None:
        origin = parent({"autoLorebooks": "later"}, conversation(3))

        assert cut(origin, "pending_operations", 1).carried == ("autoLorebooks",)


class TestContextMarker:
    KEY = "lastInContextMessageId"

    @pytest.mark.parametrize("marker, at, kept", [(2, 2, True), (3, 2, False), (9, None, True), ("9", 2, False)])
    def test_a_later_message_is_not_marked(self, marker: Any, at: int | None, kept: bool) -> None:
        origin = parent({self.KEY: marker}, conversation(5))

        made = cut(origin, "context_marker", at)

        assert (self.KEY in metadata_after(origin, made)) is kept
        assert made.left_out == (() if kept else (self.KEY,))


class TestIdentity:
    @pytest.mark.req(78)
    @pytest.mark.parametrize("at", [None, 1])
    def test_a_fork_is_somebody_else_and_knows_its_parent(self, at: int | None) -> None:
        origin = parent({"integrity": "old", "main_chat": "Grandparent"}, conversation(3))

        made = cut(origin, "identity", at)

        after = metadata_after(origin, made)
        assert (after["integrity"], after["main_chat"]) == ("fresh", "Tale")
        assert made.value == {
            "format": 1,
            "timeline": "6f0d",
            "chat": "Fork",
            "kind": "checkpoint",
            "parent": "Tale",
            "parent_timeline": None,
            "parent_mark": mark_of(origin.metadata.get("integrity")),
            "message": 2 if at is None else at,
        }

    @pytest.mark.req(110)
    @pytest.mark.parametrize(
        "stored, own", [({"chat": "Fork"}, True), ({"chat": "Other"}, False), ("text", False), (None, False)]
    )
    def test_what_was_inherited_by_copying_is_not_its_own(self, stored: Any, own: bool) -> None:
        assert (own_identity({"forklore": stored}, "Fork") is not None) is own


class TestEverythingElse:
    @pytest.mark.req(77)
    def test_what_no_channel_knows_is_carried_and_in_the_past_named(self) -> None:
        metadata = {"variables": {"a": 1}, "note_prompt": "x", "鍵": 1, "integrity": "i", "world_info": "Lore"}
        origin = parent(metadata, conversation(3), [entry(0, "a")])

        in_the_past = cut_channels(origin, point(origin, 1))
        at_head = cut_channels(origin, point(origin))

        assert in_the_past["unknown"].carried == ("variables", "note_prompt", "鍵")
        assert "unknown" not in at_head

    @pytest.mark.req(2)
    def test_a_list_of_several_books_names_none_of_them_in_the_fork(self) -> None:
        origin = parent({"world_info": ["A", "B"], "a": 1}, conversation(3))

        assert metadata_after(origin, cut(origin, "lorebook")) == {"a": 1}
        assert cut(origin, "lorebook").left_out == ()
        assert cut(origin, "lorebook", 1).left_out == ("world_info",)
        assert cut(parent({}, conversation(3)), "lorebook", 1).left_out == ()

    def test_every_channel_has_a_name_of_its_own(self) -> None:
        names = [channel.name for channel in CHANNELS]

        assert len(set(names)) == len(names)

    def test_at_the_head_nothing_is_carried_or_left_out(self) -> None:
        metadata: Json = {
            **combined(),
            "variables": {},
            "lastInContextMessageId": 99,
            "autoLorebooks": {"pendingOps": {"x": 1}},
        }
        origin = parent(metadata, conversation(3), [entry(0, "a")])

        for made in cut_channels(origin, point(origin)).values():
            assert (made.carried, made.left_out, made.findings) == ((), (), ())
