from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from forklore.checks.requirements import REQUIREMENTS, Effect, ForkAttempt, Policy, check
from forklore.formats.chat_jsonl import Chat
from forklore.gathered.timeline import MISSING, OUTSIDE, UNREADABLE, BookState, TimelineState
from forklore.model.fact import Fact, fact
from forklore.model.finding import Finding, Report, Severity
from forklore.model.names import comparable
from forklore.testing.cuts import attempt, parent, timeline
from forklore.testing.stories import (
    Json,
    chat_bytes,
    conversation,
    entry,
    line,
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
from forklore.texts import words

STANDARD, STRICT = Policy(), Policy(strict=True)
KEY = "auto_recap_running_scene_recaps"
REASON = fact("header_missing")
PLACES = (fact("active", case="everywhere"), fact("active", case="persona"))


def queued(kind: str, status: str, *, entity: str | None = None, message: int | None = None, **case: str) -> Fact:
    """Return a waiting operation as it is told."""
    return fact("queued", operation=kind, status=status, entity=entity, message=message, **case)


def ready(*operations: Json, extra: Json | None = None, **metadata: Any) -> TimelineState:
    """Return a timeline whose last message closes a finished scene, with an idle queue unless told otherwise."""
    entries = [registry(0, "item", [registry_line(1, "item-Lamp")]), entry(1, "item-Lamp"), queue(operations)]
    last = message("Turn 2.", extra=scene(entries=snapshot(entries, "Lore")) if extra is None else extra)
    known = {**running_recap("Tale", [recap_version(0, 2)], 0), **metadata}
    return parent(known, [*conversation(2), last], entries)


def active(origin: TimelineState, *where: Fact) -> TimelineState:
    """Return a timeline whose lorebook is active in other places too."""
    assert origin.lorebook
    return replace(origin, lorebook=origin.lorebook._replace(active=where))


def codes(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in findings]


def told(report: Report, code: str) -> Finding:
    (found,) = [finding for finding in (*report.errors, *report.warnings) if finding.code == code]
    return found


class TestAReadyTimeline:
    @pytest.mark.req(1, 30, 151)
    @pytest.mark.parametrize("policy", [STANDARD, STRICT])
    def test_meets_every_requirement(self, policy: Policy) -> None:
        report = check(attempt(ready()), policy)

        assert report.valid
        assert report.to_json() == {
            "chat": "Mira/Tale",
            "at": 2,
            "valid": True,
            "errors": [],
            "warnings": [],
            "notes": [],
            "state": {
                "queueEmpty": True,
                "hasSceneBreak": True,
                "hasSceneRecap": True,
                "hasRunningRecap": True,
                "messageIndex": 2,
            },
        }


class TestTheMessage:
    @pytest.mark.req(10, 11, 34)
    @pytest.mark.parametrize("at", [-1, 3, 99])
    def test_must_exist(self, at: int) -> None:
        report = check(attempt(ready(), at), STANDARD)

        assert codes(report.errors) == ["MESSAGE_NOT_FOUND"]
        assert report.errors[0].message == f"Message not found: there is no message {at}"
        assert report.errors[0].params == {"at": at, "last": 2}
        assert report.errors[0].details == "The last message is 2."

    @pytest.mark.req(10)
    @pytest.mark.parametrize("at", [None, 0])
    def test_cannot_be_one_of_none(self, at: int | None) -> None:
        report = check(attempt(parent({}, []), at), STANDARD)

        assert codes(report.errors) == ["MESSAGE_NOT_FOUND"]
        assert report.errors[0].params == {"case": "empty", "at": at}
        assert report.errors[0].message == "Message not found: the chat has no messages yet"


class TestTheQueue:
    @pytest.mark.req(12, 13, 14, 15, 16, 31, 151, 154)
    @pytest.mark.parametrize("policy", [STANDARD, STRICT])
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_that_is_busy_blocks_with_count_and_list(self, kind: str, policy: Policy) -> None:
        operations = [
            operation(0, "in_progress", "merge_lorebook_entry", params={"entryUid": 12}),
            operation(1, "pending", "combine_scene_with_running", params={"index": 59}),
            operation(2, "retrying"),
            operation(3, "completed"),
        ]

        report = check(attempt(ready(*operations), kind=kind), policy)

        assert report.errors[0].to_json() == {
            "code": "QUEUE_NOT_EMPTY",
            "params": {
                "kind": kind,
                "count": 3,
                "pending": 1,
                "in_progress": 1,
                "retrying": 1,
                "operations": [
                    queued("merge_lorebook_entry", "in_progress", case="entity", entity="12"),
                    queued("combine_scene_with_running", "pending", case="message", message=59),
                    queued("lorebook_entry_lookup", "retrying"),
                ],
            },
            "severity": "error",
            "message": f"Cannot create {kind}: 3 operations in queue. Please wait for queue to finish.",
            "action": "Wait for all operations to complete",
            "details": "The queue is part of the lorebook: a fork made now would do the same work a second time, or"
            " lose it.\nQueue is not empty (1 pending, 1 in progress, 1 retrying):\n"
            'merge_lorebook_entry (entity: "12")\n'
            "combine_scene_with_running (message 59)\nlorebook_entry_lookup",
            "repairs": [],
        }
        assert not report.state.queue_empty

    @pytest.mark.req(14)
    def test_with_one_operation_says_so_in_the_singular(self) -> None:
        report = check(attempt(ready(operation())), STANDARD)

        assert report.errors[0].message.startswith("Cannot create checkpoint: 1 operation in queue.")
        assert "(1 pending, 0 in progress):" in report.errors[0].details

    @pytest.mark.req(13, 53)
    def test_with_leftovers_is_idle(self) -> None:
        leftovers = [operation(number, status) for number, status in enumerate(["cancelled", "failed", "completed"])]

        assert check(attempt(ready(*leftovers)), STRICT).valid

    @pytest.mark.parametrize("entries", [[queue(uid=1), queue(uid=2)], [queue() | {"content": "{"}]])
    def test_that_cannot_be_read_blocks(self, entries: list[Json]) -> None:
        report = check(attempt(parent({}, conversation(2), entries)), STANDARD)

        assert codes(report.errors) == ["QUEUE_UNREADABLE"]
        assert not report.state.queue_empty


class TestTheLorebook:
    @pytest.mark.req(44, 47)
    def test_that_is_missing_blocks(self) -> None:
        gone = BookState("Lore", "worlds/Lore.json", fault=MISSING)
        report = check(attempt(replace(parent({"world_info": "Lore"}, conversation(2)), lorebook=gone)), STANDARD)

        assert codes(report.errors) == ["LOREBOOK_MISSING"]
        assert report.errors[0].params == {"case": "fork", "lorebook": "Lore"}
        assert report.errors[0].message == "The lorebook “Lore” is missing"

    @pytest.mark.req(44, 47)
    def test_that_cannot_be_read_blocks(self) -> None:
        broken = BookState("Lore", "worlds/Lore.json", fault=UNREADABLE, reason=REASON)
        report = check(attempt(replace(parent({}, conversation(2)), lorebook=broken)), STANDARD)

        assert codes(report.errors) == ["LOREBOOK_UNREADABLE"]
        assert report.errors[0].params == {"lorebook": "Lore", "reason": REASON}
        assert report.errors[0].details == "The first line is not a header: it has no chat_metadata."

    def test_that_is_active_elsewhere_is_a_warning(self) -> None:
        report = check(attempt(active(ready(), *PLACES)), STRICT)

        assert codes(report.warnings) == ["LOREBOOK_ALSO_ACTIVE"]
        assert report.warnings[0].params == {"lorebook": "Lore", "places": list(PLACES)}
        assert all(words(place) in report.warnings[0].details for place in PLACES)

    def test_of_the_present_is_a_warning(self) -> None:
        report = check(attempt(parent({}, conversation(3), [entry(0, "a")]), 1), STRICT)

        assert codes(report.warnings) == ["LOREBOOK_FROM_PRESENT"]

    @pytest.mark.req(49, 50)
    def test_with_a_broken_registry_is_a_warning(self) -> None:
        origin = parent(running_recap("Tale", [], 0), conversation(2), [registry(0, "item", [registry_line(9, "x")])])

        finding = told(check(attempt(origin), STRICT), "REGISTRY_BROKEN")

        line = fact("registry_line", case="missing", registry="item", uid=9, name="x")
        assert finding.params == {"case": "fork", "lines": [line], "more": 0}
        assert "UID 9" in finding.details

    def test_with_many_broken_lines_names_ten_and_counts_the_rest(self) -> None:
        lines = [registry_line(number, "x") for number in range(100, 115)]

        finding = told(
            check(attempt(parent({}, conversation(2), [registry(0, "item", lines)])), STANDARD), "REGISTRY_BROKEN"
        )

        assert (len(finding.params["lines"]), finding.params["more"]) == (10, 5)
        assert finding.details.endswith("… and 5 more")

    @pytest.mark.req(54, 90)
    def test_that_is_not_attached_is_a_warning(self) -> None:
        report = check(attempt(parent(running_recap("Tale", [], 0), conversation(2))), STRICT)

        assert told(report, "NO_LOREBOOK").message == "No lorebook attached to current chat"
        assert "NO_LOREBOOK" in codes(report.warnings)


class TestTheScene:
    @pytest.mark.req(19, 27, 31, 154)
    @pytest.mark.parametrize("extra", [{}, scene(scene_break_visible=False), scene(scene_break=False)])
    def test_break_is_wanted(self, extra: Json) -> None:
        finding = told(check(attempt(ready(extra=extra)), STANDARD), "NO_SCENE_BREAK")

        assert finding.message == "Message is not a scene break"
        assert finding.action == "Mark this message as a scene break"
        assert finding.details.endswith("\nUse the clapperboard button to create scene break")
        assert finding.details.startswith("Message 2 is in the middle of a scene.")
        assert len(finding.steps) == 3

    @pytest.mark.req(21, 22, 27)
    @pytest.mark.parametrize("recap", ["", " \n "])
    def test_recap_is_wanted(self, recap: str) -> None:
        finding = told(check(attempt(ready(extra=scene(recap=recap))), STANDARD), "NO_SCENE_RECAP")

        assert finding.action == "Generate scene recap"
        assert finding.details.endswith("\nOpen scene break panel and click Generate")
        assert finding.steps[-1] == "Try again"

    @pytest.mark.req(26)
    def test_lorebook_work_is_wanted(self) -> None:
        report = check(attempt(ready(extra=scene(activated=0))), STANDARD)

        assert codes(report.warnings) == ["NO_LOREBOOK_ENTRY"]

    @pytest.mark.req(23, 24, 27)
    @pytest.mark.parametrize(
        "stored, wanted",
        [
            ({KEY: {"versions": [], "current_version": 0}}, True),
            ({KEY: {"versions": [recap_version(0, 2)]}}, True),
            ({KEY: {"versions": [recap_version(0, 2)], "current_version": 3}}, True),
            ({KEY: {"versions": [recap_version(0, 2)], "current_version": 0}}, False),
        ],
    )
    def test_running_recap_is_wanted_and_version_nought_is_one(self, stored: Json, wanted: bool) -> None:
        report = check(attempt(ready(**stored)), STANDARD)

        assert ("NO_RUNNING_RECAP" in codes(report.warnings)) is wanted
        assert report.state.has_running_recap is not wanted
        if wanted:
            assert told(report, "NO_RUNNING_RECAP").action == "Generate running scene recap"

    @pytest.mark.req(25)
    @pytest.mark.parametrize("ends, wanted", [(0, True), (1, True), (2, False)])
    def test_is_wanted_in_the_running_recap(self, ends: int, wanted: bool) -> None:
        report = check(attempt(ready(**running_recap("Tale", [recap_version(4, ends)], 4))), STANDARD)

        assert ("SCENE_NOT_IN_RUNNING_RECAP" in codes(report.warnings)) is wanted
        if wanted:
            assert f"Version 4 covers the story up to message {ends}." in report.warnings[0].details

    @pytest.mark.parametrize(
        "extra",
        [
            scene(stage1_lorebook_metadata={"entries": []}),
            scene(recap='{"stage1":{"sn":"x"}}'),
        ],
    )
    def test_recap_that_is_being_made_is_a_warning(self, extra: Json) -> None:
        report = check(attempt(ready(extra=extra)), STANDARD)

        assert told(report, "RECAP_IN_PROGRESS").params == {"messages": [2], "more": 0}

    def test_history_that_is_hidden_is_a_note(self) -> None:
        origin = parent({}, [message(f"Turn {n}.", is_system=True) for n in range(2)])

        report = check(attempt(origin), STRICT)

        assert codes(report.notes) == ["HISTORY_HIDDEN"]
        assert (report.errors, report.warnings) == ((), ())

    def test_history_with_one_visible_message_is_none(self) -> None:
        origin = parent({}, [message("Turn 0."), message("Turn 1.", is_system=True)])

        assert check(attempt(origin), STRICT).warnings == ()


class TestTheFlag:
    @staticmethod
    def origin(extra: object, *beside: str) -> TimelineState:
        read = parent({}, [*conversation(1), message("Turn 1.", extra=extra)])
        return replace(read, beside=frozenset(map(comparable, beside)))

    def test_of_an_earlier_checkpoint_goes_to_the_new_one_with_a_warning(self) -> None:
        origin = self.origin({"bookmark_link": "Before the storm"}, "Before the storm")

        found = check(attempt(origin), STRICT).warnings

        assert codes(found) == ["CHECKPOINT_REPLACED"]
        assert found[0].params == {"at": 1, "checkpoint": "Before the storm"}

    @pytest.mark.parametrize("extra", [{}, None, {"bookmark_link": ""}, {"bookmark_link": 1}, {"branches": ["There"]}])
    def test_of_nobody_is_free(self, extra: object) -> None:
        assert check(attempt(self.origin(extra, "There", "1")), STRICT).warnings == ()

    def test_that_leads_nowhere_is_free(self) -> None:
        origin = self.origin({"bookmark_link": "Gone"})

        assert check(attempt(origin), STRICT).warnings == ()

    def test_stays_when_a_branch_is_made(self) -> None:
        origin = self.origin({"bookmark_link": "There"}, "There")

        assert check(attempt(origin, kind="branch"), STRICT).warnings == ()

    def test_of_another_message_is_none_of_its_business(self) -> None:
        origin = self.origin({"bookmark_link": "There"}, "There")

        assert check(attempt(origin, 0), STRICT).warnings == ()


class TestDamage:
    @pytest.mark.req(44)
    def test_a_chat_that_cannot_be_read_blocks_and_nothing_else_is_asked(self) -> None:
        broken = timeline(Chat.from_bytes(b"nothing"))

        report = check(attempt(broken, damage=REASON, cuts={}), STRICT)

        assert codes(report.errors) == ["CHAT_DAMAGED"]
        assert report.errors[0].params == {"reason": REASON}

    def test_a_line_that_is_no_message_blocks_and_says_where(self) -> None:
        data = chat_bytes({}, conversation(2)) + b"\n" + b"\n".join([b"oops", line(message("The end.")), b"42"])
        origin = timeline(Chat.from_bytes(data))

        report = check(attempt(origin, 0), STANDARD)

        assert codes(report.errors) == ["CHAT_DAMAGED"]
        assert report.errors[0].params == {"reason": fact("lines_are_no_messages", lines=[4, 6], more=0)}

    @pytest.mark.parametrize(
        "broken",
        [
            b'{"extra":{"auto_recap_memory":{"scene_break":true',
            b'{"extra":{"auto_recap_memory":{"stage1_lorebook_metadata":{',
            b'{"extra":{"auto_summarize_memory":{',
        ],
    )
    @pytest.mark.parametrize("policy", [STANDARD, STRICT])
    def test_a_needed_line_that_is_broken_blocks(self, broken: bytes, policy: Policy) -> None:
        data = chat_bytes({}, conversation(2)) + b"\n" + broken + b"\n" + line(message("The end."))
        origin = timeline(Chat.from_bytes(data))

        report = check(attempt(origin), policy)

        assert codes(report.errors) == ["CHAT_DAMAGED"]
        assert report.errors[0].params["reason"]["params"]["message"] == 2


SOFT = {
    "NO_SCENE_BREAK": ready(extra={}),
    "NO_SCENE_RECAP": ready(extra=scene(recap="")),
    "NO_LOREBOOK_ENTRY": ready(extra=scene(activated=0)),
    "NO_RUNNING_RECAP": ready(**running_recap("Tale", [], 0)),
    "SCENE_NOT_IN_RUNNING_RECAP": ready(**running_recap("Tale", [recap_version(0, 1)], 0)),
    "RECAP_IN_PROGRESS": ready(extra=scene(stage1_lorebook_metadata={"x": 1})),
}


class TestPolicies:
    @pytest.mark.req(19, 21, 23, 25, 26, 27)
    @pytest.mark.parametrize("code", SOFT)
    def test_the_standard_warns_where_the_strict_one_blocks(self, code: str) -> None:
        asked = attempt(SOFT[code])

        assert code in codes(check(asked, STANDARD).warnings)
        assert check(asked, STANDARD).valid
        assert code in codes(check(asked, STRICT).errors)

    @pytest.mark.parametrize("code", SOFT)
    @pytest.mark.parametrize("policy", [STANDARD, STRICT])
    def test_a_setting_overrides_such_a_row(self, code: str, policy: Policy) -> None:
        asked = attempt(SOFT[code])

        blocks = check(asked, Policy(policy.strict, {code: Effect.BLOCK}))
        warns = check(asked, Policy(policy.strict, {code: Effect.WARN}))
        ignores = check(asked, Policy(policy.strict, {code: Effect.IGNORE}))

        assert code in codes(blocks.errors)
        assert code in codes(warns.warnings)
        assert code not in codes((*ignores.errors, *ignores.warnings))

    @pytest.mark.req(28, 151)
    def test_all_problems_are_told_at_once(self) -> None:
        origin = ready(operation(), extra={}, **running_recap("Tale", [], 0))

        report = check(attempt(active(origin, PLACES[0])), STRICT)

        assert codes(report.errors) == ["QUEUE_NOT_EMPTY", "NO_SCENE_BREAK", "NO_SCENE_RECAP", "NO_RUNNING_RECAP"]
        assert codes(report.warnings) == ["LOREBOOK_ALSO_ACTIVE"]

    @pytest.mark.req(28, 31)
    def test_every_problem_says_what_to_do(self) -> None:
        origin = ready(operation(), extra={}, **running_recap("Tale", [], 0))

        report = check(attempt(active(origin, PLACES[0])), STRICT)

        assert len(report.errors) >= 3
        assert all(finding.message and finding.action for finding in (*report.errors, *report.warnings))

    def test_every_requirement_has_a_code_of_its_own(self) -> None:
        rows = [requirement.code for requirement in REQUIREMENTS]

        assert len(set(rows)) == len(rows)
        assert [row.code for row in REQUIREMENTS if row.indispensable] == [
            "MESSAGE_NOT_FOUND",
            "CHAT_DAMAGED",
            "GROUP_FORMAT_OLD",
            "LOREBOOK_MISSING",
            "LINK_OUTSIDE",
            "LOREBOOK_UNREADABLE",
            "QUEUE_NOT_EMPTY",
            "QUEUE_UNREADABLE",
        ]


def at_fault(fault: str) -> TimelineState:
    """Return a timeline whose lorebook is not there to be read."""
    book = BookState("Lore", "worlds/Lore.json", fault=fault, reason=REASON)
    return replace(parent({"world_info": "Lore"}, conversation(2)), lorebook=book)


def old_party() -> TimelineState:
    """Return a group chat of an older SillyTavern, which has no header."""
    return timeline(Chat.from_bytes(b"\n".join(map(line, conversation(2)))), folder="group:17")


class Breach(NamedTuple):
    """A fork that one requirement is against, and what is told of it under the standard and the strict policy."""

    attempt: ForkAttempt
    standard: Severity
    strict: Severity
    params: Json


ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
WAITING = {"count": 1, "pending": 1, "in_progress": 0, "retrying": 0}
LOST = fact("registry_line", case="missing", registry="item", uid=9, name="x")

BREACHES: dict[str, Breach] = {
    "MESSAGE_NOT_FOUND": Breach(attempt(ready(), 3), ERROR, ERROR, {"at": 3, "last": 2}),
    "CHAT_DAMAGED": Breach(attempt(ready(), damage=REASON, cuts={}), ERROR, ERROR, {"reason": REASON}),
    "GROUP_FORMAT_OLD": Breach(attempt(old_party(), damage=REASON, cuts={}), ERROR, ERROR, {}),
    "LOREBOOK_MISSING": Breach(attempt(at_fault(MISSING)), ERROR, ERROR, {"case": "fork", "lorebook": "Lore"}),
    "LINK_OUTSIDE": Breach(
        attempt(at_fault(OUTSIDE)), ERROR, ERROR, {"case": "lorebook", "lorebook": "Lore", "reason": REASON}
    ),
    "LOREBOOK_UNREADABLE": Breach(attempt(at_fault(UNREADABLE)), ERROR, ERROR, {"lorebook": "Lore", "reason": REASON}),
    "QUEUE_NOT_EMPTY": Breach(
        attempt(ready(operation())),
        ERROR,
        ERROR,
        {"kind": "checkpoint", **WAITING, "operations": [queued("lorebook_entry_lookup", "pending")]},
    ),
    "QUEUE_UNREADABLE": Breach(
        attempt(parent({}, conversation(2), [queue(uid=1), queue(uid=2)])),
        ERROR,
        ERROR,
        {"reason": fact("several_queues", count=2)},
    ),
    "NO_SCENE_BREAK": Breach(attempt(SOFT["NO_SCENE_BREAK"]), WARNING, ERROR, {"at": 2}),
    "NO_SCENE_RECAP": Breach(attempt(SOFT["NO_SCENE_RECAP"]), WARNING, ERROR, {"at": 2}),
    "NO_LOREBOOK_ENTRY": Breach(attempt(SOFT["NO_LOREBOOK_ENTRY"]), WARNING, ERROR, {"at": 2}),
    "NO_RUNNING_RECAP": Breach(attempt(SOFT["NO_RUNNING_RECAP"]), WARNING, ERROR, {}),
    "SCENE_NOT_IN_RUNNING_RECAP": Breach(
        attempt(SOFT["SCENE_NOT_IN_RUNNING_RECAP"]), WARNING, ERROR, {"at": 2, "version": 0, "covered": 1}
    ),
    "RECAP_IN_PROGRESS": Breach(attempt(SOFT["RECAP_IN_PROGRESS"]), WARNING, ERROR, {"messages": [2], "more": 0}),
    "HISTORY_HIDDEN": Breach(
        attempt(parent({}, [message("Turn 0.", is_system=True)])), NOTE, NOTE, {"case": "fork", "at": 0}
    ),
    "CHECKPOINT_REPLACED": Breach(
        attempt(TestTheFlag.origin({"bookmark_link": "There"}, "There")),
        WARNING,
        WARNING,
        {"at": 1, "checkpoint": "There"},
    ),
    "LOREBOOK_ALSO_ACTIVE": Breach(
        attempt(active(ready(), *PLACES)), WARNING, WARNING, {"lorebook": "Lore", "places": list(PLACES)}
    ),
    "LOREBOOK_FROM_PRESENT": Breach(
        attempt(parent({}, conversation(3), [entry(0, "a")]), 1), WARNING, WARNING, {"case": "fork", "at": 1}
    ),
    "REGISTRY_BROKEN": Breach(
        attempt(parent({}, conversation(2), [registry(0, "item", [registry_line(9, "x")])])),
        WARNING,
        WARNING,
        {"lines": [LOST], "more": 0, "case": "fork"},
    ),
    "NO_LOREBOOK": Breach(attempt(parent(running_recap("Tale", [], 0), conversation(2))), WARNING, WARNING, {}),
}
INDISPENSABLE = [code for code, breach in BREACHES.items() if breach.standard is ERROR]
POLICIES = pytest.mark.parametrize("policy", [STANDARD, STRICT], ids=["standard", "strict"])


def listed(report: Report, code: str) -> list[Finding]:
    """Return what is told of a code, each from the list that its severity belongs in."""
    lists = {ERROR: report.errors, WARNING: report.warnings, NOTE: report.notes}
    return [
        each for severity, found in lists.items() for each in found if each.code == code and each.severity is severity
    ]


class TestEveryRequirement:
    def test_has_a_story_that_breaks_it(self) -> None:
        assert list(BREACHES) == [row.code for row in REQUIREMENTS]

    @POLICIES
    @pytest.mark.req(12, 19, 21, 23, 25, 26, 27, 31, 151)
    @pytest.mark.parametrize("code", BREACHES)
    def test_blocks_warns_or_notes_as_its_row_says(self, code: str, policy: Policy) -> None:
        broken = BREACHES[code]
        severity = broken.strict if policy.strict else broken.standard

        report = check(broken.attempt, policy)

        assert listed(report, code) == [Finding(code, severity, broken.params)]
        assert report.valid is not bool(report.errors)

    @POLICIES
    @pytest.mark.parametrize("effect", Effect)
    @pytest.mark.parametrize("code", INDISPENSABLE)
    def test_that_protects_data_blocks_whatever_a_setting_says(self, code: str, effect: Effect, policy: Policy) -> None:
        lowered = Policy(policy.strict, {code: effect})

        for each in (lowered, lowered.without(code)):
            report = check(BREACHES[code].attempt, each)

            assert listed(report, code) == [Finding(code, ERROR, BREACHES[code].params)]
            assert not report.valid

    @POLICIES
    @pytest.mark.parametrize("effect, severity", [(Effect.BLOCK, ERROR), (Effect.WARN, WARNING), (Effect.NOTE, NOTE)])
    @pytest.mark.parametrize("code", [code for code in BREACHES if code not in INDISPENSABLE])
    def test_that_does_not_does_what_a_setting_says(
        self, code: str, effect: Effect, severity: Severity, policy: Policy
    ) -> None:
        asked = BREACHES[code].attempt

        assert listed(check(asked, Policy(policy.strict, {code: effect})), code) == [
            Finding(code, severity, BREACHES[code].params)
        ]
        assert listed(check(asked, policy.without(code)), code) == []


def with_unfinished(*numbers: int) -> TimelineState:
    """Return a timeline in which the recaps of some of its 20 messages are being made."""
    begun = scene(stage1_lorebook_metadata={"x": 1})
    return parent({}, [message(f"Turn {n}.", extra=begun if n in numbers else {}) for n in range(20)])


class TestNearMisses:
    @pytest.mark.req(26, 28, 31)
    @pytest.mark.parametrize(
        "asked, expected",
        [
            (attempt(ready(extra=scene(scene_break=False, activated=0))), ["NO_SCENE_BREAK"]),
            (attempt(ready(extra=scene(recap="", activated=0))), ["NO_SCENE_RECAP"]),
            (attempt(ready(**{KEY: {"versions": [{"version": 0}], "current_version": 0}})), []),
            (attempt(SOFT["RECAP_IN_PROGRESS"], 3), ["MESSAGE_NOT_FOUND"]),
            (attempt(SOFT["NO_SCENE_BREAK"], damage=REASON, cuts={}), ["CHAT_DAMAGED"]),
            (attempt(parent({}, [message("Turn 0.", is_system=True)]), shows_last_scene=True), []),
            (attempt(replace(old_party(), address=ready().address), damage=REASON, cuts={}), ["CHAT_DAMAGED"]),
            (attempt(timeline(Chat.from_bytes(chat_bytes({}, conversation(2))), folder="group:17")), []),
        ],
        ids=[
            "no break",
            "no recap",
            "unknown end",
            "no message",
            "damaged",
            "its last scene is shown",
            "solo",
            "group",
        ],
    )
    @POLICIES
    def test_nothing_else_is_told(self, asked: ForkAttempt, expected: list[str], policy: Policy) -> None:
        report = check(asked, policy)

        assert codes((*report.errors, *report.warnings, *report.notes)) == expected

    @pytest.mark.parametrize(
        "unfinished, at, shown, more",
        [
            ([0, 5], 5, [0, 5], 0),
            ([0, 5], 4, [0], 0),
            (range(20), 11, list(range(10)), 2),
        ],
    )
    def test_every_unfinished_recap_up_to_the_message_is_told(
        self, unfinished: list[int], at: int, shown: list[int], more: int
    ) -> None:
        report = check(attempt(with_unfinished(*unfinished), at), STANDARD)

        assert told(report, "RECAP_IN_PROGRESS").params == {"messages": shown, "more": more}

    @pytest.mark.req(29, 35, 151)
    @pytest.mark.parametrize(
        "code, member",
        [
            ("QUEUE_NOT_EMPTY", "queueEmpty"),
            ("NO_SCENE_BREAK", "hasSceneBreak"),
            ("NO_SCENE_RECAP", "hasSceneRecap"),
            ("NO_RUNNING_RECAP", "hasRunningRecap"),
        ],
    )
    def test_the_state_says_which_of_the_four_predicates_does_not_hold(self, code: str, member: str) -> None:
        asked = BREACHES[code].attempt if code != "NO_SCENE_BREAK" else attempt(ready(extra=scene(scene_break=False)))
        holds = dict.fromkeys(("queueEmpty", "hasSceneBreak", "hasSceneRecap", "hasRunningRecap"), True)

        assert check(asked, STANDARD).state.to_json() == {**holds, member: False, "messageIndex": 2}

    def test_leaving_out_one_row_leaves_the_other_settings(self) -> None:
        policy = Policy(overrides={"NO_LOREBOOK": Effect.BLOCK}).without("NO_SCENE_BREAK")

        report = check(BREACHES["NO_LOREBOOK"].attempt, policy)

        assert codes(report.errors) == ["NO_LOREBOOK"]
        assert "NO_SCENE_BREAK" not in codes(report.warnings)


class TestPlainChats:
    @pytest.mark.parametrize("policy", [STANDARD, STRICT])
    @pytest.mark.parametrize(
        "metadata",
        [
            {},
            {"variables": {"a": 1}},
            {"auto_recap": {"checkpoint_lorebook_map": {"A": "B"}}},
            {"auto_recap_checkpoint_state": {"version": 2}, "forklore": {"format": 1}},
            {KEY: None, "auto_lorebooks": {}},
        ],
    )
    @pytest.mark.parametrize("entries", [None, [entry(0, "a")]])
    def test_see_nothing_of_recaps(self, metadata: Json, entries: list[Json] | None, policy: Policy) -> None:
        report = check(attempt(parent(metadata, conversation(3), entries)), policy)

        assert (report.errors, report.warnings) == ((), ())

    @pytest.mark.parametrize(
        "metadata",
        [
            running_recap("Tale", [], 0),
            {"auto_lorebooks": {"lorebookName": "Lore"}},
            {"autoLorebooks": {"pendingOps": {}}},
            {"auto_lorebooks_processed_recaps": ["x"]},
            {"auto_recap": {"combined_recap": {"message_count": 3}}},
        ],
    )
    def test_with_a_key_of_the_extension_are_none(self, metadata: Json) -> None:
        report = check(attempt(parent(metadata, conversation(3))), STANDARD)

        assert "NO_SCENE_BREAK" in codes(report.warnings)

    @pytest.mark.parametrize("entries", [[registry(0, "item")], [queue()]])
    def test_with_an_entry_of_the_extension_are_none(self, entries: list[Json]) -> None:
        report = check(attempt(parent({}, conversation(3), entries)), STANDARD)

        assert "NO_SCENE_BREAK" in codes(report.warnings)

    def test_with_a_message_of_the_extension_are_none(self) -> None:
        origin = parent({}, [message("Turn 0.", extra=scene()), message("Turn 1.")])

        assert "NO_SCENE_BREAK" in codes(check(attempt(origin), STANDARD).warnings)


class TestAsCut:
    @pytest.mark.req(25, 134)
    def test_requirements_see_the_running_recap_of_that_moment(self) -> None:
        versions = [recap_version(0, 1), recap_version(1, 4)]
        messages = [message("Turn 0."), message("Turn 1.", extra=scene()), *conversation(3, first=2)]
        origin = parent(running_recap("Tale", versions, 1), messages)

        report = check(attempt(origin, 1), STANDARD)

        assert "SCENE_NOT_IN_RUNNING_RECAP" not in codes(report.warnings)
        assert report.state.has_running_recap

    @pytest.mark.req(135)
    def test_requirements_see_the_registries_of_that_moment(self) -> None:
        then = [registry(0, "item", [registry_line(1, "item-Lamp")]), entry(1, "item-Lamp")]
        now = [registry(0, "item", [registry_line(7, "item-Gone")])]
        messages = [message("Turn 0.", extra=scene(entries=snapshot(then, "Lore"))), *conversation(3, first=1)]
        origin = parent({}, messages, now)

        assert "REGISTRY_BROKEN" not in codes(check(attempt(origin, 1), STANDARD).warnings)
        assert "REGISTRY_BROKEN" in codes(check(attempt(origin), STANDARD).warnings)

    def test_what_a_channel_finds_is_a_warning(self) -> None:
        stored = {"auto_recap": {"combined_recap": {"content": "x", "message_count": 9}}}

        report = check(attempt(parent(stored, conversation(9)), 3), STRICT)

        assert "COMBINED_RECAP_LEFT_OUT" in codes(report.warnings)
