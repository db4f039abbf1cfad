"""Making checkpoints and branches with the page."""

import json
import re
from pathlib import Path

import pytest

from forklore.testing.stories import chat_bytes, conversation, swiped, write_workspace
from tests.e2e.browsing import MAREN, PHONE, Tab, Visit, expect
from tests.edges.running import ILSE

BUSY_BOOK = "worlds/z-AutoLB-Ilse Brandt-Ilse Brandt - 2025-11-09@20h41m55s.json"


def chats(tab: Tab) -> set[str]:
    return {path.stem for path in (tab.root / "chats").rglob("*.jsonl")}


def finish_queue(root: Path) -> None:
    """Let the queue become idle, as ST-Auto-Recap does when it has finished."""
    book = json.loads((root / BUSY_BOOK).read_bytes())
    for entry in book["entries"].values():
        if entry["comment"] == "__operation_queue":
            entry["content"] = json.dumps({"queue": []})
    (root / BUSY_BOOK).write_text(json.dumps(book), "utf-8")


@pytest.mark.req(145, 146)
@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE], ids=["wide", "phone"])
def test_a_newcomer_makes_a_checkpoint_opens_it_sees_it_isolated_and_undoes_it(
    clean: Visit, viewport: dict[str, int]
) -> None:
    tab = clean(welcomed=False, viewport=viewport)
    tab.see("h2", "Three steps to your first checkpoint")

    tab.see("a.story", "Maren Tolliver").click()
    tab.press("Make a checkpoint")
    tab.see(".preview", "What will be made")
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")
    assert tab.page.locator(".step.done").count() == 4
    tab.press("Open it", "dialog")
    tab.see(".timeline-top .health-isolated", "Isolated")
    tab.see(".notice", "Checkpoint created").get_by_role("button", name="Undo").click()

    tab.see(".notice", "Undone")
    tab.see("h2", "This timeline is not there any more")
    assert len(chats(tab)) == 1


def test_a_double_click_makes_one_fork_and_stops_nothing(clean: Visit) -> None:
    tab = clean().go("story", MAREN)
    tab.press("Make a checkpoint")
    tab.see(".preview", "What will be made")

    tab.page.locator("dialog").get_by_role("button", name="Create checkpoint").dblclick()

    tab.see(".dialog-title", "Checkpoint created")
    assert len(list((tab.root / "chats" / "Maren Tolliver").iterdir())) == 2


