"""What is found across timelines: every finding told in full, and what is none."""

from typing import Any

import pytest

from forklore.checks import doctor
from forklore.formats.group_json import Group
from forklore.gathered.workspace import BookFile
from forklore.model.fact import fact
from forklore.model.finding import Finding, Located, Severity
from forklore.model.timeline import ChatFacts
from forklore.testing.indexes import workspace_index

ERROR, WARNING = Severity.ERROR, Severity.WARNING
REASON = fact("header_missing")
GROUPS = {"1": "groups/1.json", "2": "groups/2.json"}


def chat(address: str, *, parent: str | None = None, **members: Any) -> ChatFacts:
    folder, _, name = address.partition("/")
    return ChatFacts(folder, name, 4, parent, None, None, None, None, ())._replace(**members)


class TestDuplicates:
    @staticmethod
    def found(*chats: ChatFacts) -> list[Located]:
        return list(doctor.duplicates(workspace_index(chats)))

    @staticmethod
    def told(copy: str, original: str) -> Located:
        return Located(Finding("INTEGRITY_DUPLICATE", WARNING, {"original": original}), chat=copy)

    @pytest.mark.parametrize(
        "original, copy",
        [
            (chat("Mira/Tale"), chat("Mira/A imported")),
            (chat("Mira/Tale"), chat("group:1/A")),
            (chat("Mira/Tale", kind="main"), chat("Mira/A")),
            (chat("Mira/Z - 2026-11-15@18h36m02s446ms"), chat("Mira/A - 2026-11-15@18h36m03s000ms")),
            (chat("Mira/Tale", written_ns=1), chat("Mira/A", written_ns=2)),
            (chat("Mira/A"), chat("Mira/B")),
        ],
    )
    @pytest.mark.parametrize("turned", [False, True])
    def test_the_copy_names_its_original(self, original: ChatFacts, copy: ChatFacts, turned: bool) -> None:
        pair = [each._replace(integrity="same") for each in (original, copy)]

        found = self.found(*(reversed(pair) if turned else pair))

        assert found == [self.told(copy.address, original.address)]

    def test_of_several_copies_each_names_the_one_original(self) -> None:
        chats = [chat(f"Mira/{name}", integrity="same") for name in ("C", "A", "B")]

        assert self.found(*chats) == [self.told("Mira/B", "Mira/A"), self.told("Mira/C", "Mira/A")]

    def test_each_identity_is_looked_at_by_itself(self) -> None:
        chats = [chat(f"Mira/{name}", integrity=name[0]) for name in ("x1", "y1", "x2", "y2", "z1")]

        assert self.found(*chats) == [self.told("Mira/x2", "Mira/x1"), self.told("Mira/y2", "Mira/y1")]

    @pytest.mark.parametrize(
        "other",
        [
            chat("Mira/Other", integrity="another"),
            chat("Mira/Other", integrity="same", damaged=True),
            chat("Mira/Other", integrity="same", parent="Tale"),
        ],
        ids=["another identity", "damaged", "a fork that inherited it"],
    )
    def test_is_none(self, other: ChatFacts) -> None:
        assert self.found(chat("Mira/Tale", integrity="same"), other) == []

    def test_chats_without_an_identity_are_no_copies(self) -> None:
        assert (
            self.found(chat("Mira/A"), chat("Mira/B"), chat("Mira/C", integrity=""), chat("Mira/D", integrity="")) == []
        )

    def test_a_copy_beside_a_fork_that_inherited_the_identity_is_found(self) -> None:
        chats = [chat("Mira/Tale"), chat("Mira/Fork", parent="Tale"), chat("Mira/Tale imported")]

        assert self.found(*(each._replace(integrity="same") for each in chats)) == [
            self.told("Mira/Tale imported", "Mira/Tale")
        ]


@pytest.mark.req(139)
def test_every_unused_clone_is_told_by_its_path() -> None:
    books = [BookFile(name, f"worlds/{name}.json", 2, 0.0) for name in ("Lore__CP_B", "Lore__CP_A")]

    assert list(doctor.unused_clones(books)) == [
        Located(Finding("CLONE_UNUSED", WARNING, {"lorebook": "Lore__CP_B"}), path="worlds/Lore__CP_B.json"),
        Located(Finding("CLONE_UNUSED", WARNING, {"lorebook": "Lore__CP_A"}), path="worlds/Lore__CP_A.json"),
    ]
    assert list(doctor.unused_clones([])) == []


