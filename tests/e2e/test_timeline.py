"""Reading a timeline."""

import json
import re
from pathlib import Path

import pytest

from tests.e2e.browsing import MAREN, PHONE, Visit, expect
from tests.e2e.workspaces import LONG, many_messages
from tests.edges.running import ILSE

# A row counts when somebody can have read it before the step and can still see it after.
JUMPS = """async (steps) => {
    const feed = document.querySelector(".feed");
    feed.dispatchEvent(new WheelEvent("wheel"));
    const { top, bottom } = feed.getBoundingClientRect();
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const readable = () => [...document.querySelectorAll(".message:not(.message-away)")];
    let known = new Set(readable().map((each) => each.dataset.index));
    let [looks, jumps] = [0, 0];
    for (let step = 0; step < steps; step += 1) {
        const rows = readable();
        const row = rows.find((each) => {
            const at = each.getBoundingClientRect().top;
            return known.has(each.dataset.index) && at > top + 50 && at + 70 < bottom;
        });
        const before = row?.getBoundingClientRect().top;
        known = new Set(rows.map((each) => each.dataset.index));
        feed.scrollTop -= 70;
        await frame();
        const same = row && document.querySelector(`.message[data-index="${row.dataset.index}"]`);
        if (same) looks += 1;
        if (same && Math.abs(same.getBoundingClientRect().top - before - 70) > 2) jumps += 1;
    }
    return [looks > steps / 4, jumps];
}"""


@pytest.mark.slow
def test_a_long_chat_opens_at_its_end_and_only_what_is_in_view_is_read(visit: Visit, tmp_path: Path) -> None:
    tab = visit(many_messages(tmp_path / "w")).go("timeline", LONG)

    expect(tab.see(".message[data-index='19999'] .message-text")).to_be_in_viewport()
    assert tab.page.locator(".message").count() < 60
    assert sum("/api/messages" in asked for asked in tab.asked) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("latency", [0, 300])
def test_nothing_jumps_while_one_scrolls_through_messages_of_unknown_height(
    visit: Visit, tmp_path: Path, latency: int
) -> None:
    tab = visit(many_messages(tmp_path / "w")).go("timeline", LONG)
    tab.see(".message[data-index='19999'] .message-text")
    tab.see(".timeline-top .badge")
    network = {"offline": False, "latency": latency, "downloadThroughput": -1, "uploadThroughput": -1}
    tab.page.context.new_cdp_session(tab.page).send("Network.emulateNetworkConditions", network)

    assert tab.page.evaluate(JUMPS, 120) == [True, 0]


@pytest.mark.slow
def test_any_message_is_one_jump_away(visit: Visit, tmp_path: Path) -> None:
    tab = visit(many_messages(tmp_path / "w")).go("timeline", LONG)
    where = tab.page.get_by_role("spinbutton", name="Go to message")
    where.fill("9876")
    where.press("Enter")

    expect(tab.see(".message[data-index='9876'] .message-text")).to_be_in_viewport()
    tab.press("First message")
    expect(tab.see(".message[data-index='0'] .message-text")).to_be_in_viewport()


def test_a_message_that_is_written_meanwhile_appears(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN)
    tab.see(".message[data-index='68'] .message-text")
    path = tab.root / "chats" / f"{MAREN}.jsonl"
    line = {"name": "Wren", "is_user": True, "mes": "And then the lamp went out.", "extra": {}}
    path.write_bytes(path.read_bytes().rstrip(b"\n") + b"\n" + json.dumps(line).encode())

    expect(tab.see(".message[data-index='69'] .message-text", "And then the lamp went out.")).to_be_in_viewport()


def test_two_changes_at_once_leave_no_message_unread(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN)
    tab.see(".message[data-index='68'] .message-text")

    read = tab.page.evaluate(
        """async (chat) => {
            const { Pages } = await import("/page/js/pages.js");
            const read = [];
            const signal = new AbortController().signal;
            const pages = new Pages(chat, { arrived: (page) => read.push(page.start), failed: () => {}, signal });
            await Promise.all([pages.fetch(1), pages.again(), pages.again()]);
            return read;
        }""",
        MAREN,
    )

    assert read == [50]


@pytest.mark.req(148)
def test_a_message_where_a_fork_can_be_made_says_so(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN)

    expect(tab.see(".message[data-index='68'] .fork-ready")).to_have_accessible_name("Create checkpoint (ready ✓)")


