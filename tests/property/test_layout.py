"""The drawing of any story: every timeline has a row, and no line crosses another."""

from hypothesis import example, given
from hypothesis import strategies as st

from forklore.model.layout import Layout, lay_out
from forklore.model.timeline import ChatFacts, Story, grow_stories


def fork(name: str, parent: str | None, at: int | None, messages: int) -> ChatFacts:
    return ChatFacts("Mira", name, messages, parent, None, "branch" if parent else None, at, None, ())


@st.composite
def grown(draw: st.DrawFn) -> Story:
    """Any story; forks leave where they like, also where their parent has no message, or nobody knows where."""
    chats = [fork("t0", None, None, draw(st.integers(0, 12)))]
    for number in range(1, draw(st.integers(1, 14))):
        parent = draw(st.sampled_from(chats)).name
        at = draw(st.none() | st.integers(-2, 14))
        chats.append(fork(f"t{number}", parent, at, draw(st.integers(0, 14))))
    (story,) = grow_stories(chats)
    return story


def drawn(*chats: ChatFacts) -> Layout:
    (story,) = grow_stories(chats)
    return lay_out(story)


STORIES = grown()


@given(STORIES)
def test_every_timeline_has_one_row_and_no_row_is_empty(story: Story) -> None:
    layout = lay_out(story)

    assert [lane.row for lane in layout.lanes] == list(range(len(story.timelines)))
    assert {lane.timeline for lane in layout.lanes} == set(story.timelines)
    assert layout.lanes[0].timeline.chat == layout.main == story.main


@given(STORIES)
def test_every_fork_leaves_a_row_above_it_where_that_row_is_drawn(story: Story) -> None:
    layout = lay_out(story)

    assert layout.lanes[0].parent_row is None
    for lane in layout.lanes[1:]:
        assert lane.parent_row is not None
        above = layout.lanes[lane.parent_row]
        assert above.row < lane.row
        assert above.start <= lane.start <= above.end


@given(STORIES)
def test_a_fork_starts_at_the_column_of_its_message_where_its_parents_reach_that_far(story: Story) -> None:
    layout = lay_out(story)

    for lane in layout.lanes[1:]:
        above, at = layout.lanes[lane.parent_row or 0], lane.timeline.at
        message = layout.columns[lane.start].message
        if at is not None and 0 <= at <= layout.columns[above.end].message:
            assert message == at
        elif at is not None and at > 0:
            assert lane.start == above.end
    for lane in layout.lanes:
        assert lane.end >= lane.start
        last = max(lane.timeline.messages - 1, 0)
        assert layout.columns[lane.end].message == max(last, layout.columns[lane.start].message)


@given(STORIES)
def test_the_row_a_fork_leaves_is_its_parents_or_that_of_whom_the_parent_has_the_message_from(story: Story) -> None:
    layout = lay_out(story)

    rows = {lane.timeline.chat: lane for lane in layout.lanes}
    for lane in layout.lanes[1:]:
        above = rows[lane.timeline.parent or ""]
        while above.row != lane.parent_row:
            assert lane.start < above.start, "the parent itself came only later"
            assert above.parent_row is not None
            above = layout.lanes[above.parent_row]


@given(STORIES)
def test_no_connector_crosses_another_lane(story: Story) -> None:
    layout = lay_out(story)

    for lane in layout.lanes[1:]:
        assert lane.parent_row is not None
        for between in layout.lanes[lane.parent_row + 1 : lane.row]:
            assert between.start >= lane.start, "a line down goes before it, or through the line it hangs on itself"


@given(STORIES)
def test_columns_are_sorted_and_stand_for_every_message_once(story: Story) -> None:
    layout = lay_out(story)

    messages = [column.message for column in layout.columns]
    assert messages == sorted(set(messages))
    assert messages[0] == layout.columns[0].collapsed == 0
    assert all(column.collapsed >= 0 for column in layout.columns)
    assert sum(1 + column.collapsed for column in layout.columns) == messages[-1] + 1
    used = {lane.start for lane in layout.lanes} | {lane.end for lane in layout.lanes}
    assert used == set(range(len(layout.columns))), "where nothing happens there is no column"


@given(STORIES)
@example(grow_stories([fork("t0", None, None, 3), fork("t1", "t0", 2, 4), fork("t2", "t0", 2, 5)])[0])
def test_of_the_forks_of_one_row_the_later_stand_nearer(story: Story) -> None:
    layout = lay_out(story)

    for row in range(len(layout.lanes)):
        starts = [lane.start for lane in layout.lanes if lane.parent_row == row]
        assert starts == sorted(starts, reverse=True)


def test_a_thousand_forks_of_forks_are_drawn() -> None:
    chats = [fork("t0", None, None, 1), *(fork(f"t{n}", f"t{n - 1}", n, n + 2) for n in range(1, 1000))]

    assert [lane.parent_row for lane in drawn(*chats).lanes] == [None, *range(999)]
