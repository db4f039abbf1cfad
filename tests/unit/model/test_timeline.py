import pytest

from forklore.model.timeline import ChatFacts, Link, Story, Timeline, grow_stories


def facts(
    name: str,
    *,
    main_chat: str | None = None,
    folder: str = "Mira",
    lorebook: str | None = None,
    kind: str | None = None,
    at: int | None = None,
    links: tuple[Link, ...] = (),
) -> ChatFacts:
    timeline = "id" if kind else None
    return ChatFacts(folder, name, 5, main_chat, lorebook, kind, at, timeline, links)


def grown(*chats: ChatFacts) -> dict[str, list[str]]:
    """Return the chats of each story, by its main chat."""
    return {story.main: [timeline.chat for timeline in story.timelines] for story in grow_stories(chats)}


def only(*chats: ChatFacts) -> dict[str, Timeline]:
    """Return the timelines of the only story, by their names."""
    (story,) = grow_stories(chats)
    return {timeline.chat.partition("/")[2]: timeline for timeline in story.timelines}


class TestTree:
    @pytest.mark.req(78, 93, 107)
    def test_a_story_is_grown_by_the_parent_each_chat_names(self) -> None:
        stories = grown(facts("A"), facts("C", main_chat="B"), facts("B", main_chat="A"), facts("D", main_chat="A"))

        assert stories == {"Mira/A": ["Mira/A", "Mira/B", "Mira/C", "Mira/D"]}

    def test_a_parent_is_sought_in_the_same_folder_alone(self) -> None:
        stories = grown(facts("A"), facts("B", main_chat="A", folder="Bob"), facts("A", folder="group:17"))

        assert stories == {"Bob/B": ["Bob/B"], "Mira/A": ["Mira/A"], "group:17/A": ["group:17/A"]}

    def test_a_missing_parent_makes_a_root(self) -> None:
        timelines = only(facts("B", main_chat="Gone"))

        assert timelines["B"].kind == "checkpoint"
        assert timelines["B"].parent is None
        assert timelines["B"].record == "legacy"

    def test_a_parent_named_as_it_was_typed_is_found_as_it_is_on_disk(self) -> None:
        assert only(facts("ab"), facts("B", main_chat="a/b"))["B"].parent == "Mira/ab"

    @pytest.mark.parametrize("size", [1, 2, 3, 6])
    def test_a_cycle_has_one_root_and_loses_no_chat(self, size: int) -> None:
        chats = [facts(str(number), main_chat=str((number + 1) % size)) for number in range(size)]
        tail = facts("tail", main_chat="0")

        stories = grown(*chats, tail)

        (found,) = stories.values()
        assert sorted(found) == sorted(["Mira/tail", *(f"Mira/{number}" for number in range(size))])

    def test_two_cycles_are_two_stories(self) -> None:
        chats = [
            facts("A", main_chat="B"),
            facts("B", main_chat="A"),
            facts("C", main_chat="D"),
            facts("D", main_chat="C"),
        ]

        assert [len(chats) for chats in grown(*chats).values()] == [2, 2]

    def test_a_long_line_of_forks_is_no_trouble(self) -> None:
        chats = [facts("0"), *(facts(str(n), main_chat=str(n - 1)) for n in range(1, 3000))]

        (story,) = grow_stories(chats)

        assert len(story.timelines) == 3000

    def test_each_timeline_stands_after_its_parent(self) -> None:
        chats = [facts(str(n), main_chat=str(n // 2) if n > 1 else None) for n in range(1, 40)]

        (story,) = grow_stories(reversed(chats))

        seen: set[str | None] = {None}
        for timeline in story.timelines:
            assert timeline.parent in seen
            seen.add(timeline.chat)


class TestOldChats:
    @pytest.mark.req(108)
    @pytest.mark.parametrize(
        "name, kind",
        [
            ("Checkpoint #1 - Tale", "checkpoint"),
            ("Branch #42 - 2025-11-02@21h05m23s", "branch"),
            ("Tale - Checkpoint #3", "checkpoint"),
            ("Tale - Branch #1", "branch"),
        ],
    )
    def test_a_fork_that_names_no_parent_is_known_by_its_name(self, name: str, kind: str) -> None:
        timeline = only(facts(name))[name]

        assert timeline.kind == kind
        assert timeline.record == "legacy"

    def test_its_parent_is_who_links_to_it(self) -> None:
        link = Link(42, "branch", "Branch #42 - 2025-11-02@21h05m23s")
        timelines = only(facts("Tale", links=(link,)), facts("Branch #42 - 2025-11-02@21h05m23s"))

        assert timelines["Branch #42 - 2025-11-02@21h05m23s"].parent == "Mira/Tale"

    def test_of_two_who_link_to_it_the_one_with_the_shorter_name_counts(self) -> None:
        links = (Link(3, "checkpoint", "Tale - Checkpoint #1"),)
        chats = [facts("Tale", links=links), facts("Tale - Branch #1", main_chat="Tale", links=links)]

        assert only(*chats, facts("Tale - Checkpoint #1"))["Tale - Checkpoint #1"].parent == "Mira/Tale"

    def test_else_its_parent_is_in_its_name(self) -> None:
        assert only(facts("Tale"), facts("Tale - Branch #2"))["Tale - Branch #2"].parent == "Mira/Tale"

    def test_the_message_is_in_the_link_or_in_the_old_name(self) -> None:
        link = Link(3, "checkpoint", "Anchor")
        timelines = only(
            facts("Tale", links=(link,)),
            facts("Anchor", main_chat="Tale"),
            facts("Branch #42 - 2025-11-02@21h05m23s", main_chat="Tale"),
            facts("Typed", main_chat="Tale"),
        )

        assert timelines["Anchor"].at == 3
        assert timelines["Branch #42 - 2025-11-02@21h05m23s"].at == 42
        assert timelines["Typed"].at is None

    def test_a_link_tells_the_kind_better_than_the_name(self) -> None:
        link = Link(3, "branch", "Tale - Checkpoint #1")

        timelines = only(facts("Tale", links=(link,)), facts("Tale - Checkpoint #1", main_chat="Tale"))

        assert timelines["Tale - Checkpoint #1"].kind == "branch"

    def test_a_typed_name_is_a_checkpoints(self) -> None:
        assert only(facts("Tale"), facts("Before the storm", main_chat="Tale"))["Before the storm"].kind == "checkpoint"


class TestTimelines:
    @pytest.mark.req(110)
    def test_a_record_tells_kind_and_message(self) -> None:
        timelines = only(facts("Tale"), facts("Fork", main_chat="Tale", kind="branch", at=9))

        assert timelines["Fork"] == Timeline("Mira/Fork", "branch", "Mira/Tale", 9, 5, None, True, "recorded")
        assert timelines["Tale"] == Timeline("Mira/Tale", "main", None, None, 5, None, True, "none")

    @pytest.mark.req(2)
    def test_two_chats_with_one_book_are_not_isolated(self) -> None:
        timelines = only(
            facts("Tale", lorebook="Shared"),
            facts("A", main_chat="Tale", lorebook="Shared"),
            facts("B", main_chat="Tale", lorebook="Own"),
        )

        assert {name: timeline.isolated for name, timeline in timelines.items()} == {
            "Tale": False,
            "A": False,
            "B": True,
        }

    def test_no_chats_are_no_stories(self) -> None:
        assert grow_stories([]) == ()

    def test_a_story_is_shown_as_the_contract_says(self) -> None:
        (story,) = grow_stories([facts("Tale", lorebook="Lore")])

        assert isinstance(story, Story)
        assert story.to_json() == {
            "main": "Mira/Tale",
            "timelines": [
                {
                    "chat": "Mira/Tale",
                    "kind": "main",
                    "parent": None,
                    "at": None,
                    "messages": 5,
                    "lorebook": "Lore",
                    "isolated": True,
                    "record": "none",
                }
            ],
        }