def test_the_steps_of_a_fork_are_told_as_they_happen(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    tab.see(".preview")
    tab.press("Create checkpoint", "dialog")

    tab.see(".step.done", "Validating requirements")
    tab.see(".note-good", "Message is a scene break")
    tab.see(".note-good", re.compile(r"Running recap version: 3"))
    tab.see(".dialog-title", "Checkpoint created")
    expect(tab.page.locator(".steps-place [role=status]")).to_have_text("Checkpoint created")


def test_a_preview_says_what_is_kept_left_out_and_carried(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")

    preview = tab.see(".preview")
    expect(preview).to_contain_text("43 messages")
    expect(preview).to_contain_text("as it was at the last scene snapshot")
    expect(preview.locator(".facts > div", has_text="Recap versions kept")).to_contain_text("0, 1, 2, 3")
    expect(preview.locator(".facts > div", has_text="Left out, as they come later")).to_contain_text("4, 5")
    preview.locator("summary", has_text="files are touched").click()
    expect(preview.locator(".plan-create")).to_have_count(2)
    assert chats(tab) == {MAREN.split("/")[1]}


def test_what_came_from_the_present_and_what_was_left_out_is_told_of_a_fork_that_is_made(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    tab.see(".preview")
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")
    tab.see("dialog summary", "taken from the present").click()
    tab.see("dialog li", "Mark that the chat was edited")
    tab.see("dialog summary", "left out").click()

    expect(tab.page.locator("dialog .more[open]").last.locator("li")).not_to_have_count(0)


def test_a_typed_name_is_the_name_of_the_checkpoint(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN)
    tab.press("Make a checkpoint here")
    tab.page.get_by_label("Name (you may leave it empty)").fill("Before the tower 塔")
    tab.see(".preview", "Before the tower 塔")
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")

    assert "Before the tower 塔" in chats(tab)


def test_enter_in_the_name_makes_the_fork_even_when_the_preview_is_still_being_made(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    field = tab.page.get_by_label("Name (you may leave it empty)")
    field.press_sequentially("Before the tower")
    field.press("Enter")

    tab.see(".dialog-title", "Checkpoint created")
    assert "Before the tower" in chats(tab)
    assert len(chats(tab)) == 2


def test_enter_does_not_make_a_fork_of_a_taken_name(maren: Visit) -> None:
    tab = maren().go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    field = tab.page.get_by_label("Name (you may leave it empty)")
    field.fill("The key in hand - 2025-11-02@21h04m23s")
    field.press("Enter")
    tab.see(".refusal")

    assert len(chats(tab)) == 3


def test_enter_that_chooses_a_character_makes_no_fork(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    tab.see(".preview")
    composed = "new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, isComposing: true })"
    tab.page.get_by_label("Name (you may leave it empty)").evaluate(f"field => field.dispatchEvent({composed})")

    expect(tab.button("Create checkpoint", "dialog")).to_be_enabled()
    assert len(chats(tab)) == 1


def test_the_focus_comes_back_to_what_opened_a_dialog(maren: Visit) -> None:
    tab = maren().go("story", MAREN)
    opener = tab.button(re.compile("Make a branch of Branch #42"))
    opener.press("Enter")
    tab.see(".preview")
    tab.press("Create branch", "dialog")
    tab.see(".dialog-title", "Branch created")
    expect(tab.page.locator(".lane-row")).to_have_count(4)  # drawn anew behind the dialog
    tab.page.keyboard.press("Escape")

    expect(opener).to_be_focused()


def test_the_focus_comes_back_to_the_menu_that_opened_a_dialog(maren: Visit) -> None:
    tab = maren().go("timeline", MAREN)
    menu = tab.see(".timeline-head .menu summary")
    menu.click()
    tab.press("Delete…", ".menu")
    tab.see("dialog[open]")
    tab.page.keyboard.press("Escape")

    expect(menu).to_be_focused()


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE], ids=["wide", "phone"])
def test_a_notice_covers_neither_head_nor_buttons_of_a_dialog(clean: Visit, viewport: dict[str, int]) -> None:
    tab = clean(viewport=viewport)
    tab.go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    tab.see(".preview")
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")
    tab.press("Show the last scene", "dialog")
    parts = [tab.see("dialog .dialog-head"), tab.see("dialog .notice", "Repaired"), tab.see("dialog .dialog-foot")]
    edges = [
        part.evaluate("part => [part.getBoundingClientRect().top, part.getBoundingClientRect().bottom]")
        for part in parts
    ]

    assert edges[0][1] <= edges[1][0]
    assert edges[1][1] <= edges[2][0]


def test_a_notice_waits_behind_a_dialog_that_has_nothing_to_do_with_it(clean: Visit) -> None:
    tab = clean().go("story", MAREN)
    tab.press("Make a checkpoint")
    tab.see(".preview")
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")
    tab.press("Close", "dialog .dialog-foot")
    notice = tab.see(".notice", "Checkpoint created")
    tab.press(re.compile("^Make a checkpoint$"))
    tab.see("dialog .preview")
    expect(notice).to_be_hidden()
    tab.press("Cancel", "dialog .dialog-foot")

    expect(tab.page.locator("dialog")).to_have_count(0)
    notice.get_by_role("button", name="Undo").click()
    tab.see(".notice", "Undone")
    assert len(chats(tab)) == 1


def test_a_notice_that_was_told_beside_the_panel_of_a_phone_is_there_when_it_is_closed(clean: Visit) -> None:
    tab = clean(viewport=PHONE)
    tab.api("POST", "settings", {"policy": "strict"})
    tab.go("settings")
    tab.page.get_by_role("radio", name="Standard").check()
    notice = tab.see(".notice", "Saved")
    tab.go("timeline", MAREN)
    tab.press("Details", ".sheet-buttons")
    tab.see("dialog.sheet[open]")
    expect(notice).to_be_hidden()
    tab.page.keyboard.press("Escape")

    expect(notice).to_be_visible()


def test_a_taken_name_is_refused_while_one_types(maren: Visit) -> None:
    tab = maren().go("timeline", MAREN)
    tab.press("Make a checkpoint here")
    tab.page.get_by_label("Name (you may leave it empty)").fill("Branch #42 - 2025-11-02@21h05m23s")

    tab.see(".refusal", "Choose another name")
    expect(tab.button("Create checkpoint", "dialog")).to_be_disabled()


def test_the_last_scene_can_be_shown_to_the_model(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    tab.page.get_by_label("Show the last scene to the model").check()
    expect(tab.button("Create checkpoint", "dialog")).to_be_enabled()
    tab.press("Create checkpoint", "dialog")
    tab.press("Open it", "dialog")
    last = tab.see(".message[data-index='42']")

    expect(last.locator(".message-text")).to_be_visible()
    expect(last.locator(".message-hidden")).to_have_count(0)


def test_a_fork_whose_messages_are_hidden_can_show_them_afterwards(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    tab.see(".preview")
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")
    tab.press("Show the last scene to the model", "dialog")

    tab.see(".notice", "Repaired")
    expect(tab.page.locator("dialog").get_by_role("button", name="Undo")).to_have_count(1)
    tab.press("Undo", "dialog")
    expect(tab.page.locator("dialog[open]")).to_have_count(0)
    assert len(chats(tab)) == 1


def test_a_branch_goes_on_from_another_swipe(visit: Visit, tmp_path: Path) -> None:
    messages = [*conversation(3), swiped("Left.", "Right.", "Straight on.")]
    tab = visit(write_workspace(tmp_path / "w", {"chats/Mira/Story.jsonl": chat_bytes({}, messages)}))
    tab.go("timeline", "Mira/Story")
    tab.see(".timeline-head .menu").click()
    tab.press("Make a branch here")
    tab.page.get_by_label("Swipe it goes on from").select_option("1")
    expect(tab.button("Create branch", "dialog")).to_be_enabled()
    tab.press("Create branch", "dialog")
    tab.press("Open it", "dialog")

    tab.see(".message[data-index='3'] .message-text", "Right.")


@pytest.mark.req(17, 32, 148, 149)
def test_a_refusal_says_every_reason_and_what_to_do(busy: Visit) -> None:
    tab = busy().go("timeline", ILSE)
    blocked = tab.see(".message[data-index='63'] .fork-blocked")
    expect(blocked).to_have_attribute("title", re.compile(r"QUEUE_NOT_EMPTY"))
    expect(blocked).to_have_accessible_name(re.compile(r"The operation queue is not empty \(QUEUE_NOT_EMPTY\)"))
    blocked.click()

    refusal = tab.see(".refusal", "Cannot Create Checkpoint")
    expect(refusal).to_contain_text("The following requirements must be met:")
    expect(refusal.locator("ol > li")).to_contain_text(["Cannot create checkpoint: 4 operations in queue."])
    expect(refusal).to_contain_text("Wait for all operations to complete")
    expect(refusal).to_contain_text("“Create when ready”")
    assert len(chats(tab)) == 1


def test_a_refusal_numbers_the_steps_to_what_is_missing(clean: Visit) -> None:
    tab = clean()
    tab.api("POST", "settings", {"policy": "strict"})
    tab.go("timeline", MAREN, 68)
    tab.press("Make a checkpoint here")

    missing = tab.see(".reasons > [data-code=NO_SCENE_RECAP]", "Scene has no recap")
    expect(missing.locator(".finding-why")).to_contain_text("full narrative context")
    expect(missing.locator(".finding-action")).to_contain_text("Generate scene recap")
    expect(missing.locator(".finding-steps > li")).to_contain_text(
        ["scene break panel of message 68", "“Generate”", "Wait for generation to complete", "Try again"]
    )


@pytest.mark.req(18)
def test_a_fork_that_waits_is_made_when_the_queue_is_idle(busy: Visit) -> None:
    tab = busy().go("timeline", ILSE)
    tab.press("Make a checkpoint here")
    tab.press("Create when ready", "dialog")
    tab.see(".queue-place", "Waiting for the queue")
    expect(tab.page.locator(".queue-place .queue > li")).to_have_count(4)
    finish_queue(tab.root)

    tab.see(".dialog-title", "Checkpoint created")
    assert len(chats(tab)) == 2


def test_waiting_can_be_given_up(busy: Visit) -> None:
    tab = busy().go("timeline", ILSE)
    tab.press("Make a checkpoint here")
    tab.press("Create when ready", "dialog")
    tab.see(".queue-place", "Waiting for the queue")
    tab.press("Stop waiting", "dialog")

    tab.see(".fork-form")
    assert len(chats(tab)) == 1


def test_a_fork_can_be_undone_where_it_was_made(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN)
    tab.press("Make a checkpoint here")
    tab.see(".preview")
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")
    tab.press("Undo", "dialog")

    expect(tab.page.locator("dialog[open]")).to_have_count(0)
    assert len(chats(tab)) == 1


def test_another_message_can_be_chosen_in_the_dialog(clean: Visit) -> None:
    tab = clean().go("story", MAREN)
    tab.press("Make a checkpoint")
    tab.page.get_by_label("At message").fill("10")

    expect(tab.see(".preview")).to_contain_text("11 messages")
    tab.press(re.compile("Last message"), "dialog")
    expect(tab.see(".preview")).to_contain_text("69 messages")


def test_a_message_that_is_not_there_is_refused(clean: Visit) -> None:
    tab = clean().go("story", MAREN)
    tab.press("Make a checkpoint")
    tab.page.get_by_label("At message").fill("900")

    tab.see(".refusal", "MESSAGE_NOT_FOUND")
