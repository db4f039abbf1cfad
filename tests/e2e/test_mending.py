"""Findings, repairs, isolating, deleting, and the way back from each."""

import json
import re
from pathlib import Path

import pytest

from forklore.testing.stories import chat_bytes, conversation, write_workspace
from tests.e2e.browsing import MAREN, PHONE, Tab, Visit, expect
from tests.e2e.workspaces import FOREST, many_sharing, much_to_examine

BRANCH = "Maren Tolliver/Branch #42 - 2025-11-02@21h05m23s"
KEY = "Maren Tolliver/The key in hand - 2025-11-02@21h04m23s"


def lost_book(root: Path) -> Path:
    """A story that names a lorebook nobody has."""
    return write_workspace(root, {"chats/Mira/Lost.jsonl": chat_bytes({"world_info": "Gone"}, conversation(4))})


def is_there(tab: Tab, chat: str) -> bool:
    return (tab.root / "chats" / f"{chat}.jsonl").exists()


def test_a_repair_shows_its_plan_is_made_and_can_be_undone(visit: Visit, tmp_path: Path) -> None:
    tab = visit(lost_book(tmp_path / "w")).go("timeline", "Mira/Lost", "health")
    tab.see(".finding", "LOREBOOK_MISSING")
    tab.press("Repair…")
    choice = tab.see(".choice", "Make an empty lorebook")
    expect(choice.locator(".plan-create")).to_contain_text("worlds/Gone.json")
    choice.get_by_role("radio").check()
    tab.press("Make this repair", "dialog")
    notice = tab.see(".notice", "Repaired")
    expect(tab.page.locator(".finding")).to_have_count(0)
    assert (tab.root / "worlds" / "Gone.json").exists()
    notice.get_by_role("button", name="Undo").click()

    tab.see(".finding", "LOREBOOK_MISSING")


def test_isolating_shows_its_plan_first_and_makes_the_timeline_isolated(maren: Visit) -> None:
    tab = maren().go("timeline", BRANCH)
    tab.see(".timeline-top .health-leaks")
    tab.see(".timeline-head .menu").click()
    tab.press("Isolate…", ".menu")
    expect(tab.see("dialog .plan-create")).to_contain_text("__BR_")
    tab.press("Isolate", "dialog")
    tab.see(".dialog-title", "Isolated")
    tab.press("Close", "dialog .dialog-foot")

    tab.see(".timeline-top .health-isolated")


def test_one_dialog_isolates_all_forks_of_a_story_and_each_can_be_undone(maren: Visit) -> None:
    tab = maren().go("story", MAREN)
    tab.press("Isolate all…")
    expect(tab.see("dialog .row", "Branch #42")).to_contain_text("It gets its own lorebook with 32 entries.")
    expect(tab.see("dialog .row", "The key in hand")).to_contain_text("6 entries of other timelines are left out")
    tab.press("Isolate 2 timelines", "dialog")
    tab.see(".dialog-title", "2 timelines isolated")
    expect(tab.page.locator(".lane-row .health-isolated")).to_have_count(3)
    tab.press(re.compile("Undo: Branch #42"), "dialog")
    expect(tab.see("dialog .row", "Branch #42")).to_contain_text("undone")
    tab.press("Close", "dialog .dialog-foot")

    expect(tab.page.locator(".lane-row .health-leaks")).to_have_count(2)


def test_a_fork_that_cannot_be_isolated_is_named_with_the_reason_before_anything_is_done(busy: Visit) -> None:
    tab = busy()
    chat = next((tab.root / "chats" / "Ilse Brandt").glob("*.jsonl"))
    header, *lines = chat.read_bytes().splitlines(keepends=True)
    native = json.loads(header)
    native["chat_metadata"] |= {"main_chat": chat.stem, "integrity": "another"}
    (chat.parent / "Branch #1 - Ilse.jsonl").write_bytes(b"".join((json.dumps(native).encode(), b"\n", *lines[:30])))
    tab.go("story", f"Ilse Brandt/{chat.stem}")
    tab.press("Isolate all…")

    expect(tab.see("dialog .refusal")).to_contain_text("QUEUE_NOT_EMPTY")
    expect(tab.see("dialog .refusal")).not_to_contain_text("Create when ready")
    expect(tab.button(re.compile("^Isolate"), "dialog")).to_have_count(0)


