"""Opening a timeline and repairing it: every finding is found, every repair removes it, adds none and can be undone."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app import repair as app_repairing
from forklore.app.forklore import Forklore
from forklore.app.verify import Verified
from forklore.disk.files import ContextChanged
from forklore.errors import BadRequest, DiskFailed
from forklore.model.finding import Severity
from forklore.model.plan import HEADER, EditFile, LineEdit, Put
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import Json, read_workspace, write_workspace

MAIN, FORK = "Mira/Tale", "Mira/Fork"
ENTRIES = [
    stories.entry(3, "character-Mira", "a cook", key=["Mira"]),
    stories.registry(0, "character", [stories.registry_line(3, "character-Mira")]),
    stories.queue(),
]


def workspace(root: Path) -> Forklore:
    """Return a workspace with a story of six messages, and a checkpoint at its head."""
    versions = [stories.recap_version(1, 1, "one"), stories.recap_version(2, 3, "two")]
    metadata: Json = {
        "world_info": "Lore",
        "integrity": "main-slug",
        **stories.running_recap("Tale", versions, 2),
        "auto_recap": {"combined_recap": {"content": "all", "message_count": 4, "timestamp": 1}},
    }
    messages = stories.conversation(5)
    messages.append(
        stories.message("break", extra=stories.scene("Night", entries=stories.snapshot(ENTRIES, "Lore"), taken=9))
    )
    files = stories.solo_files("Tale", metadata, messages, books={"Lore": stories.lorebook(ENTRIES)})
    opened = forklore.open(write_workspace(root, files), disk=HastyDisk())
    opened.checkpoint(MAIN, name="Fork")
    return opened


def chat_file(root: Path, name: str) -> Path:
    return root / f"chats/Mira/{name}.jsonl"


def book_file(root: Path, name: str) -> Path:
    return root / f"worlds/{name}.json"


def change_header(path: Path, change: Callable[[Json], None]) -> None:
    """Let another program save the chat with other metadata."""
    first, _, rest = path.read_bytes().partition(b"\n")
    header = json.loads(first)
    change(header["chat_metadata"])
    path.write_bytes(json.dumps(header, ensure_ascii=False).encode() + b"\n" + rest)


def change_book(path: Path, change: Callable[[Json], None]) -> None:
    book = json.loads(path.read_bytes())
    change(book)
    path.write_bytes(json.dumps(book, ensure_ascii=False, indent=4).encode())


def codes(verified: Verified) -> set[str]:
    return {finding.code for finding in verified.findings}


def header(root: Path, name: str = "Fork") -> Json:
    metadata: Json = json.loads(chat_file(root, name).read_bytes().partition(b"\n")[0])["chat_metadata"]
    return metadata


AS_RECORDED = {"state": "as_recorded", "changed": []}
EDITED = {"state": "edited", "changed": []}
UNKNOWN = {"state": "unknown", "changed": []}


class TestVerifying:
    @pytest.mark.req(110, 112, 113, 114, 119)
    def test_a_fresh_fork_and_its_parent_are_in_order(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)

        fork, main = opened.verify(FORK), opened.verify(MAIN)

        assert (fork.kind, fork.ok, fork.findings) == ("checkpoint", True, ())
        assert fork.facts == {"messages": AS_RECORDED, "lorebooks": {"Lore__CP_Fork": AS_RECORDED}}
        assert (main.kind, main.ok, main.findings) == ("main", True, ())
        assert main.facts == {"messages": UNKNOWN, "lorebooks": {"Lore": UNKNOWN}}

    @pytest.mark.req(133)
    def test_going_on_is_no_finding(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        with chat_file(tmp_path, "Fork").open("ab") as chat:
            chat.write(b"\n" + stories.line(stories.message("on we go")))
        change_header(
            chat_file(tmp_path, "Fork"),
            lambda m: m["auto_recap_running_scene_recaps"].update(
                versions=[*m["auto_recap_running_scene_recaps"]["versions"], stories.recap_version(3, 6)],
                current_version=3,
            ),
        )
        change_book(book_file(tmp_path, "Lore__CP_Fork"), lambda b: b["entries"].update({"7": stories.entry(7, "new")}))

        verified = opened.verify(FORK)

        assert verified.findings == ()
        assert verified.facts == {"messages": AS_RECORDED, "lorebooks": {"Lore__CP_Fork": EDITED}}

    def test_edited_messages_are_a_fact_and_no_error(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        path = chat_file(tmp_path, "Fork")
        path.write_bytes(path.read_bytes().replace(b'"mes":"', b'"mes":"Well, ', 1))

        verified = opened.verify(FORK)

        assert verified.ok
        assert verified.facts["messages"] == EDITED

    def test_deleted_messages_are_edited_ones(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        path = chat_file(tmp_path, "Fork")
        path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:4]))

        assert opened.verify(FORK).facts["messages"] == EDITED

    def test_whether_more_than_a_link_has_changed_is_unknown(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        opened.checkpoint(FORK, name="Child")

        assert opened.verify(FORK).facts["messages"] == UNKNOWN

    def test_of_another_lorebook_nothing_was_recorded(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        book_file(tmp_path, "Other").write_bytes(book_file(tmp_path, "Lore__CP_Fork").read_bytes())
        change_header(chat_file(tmp_path, "Fork"), lambda m: m.update(world_info="Other"))

        assert opened.verify(FORK).facts["lorebooks"] == {"Other": UNKNOWN}

    def test_hidden_history_is_a_note_and_no_finding(self, tmp_path: Path) -> None:
        messages = [stories.message(f"Turn {number}.", is_system=True) for number in range(4)]
        opened = forklore.open(write_workspace(tmp_path, stories.solo_files("Tale", {}, messages, books={})))

        report, made = opened.check(MAIN), opened.checkpoint(MAIN, name="Fork")
        verified = opened.verify(FORK)

        found = [[(each.code, each.severity) for each in notes] for notes in (report.notes, made.notes, verified.notes)]
        assert found == [[("HISTORY_HIDDEN", Severity.NOTE)]] * 3
        assert (report.warnings, made.warnings, verified.findings, verified.ok) == ((), (), (), True)
        assert [each.params.get("case") for each in (*report.notes, *made.notes)] == ["fork", "made"]
        assert "--show-last-scene" in report.notes[0].action
        assert "--show-last-scene" not in made.notes[0].action

    @pytest.mark.parametrize("line", [b'{"mes": "half', b"[1]", b'{"a":1} {"b":2}', b'{"mes":"x\ty"}'])
    def test_every_line_is_read(self, line: bytes, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        path = chat_file(tmp_path, "Fork")
        lines = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join([*lines[:3], line, *lines[3:]]))

        verified = opened.verify(FORK)

        assert not verified.ok
        reason = {"code": "lines_unreadable", "params": {"lines": [4], "more": 0}}
        assert [f.params for f in verified.findings if f.code == "CHAT_DAMAGED"] == [{"reason": reason}]

    @pytest.mark.req(107, 108, 111)
    def test_a_fork_made_by_sillytavern_is_a_legacy_fork(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        metadata = {**header(tmp_path, "Tale"), "main_chat": "Tale", "integrity": "another"}
        chat_file(tmp_path, "Native").write_bytes(stories.chat_bytes(metadata, stories.conversation(3)))

        assert codes(opened.verify("Mira/Native")) == {"LEGACY_FORK", "SHARED_LOREBOOK", "RUNNING_RECAP_FOREIGN"}
        assert codes(opened.verify(MAIN)) == {"SHARED_LOREBOOK"}

    def test_a_copy_of_a_fork_inherits_a_record_that_is_not_its_own(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        metadata = {**header(tmp_path), "main_chat": "Fork", "integrity": "another"}
        chat_file(tmp_path, "Native").write_bytes(stories.chat_bytes(metadata, stories.conversation(3)))

        found = codes(opened.verify("Mira/Native"))

        assert found == {"INHERITED_STATE", "SHARED_LOREBOOK", "RUNNING_RECAP_FOREIGN"}


def version_missing(m: Json) -> None:
    m["auto_recap_running_scene_recaps"]["versions"].pop()


def base_missing(m: Json) -> None:
    recap = m["auto_recap_running_scene_recaps"]
    recap["versions"], recap["current_version"] = [stories.recap_version(5, 4)], 5


DAMAGES: dict[str, tuple[str, Callable[[Json], None]]] = {
    "another book": ("LOREBOOK_MISMATCH", lambda m: m.update(world_info="Other")),
    "version missing": ("RUNNING_RECAP_VERSION_MISSING", version_missing),
    "base missing": ("RUNNING_RECAP_VERSION_MISSING", base_missing),
    "no recap": ("RUNNING_RECAP_VERSION_MISSING", lambda m: m.pop("auto_recap_running_scene_recaps")),
    "set back": (
        "RUNNING_RECAP_VERSION_MISMATCH",
        lambda m: m["auto_recap_running_scene_recaps"].update(current_version=1),
    ),
    "foreign": ("RUNNING_RECAP_FOREIGN", lambda m: m["auto_recap_running_scene_recaps"].update(chat_id="Else")),
    "stale map": ("MAP_STALE", lambda m: m["auto_recap"].update(checkpoint_lorebook_map={"Gone": "Lore__CP_Gone"})),
    "no parent": ("PARENT_MISSING", lambda m: m.update(main_chat="Nobody")),
}


@pytest.mark.req(112, 113, 114, 115, 116, 118, 124, 125)
@pytest.mark.parametrize("damage", DAMAGES)
def test_each_repair_removes_its_finding_adds_none_and_can_be_undone(damage: str, tmp_path: Path) -> None:
    opened = workspace(tmp_path)
    book_file(tmp_path, "Other").write_bytes(stories.lorebook_bytes(ENTRIES))
    code, change = DAMAGES[damage]
    change_header(chat_file(tmp_path, "Fork"), change)
    before = read_workspace(tmp_path)
    found = codes(opened.verify(FORK))
    assert found == {code}

    offered = opened.repair(FORK, code)
    assert read_workspace(tmp_path) == before  # showing changes nothing
    assert offered.offered
    for offer in offered.offered:
        made = opened.repair(FORK, code, repair=offer.name)
        assert codes(opened.verify(FORK)) == set(), offer.name
        assert opened.verify(MAIN).findings == ()
        opened.undo(made.operation)
        assert read_workspace(tmp_path) == before, offer.name


class TestAMissingBook:
    @pytest.mark.req(122, 123, 124)
    @pytest.mark.parametrize("repair", ["from-snapshot", "from-parent", "empty", "detach"])
    def test_each_repair_works(self, repair: str, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        clone = book_file(tmp_path, "Lore__CP_Fork")
        bytes_of_clone = clone.read_bytes()
        clone.unlink()
        before = read_workspace(tmp_path)
        assert codes(opened.verify(FORK)) == {"LOREBOOK_MISSING"}

        made = opened.repair(FORK, "LOREBOOK_MISSING", repair=repair)

        assert opened.verify(FORK).findings == ()
        match repair:
            case "from-parent":
                assert clone.read_bytes() == bytes_of_clone
            case "from-snapshot":
                comments = {each["comment"] for each in json.loads(clone.read_bytes())["entries"].values()}
                assert comments == {"character-Mira", "_registry_character"}
            case "empty":
                assert opened.queue(FORK).operations == ()
                assert opened.check(FORK).state.queue_empty
            case "detach":
                assert "world_info" not in header(tmp_path)
        opened.undo(made.operation)
        assert read_workspace(tmp_path) == before

    @pytest.mark.req(125)
    def test_a_repair_that_is_not_offered_changes_nothing(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        book_file(tmp_path, "Lore__CP_Fork").unlink()
        before = read_workspace(tmp_path)

        with pytest.raises(BadRequest) as refused:
            opened.repair(FORK, "LOREBOOK_MISSING", repair="from-trash")
        assert refused.value.params == {
            "case": "no_repair",
            "repair": "from-trash",
            "finding": "LOREBOOK_MISSING",
            "repairs": ["from-snapshot", "from-parent", "empty", "detach"],
        }
        with pytest.raises(BadRequest) as refused:
            opened.repair(FORK, "QUEUE_STALE")
        params = {"chat": FORK, "finding": "QUEUE_STALE", "codes": ["LOREBOOK_MISSING"]}
        assert refused.value.params == {"case": "no_finding", **params}

        assert read_workspace(tmp_path) == before

    def test_a_book_renamed_in_sillytavern_is_found_by_its_content(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        book_file(tmp_path, "Lore__CP_Fork").rename(book_file(tmp_path, "My lore"))

        offered = opened.repair(FORK, "LOREBOOK_MISSING")
        opened.repair(FORK, "LOREBOOK_MISSING", repair="follow-rename")

        assert offered.offered[0].name == "follow-rename"
        assert header(tmp_path)["world_info"] == "My lore"
        assert opened.verify(FORK).findings == ()

    def test_a_book_that_was_there_before_the_fork_is_not_its_book_under_a_new_name(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        book_file(tmp_path, "Lore__CP_Fork").rename(book_file(tmp_path, "Template"))
        os.utime(book_file(tmp_path, "Template"), (1_500_000_000, 1_500_000_000))

        assert "follow-rename" not in opened.verify(FORK).findings[0].repairs
        assert "old name back" in opened.verify(FORK).findings[0].details

    def test_a_book_that_the_chat_no_longer_names_is_found_though_it_has_gone_on(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        change_book(book_file(tmp_path, "Lore__CP_Fork"), lambda book: book.update(more="than was recorded"))
        change_header(chat_file(tmp_path, "Fork"), lambda metadata: metadata.update(world_info="Not there"))

        opened.repair(FORK, "LOREBOOK_MISSING", repair="follow-rename")

        assert header(tmp_path)["world_info"] == "Lore__CP_Fork"
        assert opened.verify(FORK).findings == ()

    def test_of_two_books_with_its_content_nobody_can_tell_which_it_is(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        content = book_file(tmp_path, "Lore__CP_Fork").read_bytes()
        book_file(tmp_path, "Lore__CP_Fork").unlink()
        for name in ("One", "Other"):
            book_file(tmp_path, name).write_bytes(content)

        assert "follow-rename" not in opened.verify(FORK).findings[0].repairs

    def test_the_clone_of_another_fork_is_not_its_book_under_a_new_name(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        opened.checkpoint(MAIN, name="Second")
        book_file(tmp_path, "Lore__CP_Fork").unlink()
        chat_file(tmp_path, "Second").unlink()  # nobody names its clone any more

        assert "follow-rename" not in opened.verify(FORK).findings[0].repairs

    def test_a_book_that_is_in_the_trash_was_not_renamed(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        chat, book = chat_file(tmp_path, "Fork").read_bytes(), book_file(tmp_path, "Lore__CP_Fork").read_bytes()
        opened.delete(FORK)
        chat_file(tmp_path, "Fork").write_bytes(chat)  # as from a backup, which has no lorebooks
        book_file(tmp_path, "A copy").write_bytes(book)

        assert opened.verify(FORK).findings[0].repairs[0] == "from-trash"
        assert "follow-rename" not in opened.verify(FORK).findings[0].repairs
        assert opened.repair(FORK, "LOREBOOK_MISSING", book="A copy").offered[0].name == "follow-rename"

    def test_who_knows_the_new_name_of_a_book_that_has_gone_on_can_tell_it(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        change_book(book_file(tmp_path, "Lore__CP_Fork"), lambda book: book.update(more="than was recorded"))
        book_file(tmp_path, "Lore__CP_Fork").rename(book_file(tmp_path, "My lore"))
        before = read_workspace(tmp_path)
        assert "follow-rename" not in opened.verify(FORK).findings[0].repairs
        assert "old name back" in opened.verify(FORK).findings[0].details
        for wrong in ("Lore", "Nobody's"):  # the parent uses one, the other is not there
            with pytest.raises(BadRequest) as refused:
                opened.repair(FORK, "LOREBOOK_MISSING", repair="follow-rename", book=wrong)
            assert (refused.value.params["case"], refused.value.params["repair"]) == ("no_repair", "follow-rename")
        assert read_workspace(tmp_path) == before

        assert opened.repair(FORK, "LOREBOOK_MISSING", book="My lore").offered[0].name == "follow-rename"
        opened.repair(FORK, "LOREBOOK_MISSING", repair="follow-rename", book="My lore")

        assert header(tmp_path)["world_info"] == "My lore"
        assert opened.verify(FORK).findings == ()
        assert header(tmp_path, "Tale")["auto_recap"]["checkpoint_lorebook_map"]["Fork"] == "My lore"
        opened.undo()
        assert read_workspace(tmp_path) == before


class TestInsideTheBook:
    def damaged(self, root: Path, change: Callable[[Any], None]) -> Forklore:
        opened = workspace(root)
        change_book(book_file(root, "Lore__CP_Fork"), lambda book: change(book["entries"]))
        return opened

    def test_stale_operations_are_cancelled(self, tmp_path: Path) -> None:
        waiting = [stories.operation(1, params={"index": 3}), stories.operation(2, params={"index": 99})]
        opened = self.damaged(
            tmp_path,
            lambda e: next(x for x in e.values() if x["comment"] == "__operation_queue").update(
                content=stories.queue_content(waiting)
            ),
        )
        before = read_workspace(tmp_path)
        assert codes(opened.verify(FORK)) == {"QUEUE_STALE"}

        made = opened.repair(FORK, "QUEUE_STALE", repair="cancel-operations")

        assert opened.verify(FORK).findings == ()
        assert [each.status for each in opened.queue(FORK).operations] == ["pending", "cancelled"]
        opened.undo(made.operation)
        assert read_workspace(tmp_path) == before

    @pytest.mark.parametrize("on_purpose", [False, True])
    @pytest.mark.parametrize("parent", ["Tale", None])
    def test_operations_in_a_shared_book_may_be_of_the_other_chat(
        self, tmp_path: Path, parent: str | None, *, on_purpose: bool
    ) -> None:
        waiting = stories.queue([stories.operation(1, params={"index": 4})])
        books = {"Lore": stories.lorebook([waiting])}
        files = stories.solo_files("Tale", {"world_info": "Lore"}, stories.conversation(5), books=books)
        write_workspace(tmp_path, files)
        metadata = {"world_info": "Lore", **({"main_chat": parent} if parent else {})}
        other = stories.solo_files("Other", metadata, stories.conversation(3), books={})
        write_workspace(tmp_path, other)
        opened = forklore.open(tmp_path)
        if on_purpose:
            opened.isolate("Mira/Other", share=True)

        (stale,) = [each for each in opened.verify("Mira/Other").findings if each.code == "QUEUE_STALE"]

        assert stale.repairs == ()
        assert "the other chat" in stale.action
        with pytest.raises(BadRequest) as refused:
            opened.repair("Mira/Other", "QUEUE_STALE", repair="cancel-operations")
        assert (refused.value.params["case"], refused.value.params["repairs"]) == ("no_repair", [])
        assert [each.status for each in opened.queue(MAIN).operations] == ["pending"]

    def test_registry_lines_are_rebuilt_from_the_entries(self, tmp_path: Path) -> None:
        lines = [
            stories.registry_line(3, "character-Mara", aliases=["M"], synopsis="cooks"),
            stories.registry_line(3, "character-Mira"),
            stories.registry_line(8, "character-Nobody"),
        ]
        opened = self.damaged(tmp_path, lambda e: e["0"].update(stories.registry(0, "character", lines)))
        assert codes(opened.verify(FORK)) == {"REGISTRY_BROKEN"}

        opened.repair(FORK, "REGISTRY_BROKEN", repair="rebuild-lines")

        assert opened.verify(FORK).findings == ()
        content = json.loads(book_file(tmp_path, "Lore__CP_Fork").read_bytes())["entries"]["0"]["content"]
        assert content.split("\n")[1:] == ["- UID=3 | name: character-Mira | aliases: M | synopsis: cooks"]


class TestLinksAndNames:
    def test_a_link_that_leads_nowhere_is_removed(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        chat_file(tmp_path, "Fork").rename(tmp_path / "away.jsonl")
        before = read_workspace(tmp_path)
        assert codes(opened.verify(MAIN)) == {"LINK_DANGLING", "MAP_STALE"}

        opened.repair(MAIN, "LINK_DANGLING", repair="remove-link")
        opened.repair(MAIN, "MAP_STALE", repair="remove-entry")

        assert opened.verify(MAIN).findings == ()
        opened.undo()
        opened.undo()
        assert read_workspace(tmp_path) == before

    def test_a_renamed_fork_keeps_its_place(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        opened.branch(FORK)
        chat_file(tmp_path, "Fork").rename(chat_file(tmp_path, "New"))
        assert "CHAT_RENAMED" in codes(opened.verify("Mira/New"))

        opened.repair("Mira/New", "CHAT_RENAMED", repair="follow-rename")

        assert opened.doctor().findings == ()
        assert header(tmp_path, "New")["auto_recap_running_scene_recaps"]["chat_id"] == "New"
        assert header(tmp_path, "Fork - Branch #1")["main_chat"] == "New"
        assert {t.chat: t.parent for t in opened.tree(MAIN).timelines} == {
            MAIN: None,
            "Mira/New": MAIN,
            "Mira/Fork - Branch #1": "Mira/New",
        }

    def test_a_renamed_main_chat_is_found_by_its_integrity(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        chat_file(tmp_path, "Tale").rename(chat_file(tmp_path, "Saga"))

        examined = opened.doctor(fix=True)

        assert header(tmp_path)["main_chat"] == "Saga"
        assert header(tmp_path, "Saga")["auto_recap_running_scene_recaps"]["chat_id"] == "Saga"
        assert [fixed.code for fixed in examined.fixed] == ["PARENT_MISSING", "RUNNING_RECAP_FOREIGN"]
        assert {finding.where for finding in examined.findings} == set()

    @pytest.mark.req(37)
    def test_hidden_messages_of_the_last_scene_are_shown_again(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        path = chat_file(tmp_path, "Fork")
        path.write_bytes(path.read_bytes().replace(b'"is_system":false', b'"is_system":true'))
        before = read_workspace(tmp_path)
        assert opened.verify(FORK).ok

        opened.repair(FORK, "HISTORY_HIDDEN", repair="show-last-scene")

        assert path.read_bytes().count(b'"is_system":false') == 6
        opened.undo()
        assert read_workspace(tmp_path) == before


class TestDoctor:
    def test_a_workspace_in_order_is_clean(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        before = read_workspace(tmp_path)

        assert opened.doctor().ok
        assert opened.doctor(fix=True).fixed == ()
        assert read_workspace(tmp_path) == before

    def test_a_garbled_log_is_told(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        (tmp_path / ".forklore/operations/20260101-000000-000000-0000.json").write_bytes(b"{half")

        assert [located.finding.code for located in opened.doctor().findings] == ["OPERATION_UNREADABLE"]

    def test_fixing_twice_does_nothing_the_second_time(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        chat_file(tmp_path, "Fork").rename(chat_file(tmp_path, "New"))
        change_header(chat_file(tmp_path, "Tale"), DAMAGES["stale map"][1])

        told = opened.doctor().to_json()["findings"]
        first, second = opened.doctor(fix=True), opened.doctor(fix=True)

        assert {fixed.code for fixed in first.fixed} >= {"CHAT_RENAMED", "MAP_STALE"}
        assert {fixed.code for fixed in first.fixed} <= {each["code"] for each in told if each["safe"]}
        assert not any(each["safe"] for each in first.to_json()["findings"])
        assert second.fixed == ()
        assert second.findings == first.findings


def native_fork(root: Path, name: str, of: str, **metadata: Any) -> None:
    """Let SillyTavern make a fork: everything copied, a new slug, the original as its parent."""
    known = {**header(root, of), "main_chat": of, "integrity": f"slug of {name}", **metadata}
    chat_file(root, name).write_bytes(stories.chat_bytes(known, stories.conversation(3)))


class TestNothingIsGuessed:
    def test_versions_of_another_future_are_never_owned(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        native_fork(tmp_path, "Native", "Tale")

        (foreign,) = (f for f in opened.verify("Mira/Native").findings if f.code == "RUNNING_RECAP_FOREIGN")
        fixed = opened.doctor(fix=True).fixed

        assert foreign.details.endswith(" Version 2 tells of messages that are not in this timeline.")
        assert foreign.repairs == ("isolate", "keep-own-versions")
        assert fixed == ()

    def test_of_a_book_shared_on_purpose_the_recap_still_can_be_cut(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        native_fork(tmp_path, "Native", "Tale")
        opened.isolate("Mira/Native", share=True)
        before = read_workspace(tmp_path)
        (foreign,) = opened.verify("Mira/Native").findings
        assert (foreign.code, foreign.repairs) == ("RUNNING_RECAP_FOREIGN", ("keep-own-versions",))
        assert "solate" not in foreign.action
        assert opened.doctor(fix=True).fixed == ()

        opened.repair("Mira/Native", "RUNNING_RECAP_FOREIGN", repair="keep-own-versions")

        assert opened.doctor().ok
        kept = header(tmp_path, "Native")["auto_recap_running_scene_recaps"]
        assert (kept["chat_id"], kept["current_version"]) == ("Native", 1)
        assert [version["content"] for version in kept["versions"]] == ["one"]
        assert len(header(tmp_path, "Tale")["auto_recap_running_scene_recaps"]["versions"]) == 2
        opened.undo()
        assert read_workspace(tmp_path) == before

    def test_a_recap_of_another_chat_without_its_future_is_taken_over_also_when_the_book_is_shared(
        self, tmp_path: Path
    ) -> None:
        opened = workspace(tmp_path)
        native_fork(tmp_path, "Native", "Tale", **stories.running_recap("Tale", [stories.recap_version(1, 1)], 1))
        opened.isolate("Mira/Native", share=True)

        opened.repair("Mira/Native", "RUNNING_RECAP_FOREIGN", repair="take-over")

        assert opened.doctor().ok

    def test_a_fork_of_a_deleted_fork_is_not_taken_for_it(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        opened.branch(FORK)
        native_fork(tmp_path, "Native", "Fork")
        chat_file(tmp_path, "Fork").unlink()

        opened.doctor(fix=True)
        opened.doctor(fix=True)

        assert header(tmp_path, "Fork - Branch #1")["main_chat"] == "Fork"
        assert header(tmp_path, "Native")["main_chat"] == "Fork"
        assert "INHERITED_STATE" in codes(opened.verify("Mira/Native"))

    def test_a_fork_that_sillytavern_made_of_a_renamed_one_follows_it(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        native_fork(tmp_path, "Native", "Fork")
        chat_file(tmp_path, "Fork").rename(chat_file(tmp_path, "New"))

        opened.doctor(fix=True)

        assert header(tmp_path, "Native")["main_chat"] == "New"
        assert header(tmp_path, "Native")["forklore"]["chat"] == "Fork"
        assert "INHERITED_STATE" in codes(opened.verify("Mira/Native"))
        assert opened.doctor(fix=True).fixed == ()

    def test_of_two_chats_that_may_be_the_renamed_one_none_is_chosen(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        chat_file(tmp_path, "Copy").write_bytes(chat_file(tmp_path, "Fork").read_bytes())
        chat_file(tmp_path, "Fork").rename(chat_file(tmp_path, "New"))
        chat_file(tmp_path, "A backup").write_bytes(chat_file(tmp_path, "Tale").read_bytes())
        chat_file(tmp_path, "Tale").rename(chat_file(tmp_path, "Saga"))

        opened.doctor(fix=True)

        assert {header(tmp_path, name)["main_chat"] for name in ("Copy", "New")} == {"Tale"}
        assert {header(tmp_path, name)["forklore"]["chat"] for name in ("Copy", "New")} == {"Fork"}

    def test_following_a_parent_does_not_attach_another_book(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        book_file(tmp_path, "Lore__CP_Fork").rename(book_file(tmp_path, "Elsewhere"))
        chat_file(tmp_path, "Tale").rename(chat_file(tmp_path, "Saga"))

        opened.doctor(fix=True)

        assert header(tmp_path)["main_chat"] == "Saga"
        assert header(tmp_path)["world_info"] == "Lore__CP_Fork"

    def test_a_book_of_today_is_called_so(self, tmp_path: Path) -> None:
        files = stories.solo_files(
            "Tale", {"world_info": "Lore"}, stories.conversation(4), books={"Lore": stories.lorebook(ENTRIES[:1])}
        )
        opened = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())
        opened.checkpoint(MAIN, name="Fork")
        with chat_file(tmp_path, "Tale").open("ab") as chat:
            chat.write(b"\n" + stories.line(stories.message("on we go")))
        book_file(tmp_path, "Lore__CP_Fork").unlink()

        (offer,) = (o for o in opened.repair(FORK, "LOREBOOK_MISSING").offered if o.name == "from-parent")
        opened.repair(FORK, "LOREBOOK_MISSING", repair="from-parent")

        assert offer.to_json()["source"] == "present"
        assert "may know the future" in offer.does
        assert header(tmp_path)["auto_recap_checkpoint_state"]["lorebook_source"] == "present"

    def test_a_missing_book_is_no_valid_state(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        assert opened.status(FORK).valid

        book_file(tmp_path, "Lore__CP_Fork").unlink()

        assert not opened.status(FORK).valid

    def test_a_version_without_a_number_is_no_version(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        change_header(
            chat_file(tmp_path, "Fork"),
            lambda m: m["auto_recap_running_scene_recaps"].update(versions=[{"content": "x"}]),
        )

        assert [o.name for o in opened.repair(FORK, "RUNNING_RECAP_VERSION_MISSING").offered] == ["put-back"]

    @pytest.mark.req(141)
    def test_what_is_shared_on_purpose_is_no_finding(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        native_fork(tmp_path, "Native", "Tale", auto_recap_running_scene_recaps=None)
        opened.isolate("Mira/Native", share=True)

        assert opened.verify("Mira/Native").findings == ()

    def test_a_save_in_between_is_never_overwritten(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opened = workspace(tmp_path)
        book = book_file(tmp_path, "Lore__CP_Fork")
        queue_of(book, 1)
        plan = app_repairing._repair_plan

        def plan_and_let_save(*arguments: Any) -> Any:
            made = plan(*arguments)
            queue_of(book, 1, 2)  # ST-Auto-Recap saves the book while the repair is on its way
            return made

        monkeypatch.setattr(app_repairing, "_repair_plan", plan_and_let_save)
        with pytest.raises(ContextChanged):
            opened.repair(FORK, "QUEUE_STALE", repair="cancel-operations")

        assert [each.status for each in opened.queue(FORK).operations] == ["pending", "pending"]


def queue_of(book: Path, *numbers: int) -> None:
    """Give the book a queue of operations on a message that is not there."""
    content = stories.queue_content([stories.operation(number, params={"index": 99}) for number in numbers])
    change_book(
        book,
        lambda b: next(e for e in b["entries"].values() if e["comment"] == "__operation_queue").update(content=content),
    )


class TestGroups:
    def test_a_fork_that_its_group_forgot_keeps_its_place(self, tmp_path: Path) -> None:
        books = {"Lore": stories.lorebook(ENTRIES[:1])}
        files = stories.group_files("Gmain", {"world_info": "Lore"}, stories.conversation(4), group_id="7", books=books)
        opened = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())
        opened.checkpoint("group:7/Gmain", name="GCP")
        opened.branch("group:7/GCP")
        (tmp_path / "groups/7.json").write_bytes(stories.group_bytes("7", ["Gmain"]))

        found = {located.finding.code for located in opened.doctor().findings}
        opened.doctor(fix=True)

        assert found == {"GROUP_CHAT_UNLISTED"}
        assert opened.doctor().findings == ()


class Refusing(HastyDisk):
    """A disk on which one file cannot be replaced."""

    def __init__(self, name: str) -> None:
        self.name = name

    def exchange(self, one: Path, other: Path) -> bool:
        if self.name in (one.name, other.name):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().exchange(one, other)


class TestHalfMade:
    def test_a_repair_that_cannot_write_the_chat_itself_is_none(self, tmp_path: Path) -> None:
        workspace(tmp_path)
        book_file(tmp_path, "Lore__CP_Fork").rename(book_file(tmp_path, "My lore"))
        before = read_workspace(tmp_path)

        with pytest.raises(DiskFailed):
            forklore.open(tmp_path, disk=Refusing("Fork.jsonl")).repair(
                FORK, "LOREBOOK_MISSING", repair="follow-rename"
            )

        assert read_workspace(tmp_path) == before
        assert forklore.open(tmp_path).log().operations[0].kind == "checkpoint"

    def test_what_could_not_be_told_to_a_relative_is_pending(self, tmp_path: Path) -> None:
        workspace(tmp_path)
        book_file(tmp_path, "Lore__CP_Fork").rename(book_file(tmp_path, "My lore"))

        made = forklore.open(tmp_path, disk=Refusing("Tale.jsonl")).repair(
            FORK, "LOREBOOK_MISSING", repair="follow-rename"
        )

        pending = {"code": "not_written", "params": {"what": "repair", "reason": "Input/output error"}}
        assert made.to_json()["pending_facts"] == [pending]
        assert made.to_json()["pending"] == ["The repair could not be written: Input/output error"]
        assert "LOREBOOK_MISSING" not in {each.code for each in forklore.open(tmp_path).verify(FORK).findings}

    def test_a_repair_that_would_change_nothing_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opened = workspace(tmp_path)
        book_file(tmp_path, "Lore__CP_Fork").unlink()
        as_it_is = EditFile("chats/Mira/Fork.jsonl", (LineEdit(HEADER, Put(("chat_metadata", "main_chat"), '"Tale"')),))
        monkeypatch.setattr(app_repairing, "plan_repair", lambda *_: (as_it_is,))

        with pytest.raises(BadRequest, match="nothing left to repair"):
            opened.repair(FORK, "LOREBOOK_MISSING", repair="empty")

    def test_doctor_does_not_count_what_is_half_made(self, tmp_path: Path) -> None:
        workspace(tmp_path)
        chat_file(tmp_path, "Fork").rename(chat_file(tmp_path, "Elsewhere"))

        examined = forklore.open(tmp_path, disk=Refusing("Tale.jsonl")).doctor(fix=True)

        assert "CHAT_RENAMED" not in {fixed.code for fixed in examined.fixed}
