"""What ``verify`` finds: each rule broken alone, told in full, and the near misses that are no finding."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import pytest

from forklore.checks.verify import ON_REQUEST, OPENING, verify
from forklore.gathered.timeline import OUTSIDE, UNREADABLE, BookState
from forklore.gathered.workspace import BookFile
from forklore.log.operations import Operation
from forklore.model.fact import Fact, fact
from forklore.model.finding import Finding, Severity
from forklore.model.timeline import mark_of
from forklore.testing.stories import (
    FIRST_MOMENT,
    Json,
    chat_bytes,
    conversation,
    entry,
    line,
    lorebook_bytes,
    message,
    operation,
    queue,
    recap_version,
    registry,
    registry_line,
    running_recap,
    scene,
    snapshot,
)
from tests.unit.checks.workspaces import World

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
ALL = (*OPENING, *ON_REQUEST)
MAIN, FORK = "Mira/Tale", "Mira/Fork"
RUNNING, STATE = "auto_recap_running_scene_recaps", "auto_recap_checkpoint_state"
REASON = fact("header_missing")
VERSIONS = [recap_version(1, 1), recap_version(2, 3)]

RECORD: Json = {
    "chat_id": "Fork",
    "timestamp": FIRST_MOMENT,
    "message_id": 3,
    "cloned_lorebook_name": "Own",
    "original_lorebook_name": "Lore",
    "running_recap_version": 2,
    "running_recap_versions": VERSIONS,
    "combined_recap_message_count": 3,
}
IDENTITY: Json = {
    "format": 1,
    "chat": "Fork",
    "kind": "checkpoint",
    "parent": "Tale",
    "message": 3,
    "timeline": "6f0d",
    "digests": {"lorebook": "as made"},
}
FORKED: Json = {
    "main_chat": "Tale",
    "world_info": "Own",
    **running_recap("Fork", VERSIONS, 2),
    "auto_recap": {"combined_recap": {"content": "x", "message_count": 3}},
    STATE: RECORD,
    "forklore": IDENTITY,
}
"""The metadata of a fork that Forklore made at message 3 of "Tale", and that nobody has touched since."""
LEGACY: Json = {"main_chat": "Tale", "world_info": "Own"}
"""The metadata of a fork that SillyTavern made; somebody gave it a lorebook."""
GONE = object()
"""In the place of a value: the key is not there."""


def changed(stored: Json, **changes: Any) -> Json:
    """Return *stored* with other values."""
    return {key: value for key, value in {**stored, **changes}.items() if value is not GONE}


def record(**changes: Any) -> Json:
    """Return the metadata in which the record of the fork says something else."""
    return {STATE: changed(RECORD, **changes)}


def identity(**changes: Any) -> Json:
    """Return the metadata in which Forklore says something else of who the fork is."""
    return {"forklore": changed(IDENTITY, **changes)}


def running(versions: Iterable[Json], current: int | None, chat: str = "Fork") -> Json:
    """Return the metadata with another running recap."""
    return {RUNNING: {"chat_id": chat, "current_version": current, "versions": list(versions)}}


def combined(recap: object) -> Json:
    """Return the metadata with another combined recap."""
    return {"auto_recap": {"combined_recap": recap}}


def world(
    forked: Mapping[str, Any] | None = None,
    *,
    said: Iterable[Json] = conversation(4),
    name: str = "Fork",
    main: Json | None = None,
    tale: Iterable[Json] = conversation(6),
    chats: Mapping[str, bytes] | None = None,
    books: Mapping[str, Iterable[Json]] | None = None,
    **around: Any,
) -> World:
    """Return the story "Tale" with its fork; *forked* is the metadata of the fork, FORKED where it says nothing."""
    there = {"Mira/Tale": chat_bytes({"world_info": "Lore"} if main is None else main, tale)}
    there[f"Mira/{name}"] = chat_bytes(FORKED if forked is None else dict(forked), said)
    written = {"Lore": [entry(1, "item-Lamp")], "Own": [entry(1, "item-Lamp")]} if books is None else books
    return World(
        {**there, **(chats or {})}, {name: lorebook_bytes(entries) for name, entries in written.items()}, around
    )


def fork(*changes: Json, **around: Any) -> World:
    """Return the story whose fork has other metadata."""
    merged: Json = {}
    for each in changes:
        merged |= each
    return world(changed(FORKED, **merged), **around)


def own_book(*entries: Json, **around: Any) -> World:
    """Return the story whose fork has other entries in its lorebook."""
    return world(books={"Lore": [], "Own": entries}, **around)


def elsewhere(book: str | None, **metadata: Any) -> dict[str, bytes]:
    """Return a chat of another story that names a lorebook."""
    return {"Bob/Other": chat_bytes({**({"world_info": book} if book else {}), **metadata}, conversation(2))}


def queued(number: int, *, at: int) -> Json:
    return operation(number, "pending", "combine_scene_with_running", params={"index": at})


def queued_fact(at: int) -> Fact:
    about = {"operation": "combine_scene_with_running", "status": "pending", "entity": None, "message": at}
    return fact("queued", **about, case="message")


def without_link(pending: str = "link", **members: Any) -> Operation:
    """Return the operation that made the fork, and left something unwritten."""
    left = fact("left", what=pending)
    return Operation("1-a", "checkpoint", FORK, "", (), pending=(left,), notes={"fork": "Fork"}, **members)


def trashed(path: str) -> Operation:
    return Operation("2-a", "delete", FORK, "", ({"do": "trash", "path": path, "item": "2-a/0", "content": []},))


@dataclass(frozen=True)
class Case:
    """A timeline of a story: *of* is its address, *state* what is known of it besides its files."""

    world: World
    of: str = FORK
    state: Json = field(default_factory=dict)

    def found(self) -> tuple[Finding, ...]:
        """Return all that is found."""
        return verify(self.world.timeline(self.of, **self.state), self.world.index, ALL)


class Broken(NamedTuple):
    """A story in which one rule is broken, and all that is told of it."""

    case: Case
    severity: Severity
    params: Json
    repairs: tuple[str, ...] = ()


def broken(
    world: World, severity: Severity, params: Json, repairs: tuple[str, ...] = (), *, of: str = FORK, **state: Any
) -> Broken:
    return Broken(Case(world, of, state), severity, params, repairs)


def at_fault(fault: str) -> BookState:
    return BookState("Own", "worlds/Own.json", fault=fault, reason=REASON)


NAMING = ("re-point", "leave-out", "accept")
SCENE_MADE_ONE = [*conversation(2), message("Turn 2.", extra=scene(made=[1])), message("Turn 3.")]
HIDDEN = [message(f"Turn {number}.", is_system=True) for number in range(4)]
LINKED = [*conversation(4), message("Turn 4.", extra={"bookmark_link": "Nowhere"})]
OLD_PARTY = b"\n".join(map(line, conversation(2)))
COPIED = chat_bytes({"world_info": "Lore", "integrity": "tale"}, conversation(6))

BROKEN: dict[str, tuple[Broken, ...]] = {
    "CHAT_DAMAGED": (
        broken(world(), ERROR, {"reason": REASON}, damage=REASON),
        broken(World({"Mira/Tale": OLD_PARTY}), ERROR, {"reason": REASON}, of=MAIN),
    ),
    "GROUP_FORMAT_OLD": (broken(World({"group:17/Party": OLD_PARTY}), WARNING, {}, of="group:17/Party"),),
    "LOREBOOK_MISSING": (
        broken(
            world(books={"Lore": []}),
            ERROR,
            {"lorebook": "Own", "renamed": None},
            ("from-parent", "empty", "detach"),
        ),
        broken(
            World({MAIN: chat_bytes({"world_info": "Gone"}, [])}),
            ERROR,
            {"lorebook": "Gone", "renamed": None},
            ("empty", "detach"),
            of=MAIN,
        ),
    ),
    "LINK_OUTSIDE": (
        broken(
            world(),
            ERROR,
            {"case": "lorebook", "lorebook": "Own", "reason": REASON},
            lorebook=at_fault(OUTSIDE),
        ),
    ),
    "LOREBOOK_UNREADABLE": (
        broken(world(), ERROR, {"lorebook": "Own", "reason": REASON}, lorebook=at_fault(UNREADABLE)),
    ),
    "FORMAT_NEWER": (
        broken(fork(identity(format=2)), ERROR, {"case": "timeline", "format": 2, "known": 1}),
        broken(fork(identity(format=70, chat="Else")), ERROR, {"case": "timeline", "format": 70, "known": 1}),
    ),
    "LOREBOOK_MISMATCH": (
        broken(
            fork({"world_info": "Other"}, books={"Lore": [], "Own": [], "Other": []}),
            WARNING,
            {"expected": "Own", "current": "Other"},
            ("reattach", "accept"),
        ),
        broken(
            fork({"world_info": GONE}),
            WARNING,
            {"expected": "Own", "current": None},
            ("reattach", "accept"),
        ),
        broken(
            fork({"world_info": "Other"}, books={"Lore": [], "Other": []}),
            WARNING,
            {"expected": "Own", "current": "Other"},
            ("accept",),
        ),
        broken(
            fork(
                {"world_info": "Other"},
                books={"Lore": [], "Own": [], "Other": []},
                chats=elsewhere("Own"),  # so it is not free any more
            ),
            WARNING,
            {"expected": "Own", "current": "Other"},
            ("accept",),
        ),
        broken(
            fork(record(cloned_lorebook_name=None)),
            WARNING,
            {"expected": None, "current": "Own"},
            ("accept",),
        ),
    ),
    "SHARED_LOREBOOK": (
        broken(
            world(chats=elsewhere("Own")),
            ERROR,
            {"lorebook": "Own", "chats": ["Bob/Other"], "more": 0, "original": None, "case": "owner"},
            ("isolate-others", "share"),
        ),
        broken(
            world(chats=elsewhere("Own")),
            ERROR,
            {"lorebook": "Own", "chats": [FORK], "more": 0, "original": None},
            ("isolate", "share"),
            of="Bob/Other",
        ),
        broken(
            world(main={"world_info": "Own"}),
            ERROR,
            {"lorebook": "Own", "chats": [FORK], "more": 0, "original": None},
            ("reattach", "isolate", "share"),
            of=MAIN,
        ),
        broken(
            world(main={"world_info": "Own"}, books={"Own": []}),  # there is none to go back to
            ERROR,
            {"lorebook": "Own", "chats": [FORK], "more": 0, "original": None},
            ("isolate", "share"),
            of=MAIN,
        ),
        broken(
            World({MAIN: COPIED, "Mira/Tale imported": COPIED}, {"Lore": lorebook_bytes([])}),
            ERROR,
            {"lorebook": "Lore", "chats": [MAIN], "more": 0, "original": MAIN},
            ("isolate", "share"),
            of="Mira/Tale imported",
        ),
    ),
    "NAMES_PARENT": (
        broken(
            fork({"invented": {"writes": ["Lore"], "chat": "Tale", "name": "Tale"}}),
            WARNING,
            {
                "count": 2,
                "places": [{"place": "invented.writes.0", "name": "Lore"}, {"place": "invented.chat", "name": "Tale"}],
                "more": 0,
            },
            NAMING,
        ),
        broken(
            world(said=[message("Turn 0.", extra={"invented": "Lore"}), *conversation(4)[1:]]),
            WARNING,
            {"count": 1, "places": [{"place": "message 0: extra.invented", "name": "Lore"}], "more": 0},
            NAMING,
        ),
        broken(
            own_book(entry(1, "Tale", "Tale", key=["Lore"], invented={"of": "Tale"})),
            WARNING,
            {"count": 1, "places": [{"place": "Own: entries.1.invented.of", "name": "Tale"}], "more": 0},
            NAMING,
        ),
    ),
    "LOREBOOK_FROM_PRESENT": (
        broken(
            fork(
                record(lorebook_source="present"),
                said=SCENE_MADE_ONE,
                books={"Lore": [], "Own": [entry(1, "item-Lamp"), entry(2, "item-Rope"), entry(3, "_internal")]},
            ),
            WARNING,
            {"at": 3, "doubtful": 1, "entries": 2},
            ("accept",),
        ),
        broken(
            fork(record(lorebook_source="present", entries_in_doubt=4, isolated_at_message=3)),
            WARNING,
            {"at": 3, "doubtful": 1, "entries": 1},
            ("accept",),
        ),
    ),
    "RUNNING_RECAP_VERSION_MISSING": (
        *(
            broken(
                fork({RUNNING: stored}),
                WARNING,
                {"case": "gone", "recorded": 2, "current": None, "available": []},
                ("put-back",),
            )
            for stored in (GONE, None, [])
        ),
        broken(
            fork(running(VERSIONS, 9)),
            ERROR,
            {"case": "current", "recorded": 2, "current": 9, "available": [1, 2]},
            ("use-latest", "put-back"),
        ),
        broken(
            fork(running(VERSIONS[::-1], 0), record(running_recap_version=None)),
            ERROR,
            {"case": "current", "recorded": None, "current": 0, "available": [2, 1]},
            ("use-latest",),
        ),
        broken(
            fork(running([{"content": "without a number"}], 2)),
            ERROR,
            {"case": "current", "recorded": 2, "current": 2, "available": []},
            ("put-back",),
        ),
        broken(
            fork(running([recap_version(7, 3), recap_version(5, 2)], 5)),
            ERROR,
            {"case": "recorded", "recorded": 2, "current": 5, "available": [7, 5]},
            ("put-back", "use-latest"),
        ),
        broken(
            fork(running([], 0)),
            ERROR,
            {"case": "recorded", "recorded": 2, "current": 0, "available": []},
            ("put-back",),
        ),
        broken(
            fork(running([recap_version(5, 2)], 5), record(running_recap_versions=GONE)),  # nothing tells of progress
            ERROR,
            {"case": "recorded", "recorded": 2, "current": 5, "available": [5]},
            ("put-back", "use-latest"),
        ),
    ),
    "RUNNING_RECAP_VERSION_MISMATCH": (
        broken(fork(running(VERSIONS, 1)), ERROR, {"recorded": 2, "current": 1}, ("set-back",)),
        broken(
            fork(running(VERSIONS, 1)),
            ERROR,
            {"recorded": 2, "current": 1},
            ("set-back",),
            digests_now={"lorebook": "as made"},
        ),
    ),
    "RUNNING_RECAP_FOREIGN": (
        broken(fork(running(VERSIONS, 2, "Else")), WARNING, {"chat": "Else", "beyond": [], "count": 0}, ("take-over",)),
        broken(
            fork(running([*VERSIONS, recap_version(4, 9), recap_version(3, 4)], 2, "Else")),
            WARNING,
            {"chat": "Else", "beyond": [4, 3], "count": 2},
            ("keep-own-versions",),
        ),
        broken(
            world({**LEGACY, **running(VERSIONS, 2, "Tale")}, shared="Own"),
            WARNING,
            {"chat": "Tale", "beyond": [], "count": 0},
            ("take-over",),
        ),
        broken(
            world(main=running([recap_version(2, 5)], 2, "Else")),
            WARNING,
            {"chat": "Else", "beyond": [], "count": 0},
            ("take-over",),
            of=MAIN,
        ),
    ),
    "COMBINED_RECAP_MISMATCH": (
        broken(fork(combined({"message_count": 2})), WARNING, {"recorded": 3, "current": 2}),
        broken(fork(combined({"message_count": 4})), WARNING, {"recorded": 3, "current": 4}),
        broken(fork(combined({"message_count": 0})), WARNING, {"recorded": 3, "current": 0}),
        broken(
            fork(combined({"message_count": 2}), said=conversation(9)),
            WARNING,
            {"recorded": 3, "current": 2},
        ),
        broken(
            fork(combined({"message_count": 10}), said=conversation(9)),
            WARNING,
            {"recorded": 3, "current": 10},
        ),
    ),
    "LEGACY_FORK": (
        broken(world(LEGACY), WARNING, {"kind": "checkpoint"}, ("isolate",)),
        broken(
            world(LEGACY, tale=[message("Turn 0.", extra={"branches": ["Fork"]}), *conversation(5)]),
            WARNING,
            {"kind": "branch"},
            ("isolate",),
        ),
        broken(
            world({"main_chat": "Tale", **running(VERSIONS, 2)}),
            WARNING,
            {"kind": "checkpoint"},
            ("isolate",),
        ),
        broken(world(LEGACY, shared="Lore"), WARNING, {"kind": "checkpoint"}, ("isolate",)),
    ),
    "INHERITED_STATE": (
        broken(
            world({**LEGACY, "forklore": {"chat": "Else", "parent": "Any"}}), WARNING, {"chat": "Else"}, ("isolate",)
        ),
        broken(world({**LEGACY, STATE: {"chat_id": "Else"}}), WARNING, {"chat": "Else"}, ("isolate",)),
        broken(world({**LEGACY, "forklore": {"chat": 7}}), WARNING, {"chat": None}, ("isolate",)),
    ),
    "CHAT_RENAMED": (
        broken(
            fork(running(VERSIONS, 2, "New"), name="New"),
            WARNING,
            {"name": "Fork"},
            ("follow-rename",),
            of="Mira/New",
        ),
    ),
    "PARENT_MISSING": (
        broken(
            fork({"main_chat": "Nobody"}, identity(parent="Nobody")),
            WARNING,
            {"parent": "Nobody", "renamed": None},
            ("make-main",),
        ),
        broken(
            fork(
                {"main_chat": "Before"},
                identity(parent="Before", parent_mark=mark_of("tale")),
                main={"world_info": "Lore", "integrity": "tale"},
            ),
            WARNING,
            {"parent": "Before", "renamed": "Tale"},
            ("follow-rename", "make-main"),
        ),
    ),
    "QUEUE_UNREADABLE": (
        broken(own_book(queue(uid=1), queue(uid=2)), ERROR, {"reason": fact("several_queues", count=2)}),
        broken(own_book(queue() | {"content": '{"queue": 5}'}), ERROR, {"reason": fact("queue_no_list")}),
    ),
    "QUEUE_STALE": (
        broken(
            own_book(queue([queued(0, at=4), queued(1, at=3), queued(2, at=59)])),
            WARNING,
            {"count": 2, "operations": [queued_fact(4), queued_fact(59)], "more": 0},
            ("cancel-operations",),
        ),
        broken(
            own_book(queue([queued(0, at=4)]), chats=elsewhere("Own"), shared="Own"),
            WARNING,
            {"count": 1, "operations": [queued_fact(4)], "more": 0, "case": "shared"},
        ),
    ),
    "REGISTRY_BROKEN": (
        broken(
            own_book(
                registry(0, "item", [registry_line(9, "item-Gone"), registry_line(1, "x")]), entry(1, "item-Lamp")
            ),
            WARNING,
            {
                "lines": [
                    fact("registry_line", case="missing", registry="item", uid=9, name="item-Gone"),
                    fact("registry_line", case="other", entry="item-Lamp", registry="item", uid=1, name="x"),
                ],
                "more": 0,
            },
            ("rebuild-lines",),
        ),
    ),
    "LINK_DANGLING": (
        broken(world(said=LINKED), WARNING, {"links": [{"at": 4, "chat": "Nowhere"}], "more": 0}, ("remove-link",)),
        broken(
            world(tale=[message("Turn 0.", extra={"branches": ["Gone", "Fork", "Lost"]}), *conversation(3)]),
            WARNING,
            {"links": [{"at": 0, "chat": "Gone"}, {"at": 0, "chat": "Lost"}], "more": 0},
            ("remove-link",),
            of=MAIN,
        ),
    ),
    "LINK_PENDING": (
        broken(world(operations=(without_link(),)), WARNING, {"parent": MAIN}, ("relink",)),
        broken(
            fork({"main_chat": GONE}, operations=(without_link(),)),
            WARNING,
            {"parent": None},
            parent_links=(),
        ),
    ),
    "MAP_STALE": (
        broken(
            fork({"auto_recap": {"checkpoint_lorebook_map": {"Gone": "A", "Tale": "Lore", "Also": "B"}}}),
            WARNING,
            {"chats": ["Gone", "Also"], "more": 0},
            ("remove-entry",),
        ),
    ),
    "HISTORY_HIDDEN": (
        broken(world(said=HIDDEN), NOTE, {}, ("show-last-scene",)),
        broken(world(said=HIDDEN[:1]), NOTE, {}, ("show-last-scene",)),
    ),
}


@pytest.mark.req(110, 111, 112, 113, 114, 115, 116, 117, 118, 122)
@pytest.mark.parametrize(
    "code, told",
    [
        pytest.param(code, each, id=f"{code} {number}")
        for code, cases in BROKEN.items()
        for number, each in enumerate(cases)
    ],
)
def test_a_broken_rule_is_told_in_full_and_nothing_else_is(code: str, told: Broken) -> None:
    assert told.case.found() == (Finding(code, told.severity, told.params, told.repairs),)


def test_every_rule_has_a_story_that_breaks_it() -> None:
    assert list(BROKEN) == [row.code for row in ALL]


# --- near misses --------------------------------------------------------------------------------------------------


def codes(findings: Iterable[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def later(*changes: Json, **around: Any) -> Case:
    """Return the fork after two more messages."""
    return Case(fork(*changes, said=conversation(6), **around))


ON_WE_GO = running([*VERSIONS, recap_version(3, 5)], 3)

SILENT: dict[str, Case] = {
    "a fork that nobody touched": Case(world()),
    "its parent": Case(world(), MAIN),
    "a main chat with nothing": Case(World({MAIN: chat_bytes({}, [])}), MAIN),
    # LOREBOOK_MISMATCH
    "a fork without a lorebook, as recorded": Case(fork({"world_info": GONE}, record(cloned_lorebook_name=None))),
    "a fork without a record": Case(fork({STATE: GONE, "world_info": "Other"}, books={"Lore": [], "Other": []})),
    # SHARED_LOREBOOK
    "a lorebook shared on purpose": Case(world(chats=elsewhere("Own"), shared="Own")),
    "chats without a lorebook": Case(
        fork({"world_info": GONE}, record(cloned_lorebook_name=None), chats=elsewhere(None)),
    ),
    # NAMES_PARENT
    "what was accepted": Case(fork({"invented": "Lore"}, record(names_accepted=["invented"]))),
    "its own names": Case(fork({"invented": ["Own", "Fork"]})),
    "a name of another story": Case(fork({"invented": "Other"}, chats=elsewhere(None))),
    "a main chat that names itself": Case(world(main={"world_info": "Lore", "invented": "Lore"}), MAIN),
    # LOREBOOK_FROM_PRESENT
    "a lorebook of that time": Case(fork(record(lorebook_source="snapshot"))),
    "a lorebook of the present that was accepted": Case(
        fork(record(lorebook_source="present", lorebook_accepted=True))
    ),
    "a lorebook of the present without doubts": Case(fork(record(lorebook_source="present", entries_in_doubt=0))),
    "a lorebook of the present after isolating": Case(fork(record(lorebook_source="present", isolated_at_message=3))),
    # RUNNING_RECAP_VERSION_MISSING, RUNNING_RECAP_VERSION_MISMATCH
    "no running recap, as recorded": Case(fork({RUNNING: GONE}, record(running_recap_version=None))),
    "a running recap since, none recorded": Case(fork(record(running_recap_version=None))),
    "an empty running recap, none recorded": Case(fork(running([], 0), record(running_recap_version=None))),
    "a running recap without a current version": Case(fork(running(VERSIONS, None))),
    "an unrecorded fork at any version": Case(fork(running(VERSIONS, 1), {STATE: GONE})),
    "a new version": Case(fork(ON_WE_GO)),
    "a new message and another version": later(running(VERSIONS, 1)),
    "a new message and a new version": later(ON_WE_GO),
    "a version was chosen again after more was recapped": Case(
        fork(running([*VERSIONS, recap_version(3, 3)], 1)),
    ),
    "a version was chosen after the lorebook changed": Case(
        fork(running(VERSIONS, 1)), state={"digests_now": {"lorebook": "another"}}
    ),
    "a version was chosen where nobody knows the message": Case(
        fork(running(VERSIONS, 1), record(message_id=GONE), identity(message=GONE))
    ),
    # RUNNING_RECAP_FOREIGN
    "a running recap of nobody": Case(fork({RUNNING: {"current_version": 2, "versions": VERSIONS}})),
    "a running recap of a number": Case(fork({RUNNING: {"chat_id": 7, "current_version": 2, "versions": VERSIONS}})),
    # COMBINED_RECAP_MISMATCH
    **{
        f"a combined recap where {'nothing' if recorded is GONE else recorded} is recorded": Case(
            fork(record(combined_recap_message_count=recorded))
        )
        for recorded in (0, None, GONE)
    },
    **{
        f"a combined recap like {'nothing' if recap is GONE else recap}": Case(fork({"auto_recap": recap}))
        for recap in (GONE, 5, {}, {"combined_recap": "x"}, {"combined_recap": {}})
    },
    "a combined recap with a text as its count": Case(fork(combined({"message_count": "4"}))),
    "a combined recap that has grown with the story": later(combined({"message_count": 5})),
    "a combined recap of the whole story": later(combined({"message_count": 6})),
    "a combined recap of an unrecorded fork": Case(fork(combined({"message_count": 1}), {STATE: GONE})),
    # LEGACY_FORK, INHERITED_STATE
    "a legacy fork with nothing to share": Case(world({"main_chat": "Tale"})),
    "a legacy fork with a lorebook shared on purpose": Case(world(LEGACY, shared="Own")),
    "a fork known by its identity alone": Case(fork({STATE: GONE})),
    "a fork known by its record alone": Case(fork({"forklore": GONE})),
    "a record of another program": Case(fork({"forklore": GONE}, record(chat_id=GONE))),
    "a record that is none": Case(world({"main_chat": "Tale", "forklore": 5, STATE: []})),
    # CHAT_RENAMED, PARENT_MISSING
    "no parent named": Case(fork({"main_chat": GONE})),
    "a parent that is no name": Case(World({MAIN: chat_bytes({"main_chat": 5}, [])}), MAIN),
    "a parent without a name": Case(World({MAIN: chat_bytes({"main_chat": ""}, [])}), MAIN),
    # QUEUE_UNREADABLE, QUEUE_STALE
    "an empty queue": Case(own_book(queue())),
    "a queue without content": Case(own_book(queue() | {"content": " "})),
    "work on the last message": Case(own_book(queue([queued(0, at=3)]))),
    "work on no message": Case(own_book(queue([operation()]))),
    **{
        f"{status} work on a later message": Case(own_book(queue([queued(0, at=9) | {"status": status}])))
        for status in ("completed", "failed", "cancelled")
    },
    # REGISTRY_BROKEN
    "a sound registry": Case(own_book(registry(0, "item", [registry_line(1, "item-Lamp")]), entry(1, "item-Lamp"))),
    # LINK_DANGLING, MAP_STALE
    "a link of its parent that leads nowhere": Case(
        world(said=[*conversation(3), message("Turn 3.", extra={"bookmark_link": "Nowhere"})])
    ),
    "a link that leads to a chat": Case(
        world(said=[*conversation(4), message("Turn 4.", extra={"bookmark_link": "Tale"})])
    ),
    "a map of chats that are there": Case(fork({"auto_recap": {"checkpoint_lorebook_map": {"Tale": "Lore"}}})),
    # LINK_PENDING
    "a link that was never missing": Case(world(operations=(without_link("map"),))),
    "a link of another fork": Case(world(operations=(replace(without_link(), chat="Mira/Else"),))),
    "a link that was not wanted": Case(world(operations=(replace(without_link(), notes={}),))),
    "a link that is there by now": Case(
        world(
            tale=[*conversation(3), message("Turn 3.", extra={"bookmark_link": "Fork"})], operations=(without_link(),)
        )
    ),
    "a link whose place another checkpoint took": Case(
        world(
            tale=[*conversation(3), message("Turn 3.", extra={"bookmark_link": "Second"})],
            chats={"Mira/Second": chat_bytes({"main_chat": "Tale"}, [])},
            operations=(without_link(),),
        )
    ),
    "a parent that cannot be read": Case(world(operations=(without_link(),)), state={"parent_links": None}),
    "a fork that was undone": Case(
        world(operations=(Operation("2-b", "undo", FORK, "", (), undoes="1-a"), without_link()))
    ),
    # HISTORY_HIDDEN
    "one message is shown": Case(world(said=[*HIDDEN[:3], message("Turn 3.")])),
    "a main chat that is hidden": Case(world(tale=HIDDEN), MAIN),
    "a fork without messages": Case(fork({STATE: GONE}, said=[])),
}


@pytest.mark.req(110, 112, 113, 114, 115, 117, 119, 133)
@pytest.mark.parametrize("case", SILENT.values(), ids=SILENT.keys())
def test_what_is_in_order_is_no_finding(case: Case) -> None:
    assert case.found() == ()


INSTEAD: dict[str, tuple[Case, list[str]]] = {
    "a damaged chat is not looked through": (
        Case(world(said=[*HIDDEN, LINKED[-1] | {"is_system": True}]), state={"damage": REASON}),
        ["CHAT_DAMAGED"],
    ),
    "a missing lorebook is no other one": (
        Case(fork({"world_info": "Gone"}, books={"Lore": []})),
        ["LOREBOOK_MISSING"],
    ),
    "a missing lorebook is of no time": (
        Case(fork(record(lorebook_source="present"), books={"Lore": []})),
        ["LOREBOOK_MISSING"],
    ),
    "a queue that cannot be read is not stale": (
        Case(own_book(queue([queued(0, at=9)], uid=1), queue(uid=2))),
        ["QUEUE_UNREADABLE"],
    ),
    "a copy whose original is there was not renamed": (
        Case(
            world(chats={"Mira/New": chat_bytes(changed(FORKED, world_info=GONE, **running([], None, "New")), [])}),
            "Mira/New",
        ),
        ["INHERITED_STATE"],
    ),
    "of two copies nobody can tell which was renamed": (
        Case(
            World(
                {
                    name: chat_bytes(changed(FORKED, main_chat=GONE, world_info=GONE, **{RUNNING: GONE}), [])
                    for name in ("Mira/New", "Mira/Newer")
                }
            ),
            "Mira/New",
        ),
        ["INHERITED_STATE"],
    ),
    "a place that a link to nowhere took is free": (
        Case(
            world(
                tale=[*conversation(3), message("Turn 3.", extra={"bookmark_link": "Lost"})],
                operations=(without_link(),),
            )
        ),
        ["LINK_PENDING"],
    ),
    "a newer format is not judged by its record": (
        Case(fork({"world_info": "Other"}, identity(format=2), running(VERSIONS, 1, "Else"), books={"Other": []})),
        ["FORMAT_NEWER"],
    ),
}


@pytest.mark.parametrize("case, expected", INSTEAD.values(), ids=INSTEAD.keys())
def test_what_is_found_instead(case: Case, expected: list[str]) -> None:
    assert codes(case.found()) == expected


# --- in detail ----------------------------------------------------------------------------------------------------


@pytest.mark.req(122)
@pytest.mark.parametrize("renamed, in_trash, has_snapshot, has_parent", list(product([False, True], repeat=4)))
def test_a_missing_lorebook_can_come_from_whatever_is_known_the_surest_first(
    renamed: bool, in_trash: bool, has_snapshot: bool, has_parent: bool
) -> None:
    entries = [entry(1, "item-Lamp")]
    said = [*conversation(3), message("Turn 3.", extra=scene(entries=snapshot(entries, "Own") if has_snapshot else []))]
    there = fork(
        {} if has_parent else {"main_chat": GONE},
        said=said,
        books={"Lore": [], "Kept": entries},
        told_book="Kept" if renamed else None,
        operations=(trashed("worlds/Own.json"),) if in_trash else (),
        trash=frozenset({"2-a/0"}),
    )
    known = (renamed, in_trash, has_snapshot, has_parent)
    sources = ("follow-rename", "from-trash", "from-snapshot", "from-parent")

    repairs = (*(name for name, is_known in zip(sources, known, strict=True) if is_known), "empty", "detach")
    params = {"lorebook": "Own", "renamed": "Kept" if renamed else None}
    assert Case(there).found() == (Finding("LOREBOOK_MISSING", ERROR, params, repairs),)


def kept_as(name: str, written: float) -> dict[str, tuple[BookFile, ...]]:
    """Return a lorebook that nobody names and that is as the fork's one was made."""
    return {"as made": (BookFile(name, f"worlds/{name}.json", 2, written),)}


