from forklore.model.layout import Column, Layout, lay_out
from forklore.model.timeline import ChatFacts, grow_stories


def fork(name: str, parent: str | None, at: int | None, messages: int) -> ChatFacts:
    return ChatFacts("Mira", name, messages, parent, None, "branch" if parent else None, at, None, ())


def drawn(*chats: ChatFacts) -> Layout:
    (story,) = grow_stories(chats)
    return lay_out(story)


def rows(layout: Layout) -> list[tuple[str, int | None, int, int]]:
    return [(lane.timeline.chat[5:], lane.parent_row, lane.start, lane.end) for lane in layout.lanes]


def test_a_straight_run_is_one_step() -> None:
    layout = drawn(fork("Tale", None, None, 1200), fork("B", "Tale", 700, 703))

    assert layout.columns == (Column(0, 0), Column(700, 699), Column(702, 1), Column(1199, 496))
    assert rows(layout) == [("Tale", None, 0, 3), ("B", 0, 1, 2)]


def test_the_later_fork_stands_nearer() -> None:
    layout = drawn(fork("Tale", None, None, 10), fork("A early", "Tale", 2, 9), fork("B late", "Tale", 6, 9))

    assert [name for name, *_ in rows(layout)] == ["Tale", "B late", "A early"]


def test_a_fork_of_a_fork_stands_below_it() -> None:
    layout = drawn(
        fork("Tale", None, None, 10), fork("A", "Tale", 6, 9), fork("AA", "A", 8, 9), fork("B", "Tale", 2, 4)
    )

    assert rows(layout) == [("Tale", None, 0, 5), ("A", 0, 3, 4), ("AA", 1, 4, 4), ("B", 0, 1, 2)]


def test_a_fork_at_an_inherited_message_leaves_where_that_message_is_drawn() -> None:
    layout = drawn(fork("Tale", None, None, 10), fork("A", "Tale", 6, 9), fork("AA", "A", 3, 8))

    assert [(name, parent_row) for name, parent_row, *_ in rows(layout)] == [("Tale", None), ("A", 0), ("AA", 0)]
    assert layout.lanes[2].timeline.parent == "Mira/A"


def test_a_fork_of_a_parent_that_is_shorter_by_now_leaves_at_its_end() -> None:
    layout = drawn(fork("Tale", None, None, 4), fork("A", "Tale", 8, 12))

    assert [column.message for column in layout.columns] == [0, 3, 11]
    assert rows(layout) == [("Tale", None, 0, 1), ("A", 0, 1, 2)]
    assert layout.lanes[1].timeline.at == 8


def test_a_fork_of_which_nobody_knows_where_it_left_leaves_at_the_last_message_both_can_have() -> None:
    assert rows(drawn(fork("Tale", None, None, 9), fork("A", "Tale", None, 5))) == [
        ("Tale", None, 0, 2),
        ("A", 0, 1, 1),
    ]


def test_a_story_without_messages_is_drawn() -> None:
    layout = drawn(fork("Tale", None, None, 0))

    assert layout.columns == (Column(0, 0),)
    assert rows(layout) == [("Tale", None, 0, 0)]