class TestGroups:
    @staticmethod
    def found(*chats: ChatFacts, **lists: list[str]) -> list[Located]:
        """Return what is wrong when the groups *lists* (g1, g2) list these chats."""
        listed = [Group(name[1:], name, tuple(names), ()) for name, names in lists.items()]
        return list(doctor.groups(listed, workspace_index(chats), GROUPS))

    @staticmethod
    def unlisted(name: str, group: str | None) -> Located:
        repairs = ("list-chat",) if group else ()
        finding = Finding("GROUP_CHAT_UNLISTED", WARNING, {"group": group}, repairs)
        return Located(finding, chat=f"group:/{name}", group=group)

    @staticmethod
    def missing(group: str, names: list[str], more: int = 0) -> Located:
        return Located(
            Finding("GROUP_CHAT_MISSING", WARNING, {"chats": names, "more": more}), path=f"groups/{group}.json"
        )

    def test_that_list_what_is_there_are_in_order(self) -> None:
        assert self.found(chat("group:1/A"), chat("group:2/B"), chat("Mira/C"), g1=["A"], g2=["B"]) == []

    def test_that_list_a_chat_that_is_not_there_are_told_one_by_one(self) -> None:
        found = self.found(chat("group:1/A"), chat("Mira/Solo"), g1=["Z", "A", "Solo"], g2=["Y"])

        assert found == [self.missing("1", ["Z", "Solo"]), self.missing("2", ["Y"])]

    def test_that_list_many_chats_that_are_not_there_name_ten(self) -> None:
        names = [f"Gone {number}" for number in range(12)]

        assert self.found(g1=names) == [self.missing("1", names[:10], 2)]

    def test_a_chat_that_no_group_lists_and_whose_parents_nobody_lists_has_no_home(self) -> None:
        chats = [chat("group:/Lost"), chat("group:/Fork", parent="Lost"), chat("group:/Orphan", parent="Nobody")]

        assert self.found(*chats, g1=[]) == [self.unlisted(name, None) for name in ("Fork", "Lost", "Orphan")]

    @pytest.mark.parametrize("home", ["1", "2"])
    def test_a_chat_that_no_group_lists_belongs_to_the_group_of_its_nearest_listed_parent(self, home: str) -> None:
        chats = [
            chat(f"group:{home}/Tale"),
            chat("group:/Child", parent="Tale"),
            chat("group:/Grandchild", parent="Child"),
        ]
        lists = {"g1": [], "g2": [], f"g{home}": ["Tale"]}

        assert self.found(*chats, **lists) == [self.unlisted("Child", home), self.unlisted("Grandchild", home)]

    def test_the_nearest_parent_decides_whatever_group_lists_those_above(self) -> None:
        chats = [
            chat("group:1/Tale"),
            chat("group:2/Fork", parent="Tale"),
            chat("group:/Child", parent="Fork"),
        ]

        assert self.found(*chats, g1=["Tale"], g2=["Fork"]) == [self.unlisted("Child", "2")]

    def test_chats_that_name_each_other_as_parents_have_no_home(self) -> None:
        chats = [chat("group:/A", parent="B"), chat("group:/B", parent="A"), chat("group:/C", parent="C")]

        assert self.found(*chats, g1=[]) == [self.unlisted(name, None) for name in "ABC"]

    def test_a_solo_chat_is_of_no_group_and_no_parent_of_one(self) -> None:
        chats = [chat("Mira/Tale", parent="Listed"), chat("group:1/Listed"), chat("group:/Fork", parent="Tale")]

        assert self.found(*chats, g1=["Listed"]) == [self.unlisted("Fork", None)]


def test_a_lorebook_or_a_place_that_cannot_be_read_is_an_error() -> None:
    assert doctor.unreadable_book("Lore", "worlds/Lore.json", REASON) == Located(
        Finding("LOREBOOK_UNREADABLE", ERROR, {"lorebook": "Lore", "reason": REASON}), path="worlds/Lore.json"
    )
    assert doctor.unreadable_place("chats/Mira", REASON) == Located(
        Finding("CHAT_UNREADABLE", ERROR, {"reason": REASON}), path="chats/Mira"
    )


def test_a_finding_is_where_its_chat_or_its_path_is() -> None:
    at_path = doctor.unreadable_place("chats/Mira", REASON)

    assert (at_path.where, at_path._replace(chat="Mira/Tale").where) == ("chats/Mira", "Mira/Tale")
    assert at_path.to_json()["path"] == "chats/Mira"
    assert at_path._replace(chat="Mira/Tale").to_json()["chat"] == "Mira/Tale"
