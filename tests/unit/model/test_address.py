import pytest

from forklore.model.address import ChatAddress


@pytest.mark.parametrize(
    "text, folder, name",
    [
        ("Mira/Tale", "Mira", "Tale"),
        ("group:17/Tale", "group:17", "Tale"),
        ("Mira/a/b", "Mira", "a/b"),
    ],
)
def test_an_address_is_a_folder_and_a_name(text: str, folder: str, name: str) -> None:
    address = ChatAddress.parse(text)

    assert address == ChatAddress(folder, name)
    assert str(address) == text


@pytest.mark.parametrize("text", ["Tale", "", "Mira/"])
def test_a_text_without_both_is_no_address(text: str) -> None:
    assert ChatAddress.parse(text) is None


@pytest.mark.req(87)
def test_a_group_chat_knows_its_group() -> None:
    address = ChatAddress.of_group("17", "Tale")

    assert str(address) == "group:17/Tale"
    assert address.is_group
    assert address.group_id == "17"
    assert address.sibling("Other") == ChatAddress("group:17", "Other")


def test_a_solo_chat_has_no_group() -> None:
    assert not ChatAddress("Mira", "Tale").is_group
    assert ChatAddress("Mira", "Tale").group_id == ""