def test_here_is_the_message_that_the_button_names(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN)
    tab.see(".message[data-index='68'] .message-text")
    button, where = tab.see(".head-actions > .button"), tab.page.get_by_role("spinbutton", name="Go to message")
    expect(button).to_have_text("Make a checkpoint here (#68)")
    where.fill("20")
    where.press("Enter")
    expect(button).to_have_text("Make a checkpoint here (#20)")
    tab.page.locator(".feed").hover()
    tab.page.mouse.wheel(0, 1500)
    expect(button).not_to_have_text("Make a checkpoint here (#20)")
    number = (button.text_content() or "").rpartition("#")[2].rstrip(")")
    assert where.get_attribute("placeholder") == number
    button.click()

    expect(tab.page.get_by_label("At message", exact=True)).to_have_value(number)


def test_scene_breaks_have_names_and_are_one_jump_away(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, "scenes")
    tab.see(".scene-jump", "The Drowned Stair 22-31").click()

    expect(tab.see(".message[data-index='31'] .scene", "The Drowned Stair 22-31")).to_be_in_viewport()


def test_the_recap_tells_what_was_known_at_a_message(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 31)
    tab.see(".message[data-index='31']").get_by_role("button", name="What the recap says at message 31").click()

    expect(tab.see(".recap")).to_contain_text("Recap at message 31")
    expect(tab.see(".recap")).to_contain_text("version 2")


def test_the_recap_of_the_last_scene_is_told_in_words(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 42)
    tab.see(".message[data-index='42']").get_by_role("button", name="What the recap says at message 42").click()
    scene = tab.see(".recap section", "Last scene")

    expect(scene.locator("li", has_text="[Pim] child rumour-seller")).to_be_visible()
    expect(scene).to_contain_text("Open questions")
    expect(scene).not_to_contain_text("stage1")


def test_a_message_links_to_the_forks_that_left_there(maren: Visit) -> None:
    tab = maren().go("timeline", MAREN, 31)
    tab.see(".message[data-index='31'] .message-links a", "The key in hand").click()

    tab.see("h1", "The key in hand")
    tab.see(".badges", re.compile("from Maren Tolliver at message 31"))


def test_a_line_that_cannot_be_read_is_shown_as_such(clean: Visit) -> None:
    tab = clean()
    path = tab.root / "chats" / f"{MAREN}.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[66] = b"not json"
    path.write_bytes(b"\n".join(lines))
    tab.go("timeline", MAREN)

    tab.see(".message[data-index='65'] .message-damaged")


def test_operations_of_the_queue_can_be_cancelled_and_that_undone(busy: Visit) -> None:
    tab = busy().go("timeline", ILSE, "queue")
    tab.see(".panel .queue input").check()
    tab.press("Cancel the chosen ones", ".panel")
    tab.press("Cancel the chosen ones", "dialog")
    notice = tab.see(".notice", "1 operation cancelled")
    expect(tab.page.locator(".panel .status-cancelled")).to_have_count(1)
    notice.get_by_role("button", name="Undo").click()

    expect(tab.page.locator(".panel .status-cancelled")).to_have_count(0)


def test_details_lead_to_parent_and_forks(maren: Visit) -> None:
    tab = maren().go("timeline", MAREN, "details")
    tab.see(".panel a", "Branch #42").click()
    tab.see("h1", "Branch #42")
    tab.page.get_by_role("tab", name="Details").click()

    expect(tab.see(".facts > div", "Parent")).to_contain_text("Maren Tolliver")
    tab.see(".panel summary", "Diagnostic data").click()
    expect(tab.see(".json")).to_contain_text('"is_checkpoint": true')


def test_on_a_phone_the_panel_comes_up_and_escape_closes_it(clean: Visit) -> None:
    tab = clean(viewport=PHONE).go("timeline", MAREN)
    tab.see(".message[data-index='68'] .message-text")
    tab.press("Scenes", ".timeline-bar")
    tab.see("dialog.sheet h2", "Scene breaks")
    tab.page.keyboard.press("Escape")

    expect(tab.page.locator("dialog.sheet[open]")).to_have_count(0)


def test_keys_go_from_message_to_message(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN, 20)
    tab.see(".message[data-index='20'] .message-text").click()
    tab.page.locator(".feed").focus()
    tab.page.keyboard.press("j")
    first = tab.page.evaluate("document.activeElement.dataset.index")
    tab.page.keyboard.press("j")

    assert int(tab.page.evaluate("document.activeElement.dataset.index")) == int(first) + 1


def test_a_chat_that_is_not_there_says_what_to_do(clean: Visit) -> None:
    tab = clean().go("timeline", "Maren Tolliver/Nowhere")

    expect(tab.see(".trouble")).to_contain_text("Go back to the stories")
