import pytest

from forklore.checks.health import ISOLATED, LEAKS, UNVERIFIED, Health, health_of, worst
from forklore.model.timeline import ChatFacts
from forklore.testing.indexes import workspace_index


def chat(name: str, book: str | None = None, *, parent: str | None = "Tale", **members: object) -> ChatFacts:
    made = ChatFacts("Mira", name, 5, parent, book, "branch" if parent else None, 2, None, ())
    return made._replace(**members)  # type: ignore[arg-type]  # the fields of each case


def healths(*chats: ChatFacts, books: str = "", shared: str = "") -> dict[str, Health]:
    index = workspace_index([chat("Tale", "Lore", parent=None), *chats], books=["Lore", *books.split()], shared=shared)
    (story,) = index.stories
    return {each.chat.removeprefix("Mira/"): health_of(each, index) for each in story.timelines}


@pytest.mark.req(2, 131)
def test_a_fork_with_a_book_of_its_own_is_isolated() -> None:
    assert healths(chat("B", "Own"), books="Own") == {"Tale": (ISOLATED, None), "B": (ISOLATED, None)}


@pytest.mark.req(2)
def test_timelines_that_share_a_book_leak() -> None:
    assert set(healths(chat("B", "Lore")).values()) == {(LEAKS, "SHARED_LOREBOOK")}


def test_a_book_that_is_shared_on_purpose_leaks_not() -> None:
    assert set(healths(chat("B", "Lore", kind=None), shared="Lore").values()) == {(ISOLATED, None)}


def test_chats_without_a_book_share_none() -> None:
    assert healths(chat("A"), chat("B"))["B"] == (ISOLATED, None)


@pytest.mark.req(122)
def test_a_missing_book_is_told() -> None:
    assert healths(chat("B", "Gone"))["B"] == (UNVERIFIED, "LOREBOOK_MISSING")
    assert healths(chat("B", "Gone"), shared="Gone")["B"] == (UNVERIFIED, "LOREBOOK_MISSING")


@pytest.mark.req(110, 111)
def test_a_fork_made_without_forklore_is_unverified_though_its_book_is_its_own() -> None:
    assert healths(chat("B", "Own", kind=None), books="Own")["B"] == (UNVERIFIED, "LEGACY_FORK")
    assert healths(chat("B", kind=None, running_version=0))["B"] == (UNVERIFIED, "LEGACY_FORK")


def test_a_fork_that_has_nothing_to_share_is_isolated_whoever_made_it() -> None:
    assert healths(chat("B", kind=None))["B"] == (ISOLATED, None)


@pytest.mark.req(2)
def test_a_lorebook_from_the_present_is_unverified() -> None:
    assert healths(chat("B", "Own", is_from_present=True), books="Own")["B"] == (UNVERIFIED, "LOREBOOK_FROM_PRESENT")


def test_a_damaged_chat_is_unverified() -> None:
    assert healths(chat("B", damaged=True))["B"] == (UNVERIFIED, "CHAT_DAMAGED")


def test_the_worst_of_several_counts() -> None:
    well, doubt, bad = Health(ISOLATED), Health(UNVERIFIED, "LEGACY_FORK"), Health(LEAKS, "SHARED_LOREBOOK")

    assert worst([well, doubt, bad, doubt]) == bad
    assert worst([well, doubt, Health(UNVERIFIED, "CHAT_DAMAGED")]) == doubt
    assert worst([]) == well


def test_others_are_told_by_their_address_in_whichever_spelling_they_name_the_book() -> None:
    chats = [chat("Tale", "Lore", parent=None), chat("B", "lore"), chat("C", "Lore"), chat("D")]
    index = workspace_index(chats, books=["Lore"], folds_names=True)

    assert index.other_users("LORE", "Mira/B") == ("Mira/Tale", "Mira/C")
    assert index.other_users(None, "Mira/D") == ()
    assert index.sharers("Mira/C") == ("Mira/Tale", "Mira/B")