def test_the_check_up_isolates_all_that_share_in_one_go(maren: Visit) -> None:
    tab = maren().go("doctor")
    tab.press("Examine everything")
    tab.see(".callout-bad", "Memories leak in 3 timelines")
    tab.press("Isolate all…")
    tab.press("Isolate 2 timelines", "dialog")
    tab.see(".dialog-title", "2 timelines isolated")
    tab.press("Close", "dialog .dialog-foot")

    tab.see(".emptiness", "Everything is in order")


def another_tab(tab: Tab) -> Tab:
    """Close a tab and open another one of the same browser, where one is still logged in."""
    page = tab.page.context.new_page()
    tab.page.close()
    return Tab(page, tab.served, tab.errors)


def test_isolating_all_goes_on_in_a_closed_tab_and_the_next_one_shows_it_instead_of_beginning_again(
    visit: Visit, tmp_path: Path
) -> None:
    tab = visit(many_sharing(tmp_path / "w", 300)).go("story", FOREST)
    tab.press("Isolate all…")
    tab.press("Isolate 300 timelines", "dialog")
    tab.see("dialog .progress")
    tab = another_tab(tab).go("story", FOREST)
    tab.see(".work .progress", "Isolating…")
    tab.press("Isolate all…")
    tab.press("Stop here", "dialog")

    tab.see("dialog", re.compile(r"Isolate \d+ timelines?"))
    left = tab.page.locator("dialog .row").count()
    done = tab.api("GET", "log")["operations"]
    assert 0 < left == 300 - len(done)


def test_isolating_all_goes_on_in_a_closed_tab_and_a_later_one_shows_what_came_of_it(
    visit: Visit, tmp_path: Path
) -> None:
    tab = visit(many_sharing(tmp_path / "w", 30)).go("story", FOREST)
    tab.press("Isolate all…")
    tab.press("Isolate 30 timelines", "dialog")
    tab.see("dialog .progress")
    tab = another_tab(tab).go("settings")
    tab.see(".work", "Isolating has ended.")
    tab.page.reload()
    tab.see(".work", "Isolating has ended.")
    tab.press("Show", ".work")
    tab.see(".dialog-title", "30 timelines isolated")
    tab.press(re.compile("Undo: Path 7$"), "dialog")
    expect(tab.see("dialog .row", "Path 7")).to_contain_text("undone")
    tab.press("Close", "dialog .dialog-foot")
    tab.page.reload()

    tab.see("h1", "Settings")
    expect(tab.page.locator(".work")).to_have_count(0)


def test_a_finding_of_a_shared_book_offers_to_isolate_or_to_share_on_purpose(maren: Visit) -> None:
    tab = maren().go("timeline", BRANCH, "health")
    finding = tab.see(".finding", "SHARED_LOREBOOK")
    finding.get_by_role("button", name="Repair…").click()
    expect(tab.see(".choice", "Isolate").locator(".plan li")).to_have_count(2)
    tab.see(".choice", "shared on purpose").get_by_role("radio").check()
    tab.press("Make this repair", "dialog")

    tab.see(".notice", "Repaired")
    expect(tab.page.locator(".finding", has_text="SHARED_LOREBOOK")).to_have_count(0)