SINCE = FIRST_MOMENT / 1000


@pytest.mark.req(122)
@pytest.mark.parametrize(
    "around, renamed",
    [
        ({"books": {"Lore": [], "own": []}}, "own"),
        ({"books": {"Lore": [], "own": [], "OWN": []}}, None),
        ({"strangers": kept_as("Mine", SINCE)}, "Mine"),
        ({"strangers": kept_as("Mine", SINCE - 5)}, "Mine"),
        ({"strangers": kept_as("Mine", SINCE - 6)}, None),
        ({"strangers": {"as made": (*kept_as("A", SINCE)["as made"], *kept_as("B", SINCE)["as made"])}}, None),
        ({"strangers": {"another": kept_as("Mine", SINCE)["as made"]}}, None),
        ({"told_book": "Lore"}, None),
        ({"told_book": "Not there"}, None),
    ],
)
def test_a_missing_lorebook_was_renamed_only_where_that_is_certain(around: Json, renamed: str | None) -> None:
    (finding,) = Case(world(**{"books": {"Lore": []}, **around})).found()

    assert (finding.code, finding.params["renamed"]) == ("LOREBOOK_MISSING", renamed)
    assert ("follow-rename" in finding.repairs) is (renamed is not None)


@pytest.mark.req(122)
def test_a_lorebook_that_is_gone_while_the_recorded_one_is_free_was_renamed_to_that() -> None:
    (finding,) = Case(fork({"world_info": "Gone"})).found()

    assert finding.params == {"lorebook": "Gone", "renamed": "Own"}


