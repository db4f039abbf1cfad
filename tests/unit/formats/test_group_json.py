import pytest

from forklore.formats.group_json import Group, parse_group
from forklore.formats.json_text import NotJson
from forklore.testing.stories import group_bytes, pretty


def test_a_group_lists_its_chats_and_members() -> None:
    group = parse_group("17", group_bytes("17", ["A", "A - Branch #1"]))

    assert group == Group("17", "Group: Mira, Bob", ("A", "A - Branch #1"), ("Mira.png", "Bob.png"))


def test_values_of_another_type_count_as_absent() -> None:
    data = pretty({"name": 5, "chats": ["A", None, 3], "members": "text"})

    assert parse_group("17", data) == Group("17", "", ("A",), ())


@pytest.mark.parametrize("data", [b"", b"[]", b"{"])
def test_what_is_no_object_is_not_json(data: bytes) -> None:
    with pytest.raises(NotJson):
        parse_group("17", data)