def test_a_main_chat_whose_book_others_use_is_not_called_isolated(maren: Visit) -> None:
    tab = maren().go("timeline", MAREN)

    finding = tab.see(".finding", "SHARED_LOREBOOK")
    finding.get_by_role("button", name="Repair…").click()
    tab.see(".choice", "Give each of the other timelines that use it a lorebook of its own").get_by_role(
        "radio"
    ).check()
    tab.press("Make this repair", "dialog")

    tab.see(".notice", "Repaired")
    tab.see(".timeline-top .health-isolated", "Isolated")


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE], ids=["wide", "phone"])
def test_the_contamination_report_says_who_wrote_what(maren: Visit, viewport: dict[str, int]) -> None:
    tab = maren(viewport=viewport).go("contamination", BRANCH)

    tab.see(".card", "3 timelines share this lorebook.")
    entry = tab.see(".entry", "character-Pim")
    expect(entry).to_contain_text("certain")
    expect(entry.locator(".keeps")).to_have_count(2)
    expect(entry.locator(".loses")).to_contain_text("The key in hand")
    assert tab.page.evaluate("document.querySelector('.entries').scrollWidth <= window.innerWidth")


def test_a_long_contamination_report_comes_as_one_reads_on(visit: Visit, tmp_path: Path) -> None:
    tab = visit(many_sharing(tmp_path / "w", 2, entries=130)).go("contamination", FOREST)
    tab.see("summary", "130 entries that every timeline keeps").click()
    entries = tab.page.locator(".entry")
    expect(entries).to_have_count(50)
    asked = [each for each in tab.asked if "contamination" in each]
    assert len(asked) == 1
    tab.button("Show more entries").scroll_into_view_if_needed()
    expect(entries).to_have_count(100)
    tab.api("POST", "isolate", {"chat": "Forest/Path 1"})
    tab.see(".card", "2 timelines share this lorebook.")
    expect(entries).to_have_count(100)
    tab.button("Show more entries").scroll_into_view_if_needed()

    expect(entries).to_have_count(130)
    expect(tab.button("Show more entries")).to_have_count(0)
    names = tab.page.locator(".entry-name").all_inner_texts()
    assert names == [f"character-{number:03}" for number in range(130)]


def test_the_doctor_examines_everything_and_says_what_it_found(maren: Visit) -> None:
    tab = maren().go("doctor")
    tab.press("Examine everything")

    tab.see(".doctor-sum", re.compile(r"\d+ findings"))
    expect(tab.page.locator(".doctor-result .card")).to_have_count(3)
    tab.go("stories").go("doctor")
    tab.see(".doctor-sum")


def test_the_doctor_mends_what_is_safe_and_tells_what_it_mended(clean: Visit) -> None:
    tab = clean()
    tab.api("POST", "checkpoint", {"chat": MAREN, "name": "Kept"})
    folder = tab.root / "chats" / "Maren Tolliver"
    (folder / "Kept.jsonl").rename(folder / "Renamed.jsonl")
    tab.go("doctor")
    tab.press("Examine everything")
    tab.see(".finding", "CHAT_RENAMED")
    tab.press("Mend what is safe")
    tab.press("Mend what is safe", "dialog")

    tab.see(".card", "Follow the new name")
    expect(tab.page.locator(".finding", has_text="CHAT_RENAMED")).to_have_count(0)


def test_mending_what_is_safe_is_offered_only_where_something_is(maren: Visit) -> None:
    tab = maren().go("doctor")
    tab.press("Examine everything")

    tab.see(".doctor-sum", "Nothing here can be mended without your choice")
    expect(tab.button("Mend what is safe")).to_have_count(0)


@pytest.mark.slow
def test_an_examination_tells_how_far_it_is_and_can_be_cancelled(visit: Visit, tmp_path: Path) -> None:
    tab = visit(much_to_examine(tmp_path / "w")).go("doctor")
    tab.press("Examine everything")
    tab.see(".progress", re.compile(r"Examining… \d+ %"))
    tab.press("Cancel", ".doctor-result")

    tab.see(".doctor-result", "Cancelled. Nothing was changed.")


def test_everything_in_order_is_said(clean: Visit) -> None:
    tab = clean().go("doctor")
    tab.press("Examine everything")

    tab.see(".emptiness", "Everything is in order")