@pytest.mark.parametrize("upto, repair", [(3, "take-over"), (4, "keep-own-versions")])
def test_a_foreign_running_recap_is_taken_over_unless_it_tells_of_another_future(upto: int, repair: str) -> None:
    (finding,) = Case(fork(running([*VERSIONS, recap_version(3, upto)], 2, "Else"))).found()

    assert finding.repairs == (repair,)


FOREIGN_AND_SHARED = {
    "a legacy fork": Case(world({**LEGACY, **running([*VERSIONS, recap_version(3, 9)], 2, "Tale")})),
    "a copy": Case(
        World(
            {
                name: chat_bytes(
                    {"world_info": "Lore", "integrity": "tale", **running([recap_version(3, 9)], 3, "Tale")},
                    conversation(6),
                )
                for name in (MAIN, "Mira/Tale imported")
            },
            {"Lore": lorebook_bytes([])},
        ),
        "Mira/Tale imported",
    ),
}


@pytest.mark.parametrize("case", FOREIGN_AND_SHARED.values(), ids=FOREIGN_AND_SHARED.keys())
def test_a_foreign_running_recap_of_an_unrecorded_fork_or_copy_is_best_isolated(case: Case) -> None:
    (finding,) = [each for each in case.found() if each.code == "RUNNING_RECAP_FOREIGN"]

    params = {"case": "isolate", "chat": "Tale", "beyond": [3], "count": 1}
    assert finding == Finding("RUNNING_RECAP_FOREIGN", WARNING, params, ("isolate", "keep-own-versions"))