def test_a_timeline_goes_to_the_trash_and_comes_back_by_undo(maren: Visit) -> None:
    tab = maren().go("timeline", KEY)
    tab.see(".timeline-head .menu").click()
    tab.press("Delete…", ".menu")
    tab.press("Move to the trash", "dialog")
    notice = tab.see(".notice", "In the trash")
    tab.see("h1", "Maren Tolliver")
    assert not is_there(tab, KEY)
    notice.get_by_role("button", name="Undo").click()

    tab.see(".lane-row", "The key in hand")
    assert is_there(tab, KEY)


def test_deleting_a_parent_says_that_its_forks_stay(maren: Visit) -> None:
    tab = maren().go("timeline", MAREN)
    tab.see(".timeline-head .menu").click()
    tab.press("Delete…", ".menu")

    tab.see("dialog .callout-warn", "It has 2 forks, which stay whole")
    tab.press("Move to the trash", "dialog")
    tab.see(".notice", "In the trash")
    assert is_there(tab, KEY)


def test_any_operation_of_the_history_can_be_undone(clean: Visit) -> None:
    tab = clean()
    first = tab.api("POST", "checkpoint", {"chat": MAREN, "name": "First"})
    tab.api("POST", "checkpoint", {"chat": MAREN, "name": "Second"})
    tab.go("log")
    item = tab.see(f".log-item[data-operation='{first['operation']}']", "First")
    item.get_by_role("button", name=re.compile("Undo")).click()

    expect(item).to_contain_text("undone")
    assert not is_there(tab, "Maren Tolliver/First")
    assert is_there(tab, "Maren Tolliver/Second")


def test_an_undo_that_is_refused_says_why_in_its_place_and_leads_to_what_comes_first(clean: Visit) -> None:
    tab = clean()
    made = tab.api("POST", "checkpoint", {"chat": MAREN, "name": "First"})
    deleted = tab.api("POST", "delete", {"chat": made["chat"]})
    tab.go("log")
    item = tab.see(f".log-item[data-operation='{made['operation']}']", "First")
    item.get_by_role("button", name=re.compile("Undo")).click()

    expect(item.locator(".log-reason")).to_contain_text("went to the trash later, with the deletion #2.")
    item.get_by_role("button", name="First undo: Deleted First").click()
    later = tab.page.locator(f".log-item[data-operation='{deleted['operation']}'] > button")
    expect(later).to_be_focused()
    later.press("Enter")
    expect(tab.page.locator(f".log-item[data-operation='{deleted['operation']}']")).to_contain_text("undone")
    assert is_there(tab, "Maren Tolliver/First")


def test_what_was_undone_can_be_done_again(clean: Visit) -> None:
    tab = clean()
    tab.api("POST", "checkpoint", {"chat": MAREN, "name": "First"})
    undone = tab.api("POST", "undo", {})
    tab.go("log")
    tab.see(f".log-item[data-operation='{undone['operation']}']").get_by_role("button", name=re.compile("Redo")).click()

    tab.see(".notice", "Done again")
    assert is_there(tab, "Maren Tolliver/First")


def test_the_history_says_what_was_undone_and_what_was_done_again(clean: Visit) -> None:
    tab = clean()
    tab.api("POST", "checkpoint", {"chat": MAREN, "name": "First"})
    undone = tab.api("POST", "undo", {})["operation"]
    tab.go("log")
    expect(tab.see(f".log-item[data-operation='{undone}']")).to_contain_text("Undone: Checkpoint First")
    again = tab.api("POST", "undo", {"operation": undone})["operation"]

    row = tab.see(f".log-item[data-operation='{again}']", "Done again: Checkpoint First")
    row.get_by_role("button", name=re.compile("^Undo")).click()
    tab.see(".notice", "Undone")
    assert not is_there(tab, "Maren Tolliver/First")


def test_the_history_is_in_order_and_numbered_whatever_the_clock_said(clean: Visit) -> None:
    tab = clean()
    made = [tab.api("POST", "checkpoint", {"chat": MAREN, "name": f"At {day}"})["operation"] for day in (1, 2, 3)]
    path = tab.root / f".forklore/operations/{made[1]}.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "when": "2020-01-01T12:00:00.000Z"}), "utf-8")
    tab.go("log").see(".log-item")

    shown = tab.page.locator(".log-item")
    assert shown.evaluate_all("all => all.map((each) => each.dataset.operation)") == made[::-1]
    assert [re.findall(r"#\d+", text) for text in shown.all_inner_texts()] == [["#3"], ["#2"], ["#1"]]
    assert tab.page.locator(".log-day").count() == 3


def test_a_history_without_operations_says_so(clean: Visit) -> None:
    clean().go("log").see(".emptiness", "Nothing was changed yet")


def test_something_in_the_trash_is_put_back(maren: Visit) -> None:
    tab = maren()
    tab.api("POST", "delete", {"chat": KEY})
    tab.go("trash")
    tab.press(re.compile("Put back .*The key in hand"))

    tab.see(".notice", "Back in its place")
    assert is_there(tab, KEY)


@pytest.mark.parametrize("removed_by", ["delete", "undo"])
def test_a_timeline_in_the_trash_is_one_thing_and_comes_back_with_its_lorebook(clean: Visit, removed_by: str) -> None:
    tab = clean()
    made = tab.api("POST", "checkpoint", {"chat": MAREN, "name": "Kept"})
    tab.api("POST", removed_by, {"chat": made["chat"]} if removed_by == "delete" else {})
    tab.go("trash")
    expect(tab.page.locator(".trash .row")).to_have_count(1)
    row = tab.see(".trash .row", "Kept")
    expect(row).to_contain_text("Timeline with its lorebook")
    row.locator("summary").click()
    expect(row.locator(".path")).to_have_count(2)
    tab.press("Put back Kept")

    expect(tab.see(".notice", "Back in its place: Kept")).to_contain_text("Its lorebook is back too.")
    assert is_there(tab, made["chat"])
    assert (tab.root / "worlds" / f"{made['lorebook']}.json").exists()
    tab.see(".emptiness", "The trash is empty")


def test_a_lorebook_that_went_alone_stands_alone_in_the_trash(maren: Visit) -> None:
    tab = maren()
    tab.api("POST", "isolate", {"all": True})
    tab.api("POST", "undo", {})
    tab.api("POST", "delete", {"chat": BRANCH})
    tab.go("trash")

    expect(tab.page.locator(".trash .row")).to_have_count(2)
    tab.see(".trash .row", "Timeline with its lorebook")
    tab.see(".trash .row", re.compile(r"Lorebook · \d+ kB"))


def test_the_trash_is_emptied_only_after_a_clear_yes(maren: Visit) -> None:
    tab = maren()
    tab.api("POST", "delete", {"chat": KEY})
    tab.go("trash")
    tab.page.get_by_label("Delete for good what is older than").fill("0")
    tab.press("Delete for good…")
    expect(tab.see("dialog")).to_contain_text("This cannot be undone.")
    expect(tab.button("Delete for good…", "dialog")).to_be_disabled()
    tab.page.get_by_label("I understand that these files are gone afterwards").check()
    tab.press("Delete for good…", "dialog")

    tab.see(".notice", "deleted for good")
    tab.see(".emptiness", "The trash is empty")


def test_leftovers_are_listed_and_go_to_the_trash(clean: Visit) -> None:
    tab = clean()
    made = tab.api("POST", "checkpoint", {"chat": MAREN, "name": "Kept"})
    (tab.root / "chats" / f"{made['chat']}.jsonl").unlink()
    tab.go("trash")
    tab.press("Look for leftovers")
    tab.see(".leftovers", "__CP_Kept")
    tab.press("Move to the trash", ".leftovers")
    tab.press("Move to the trash", "dialog")

    tab.see(".notice", "Leftovers are in the trash")
    assert not (tab.root / "worlds" / f"{made['lorebook']}.json").exists()