@pytest.mark.req(111)
def test_a_legacy_fork_that_shares_everything_is_told_of_each_and_never_refused() -> None:
    found = Case(world({"main_chat": "Tale", "world_info": "Lore", **running(VERSIONS, 2, "Tale")})).found()

    assert [(each.code, each.severity, each.repairs) for each in found] == [
        ("SHARED_LOREBOOK", ERROR, ("isolate", "share")),
        ("RUNNING_RECAP_FOREIGN", WARNING, ("isolate", "take-over")),
        ("LEGACY_FORK", WARNING, ("isolate",)),
    ]


@pytest.mark.parametrize(
    "case",
    [
        Case(fork(identity(format=2), books={"Lore": []})),
        Case(fork(identity(format=2)), state={"damage": REASON}),
        Case(fork(identity(format=2)), state={"lorebook": at_fault(OUTSIDE)}),
        Case(fork(identity(format=2)), state={"lorebook": at_fault(UNREADABLE)}),
    ],
)
def test_of_a_newer_format_the_files_are_judged_and_nothing_is_repaired(case: Case) -> None:
    plain = Case(fork(books={} if "Own" not in case.world.books else None), state=case.state).found()

    found = case.found()

    assert len(found) == 2
    assert "FORMAT_NEWER" in codes(found)
    assert set(codes(plain)) < set(codes(found))
    assert {each.repairs for each in found} == {()}


MANY = [f"Gone {number}" for number in range(12)]
LONG: dict[str, tuple[Case, str]] = {
    "SHARED_LOREBOOK": (
        Case(world(chats={f"Bob/{name}": chat_bytes({"world_info": "Own"}, []) for name in MANY})),
        "chats",
    ),
    "QUEUE_STALE": (Case(own_book(queue([queued(number, at=9) for number in range(12)]))), "operations"),
    "REGISTRY_BROKEN": (
        Case(own_book(registry(0, "item", [registry_line(number, "x") for number in range(20, 32)]))),
        "lines",
    ),
    "LINK_DANGLING": (
        Case(world(said=[*conversation(4), message("Turn 4.", extra={"branches": MANY})])),
        "links",
    ),
    "MAP_STALE": (Case(fork({"auto_recap": {"checkpoint_lorebook_map": dict.fromkeys(MANY, "B")}})), "chats"),
}


@pytest.mark.parametrize("code", LONG)
def test_of_a_long_list_ten_are_named_and_the_rest_is_counted(code: str) -> None:
    case, listed = LONG[code]

    (finding,) = case.found()

    assert (finding.code, len(finding.params[listed]), finding.params["more"]) == (code, 10, 2)
    assert finding.params.get("count", 12) == 12


def test_hidden_history_is_told_only_on_request() -> None:
    there = world(said=HIDDEN)

    assert verify(there.timeline(FORK), there.index) == ()
