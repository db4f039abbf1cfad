"""The shelf of stories, and a story as a tree."""

import json
import re
from pathlib import Path

import pytest

from forklore.testing.stories import chat_bytes, conversation, write_workspace
from tests.e2e.browsing import MAREN, PHONE, Visit, expect
from tests.e2e.workspaces import FOREST, many_stories, many_timelines
from tests.needed import posix_only

BRANCH = "Maren Tolliver/Branch #42 - 2025-11-02@21h05m23s"


def test_a_story_shows_its_size_and_that_something_is_wrong(maren: Visit) -> None:
    tab = maren()

    story = tab.see("a.story", "Maren Tolliver")
    expect(story).to_contain_text("3 timelines")
    expect(story).to_contain_text("69 messages")
    expect(story.locator(".health-leaks")).to_have_attribute("title", "The lorebook is shared with another timeline")


def test_an_empty_folder_says_what_to_do(visit: Visit, tmp_path: Path) -> None:
    tab = visit(write_workspace(tmp_path / "w", {}))

    expect(tab.see(".emptiness")).to_contain_text("Write a chat in SillyTavern")


@pytest.mark.slow
def test_the_search_answers_while_one_types(visit: Visit, tmp_path: Path) -> None:
    tab = visit(many_stories(tmp_path / "w"))
    expect(tab.page.locator("a.story")).to_have_count(500)
    search = tab.page.get_by_role("searchbox", name="Search stories")
    search.press_sequentially("number 49")
    expect(tab.page.locator("li:not([hidden]) > a.story")).to_have_count(15)
    tab.see("[role=status]", "15 stories")
    search.fill("nothing like that")

    tab.see("[role=status]", "No story has “nothing like that” in its name.")


def test_a_new_story_appears_by_itself(clean: Visit) -> None:
    tab = clean()
    tab.see("[role=status]", "1 story")
    old = tab.root / "chats" / f"{MAREN}.jsonl"
    (tab.root / "chats" / "Maren Tolliver" / "Another beginning.jsonl").write_bytes(old.read_bytes())

    tab.see("a.story", "Another beginning")


def test_a_tree_tells_of_every_timeline_what_it_is_and_whether_it_leaks(maren: Visit) -> None:
    tab = maren().go("story", MAREN)

    row = tab.see(".lane-row.kind-branch")
    expect(row).to_contain_text(re.compile(r"Branch #42 - Nov 2, 2025, 9:05\sPM"))
    expect(row).to_contain_text("at message 42")
    expect(row).to_contain_text("43 messages")
    expect(row).to_contain_text("recap v5")
    expect(row.locator(".lane-book")).to_contain_text("z-AutoLB-Maren Tolliver")
    expect(row.locator(".health-leaks")).to_have_text(re.compile("Leaks.*shared with another timeline"))


def test_a_lane_leaves_its_parent_in_the_row_of_the_parent_and_ends_in_its_own(maren: Visit) -> None:
    tab = maren().go("story", MAREN)
    tab.see(".lane.kind-branch")
    middles = tab.page.eval_on_selector_all(
        ".lane-row",
        "rows => rows.map(row => row.offsetTop + Math.min(row.offsetHeight / 2, 28))",
    )
    branch = tab.page.locator(".lane.kind-branch").get_attribute("d") or ""
    row = int(tab.page.locator(".lane-row.kind-branch").get_attribute("data-row") or 0)

    leaves = float(re.findall(r"^M[\d.]+ ([\d.]+)V", branch)[0])
    arrives = float(re.findall(r"Q[\d.]+ ([\d.]+) ", branch)[0])
    assert leaves == pytest.approx(middles[0], abs=1)
    assert arrives == pytest.approx(middles[row], abs=1)


def test_the_mark_of_a_timeline_that_leaks_leads_to_the_reason_and_the_repairs(maren: Visit) -> None:
    tab = maren(viewport=PHONE).go("story", MAREN)
    tab.see(".lane-row.kind-branch").get_by_role("link", name=re.compile("^Leaks")).click()

    tab.see(".finding", "SHARED_LOREBOOK")


def test_the_telling_end_of_a_long_lorebook_name_is_whole(clean: Visit) -> None:
    tab = clean(viewport=PHONE)
    tab.api("POST", "checkpoint", {"chat": MAREN, "name": "Before the tower"})
    tab.go("story", MAREN)
    shown = tab.see(".lane-row.kind-checkpoint .long-name")
    expect(shown).to_have_text(re.compile("__CP_Before_the_tower$"))
    box, name = shown.bounding_box(), shown.locator("bdi").bounding_box()

    assert box is not None
    assert name is not None
    assert name["x"] < box["x"]
    assert name["x"] + name["width"] == pytest.approx(box["x"] + box["width"], abs=1)


def test_a_leak_leads_to_what_can_be_done(maren: Visit) -> None:
    tab = maren().go("story", MAREN)
    expect(tab.see(".callout-bad")).to_contain_text("Memories leak between 3 timelines")
    tab.press("Isolate all…", ".callout-bad")

    expect(tab.page.locator("dialog .forks .row")).to_have_count(2)


@posix_only("Windows has no such names")
def test_a_name_cannot_turn_the_page_around_or_write_a_line(visit: Visit, tmp_path: Path) -> None:
    name, shown = "Mira\n\u202eForged\x1b", "Mira\\n\\u202eForged\\x1b"
    files = {f"chats/{name}/{name}.jsonl": chat_bytes({"world_info": name}, conversation(3))}
    tab = visit(write_workspace(tmp_path / "w", {**files, f"worlds/{name}.json": b'{"entries": {}}'}))
    expect(tab.see("a.story")).to_contain_text(shown)
    tab.go("story", f"{name}/{name}")
    expect(tab.see(".lane-row")).to_contain_text(shown)
    expect(tab.see(".lane-book .long-name")).to_have_attribute("title", shown)
    tab.go("timeline", f"{name}/{name}")
    tab.see("h1", shown)

    expect(tab.page).to_have_title(f"{shown} · Forklore")
    assert not set("\u202e\x1b") & set(tab.page.locator("body").inner_text())


def test_a_group_story_has_the_name_of_its_group(visit: Visit, tmp_path: Path) -> None:
    chat = "2026-11-15@18h36m29s983ms"
    group = {"id": "1700", "name": "The crew of the Lantern", "chats": [chat, "Night watch"], "members": []}
    files = {
        "groups/1700.json": json.dumps(group).encode(),
        f"group chats/{chat}.jsonl": chat_bytes({}, conversation(4)),
        "group chats/Night watch.jsonl": chat_bytes({}, conversation(4)),
    }
    tab = visit(write_workspace(tmp_path / "w", files)).go("story", f"group:1700/{chat}")

    tab.see("h1", "The crew of the Lantern")
    tab.go("stories")
    expect(tab.see("a.story", "Night watch")).to_contain_text("The crew of the Lantern")
    (tab.root / "groups" / "1700.json").write_text(json.dumps(group | {"name": "The last crew"}))
    tab.see("a.story .story-title", "The last crew")


def test_arrow_keys_go_from_timeline_to_timeline(maren: Visit) -> None:
    tab = maren().go("story", MAREN)
    tab.see(".lane-name a").focus()
    tab.page.keyboard.press("ArrowDown")

    expect(tab.page.locator(".lane-row").nth(1).locator(".lane-name a")).to_be_focused()


def test_the_chat_that_is_open_in_sillytavern_is_marked_at_once(maren: Visit) -> None:
    tab = maren().go("story", MAREN)
    tab.see(".lane-row")
    tab.api("POST", "open", {"chat": BRANCH})

    expect(tab.see(".lane-row.kind-branch .is-open")).to_contain_text("Open now")
    assert tab.page.locator(".open-ring").count() == 1
    tab.go("stories")
    tab.see(".strip", "Branch #42")


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE], ids=["wide", "phone"])
def test_three_hundred_timelines_appear_soon_after_their_data(
    visit: Visit, tmp_path: Path, viewport: dict[str, int]
) -> None:
    tab = visit(many_timelines(tmp_path / "w"), viewport=viewport).go("log")
    tab.see(".log")
    took = tab.page.evaluate(
        """async (hash) => {
            const drawn = new Promise((done) => {
                new MutationObserver((_, self) => {
                    if (document.querySelector(".lanes .lane")) (self.disconnect(), done());
                }).observe(document.body, { childList: true, subtree: true });
            });
            location.hash = hash;
            await drawn;
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            const answers = performance.getEntriesByType("resource");
            const answer = answers.findLast((each) => each.name.includes("/api/layout"));
            return performance.now() - answer.responseEnd;
        }""",
        f"#/story/{FOREST.replace('/', '%2F').replace(' ', '%20')}",
    )

    assert tab.page.locator(".lanes .lane").count() == 300
    assert took < 1500  # 300 ms on a quiet machine; tests share theirs


@pytest.mark.slow
def test_timelines_can_be_filtered(visit: Visit, tmp_path: Path) -> None:
    tab = visit(many_timelines(tmp_path / "w")).go("story", FOREST)
    tab.page.get_by_role("searchbox", name="Filter timelines").fill("path 77")

    expect(tab.page.locator(".lane-row:not([hidden])")).to_have_count(3)
    expect(tab.page.locator(".lanes .lane")).to_have_count(3)


@pytest.mark.parametrize("locale, date", [("en-GB", "Nov 2, 2025, 7:14"), ("zh-CN", "2025年11月2日 19:14")])
def test_a_chat_that_is_named_after_a_moment_is_called_by_its_date(
    visit: Visit, tmp_path: Path, locale: str, date: str
) -> None:
    stamp = "2025-11-02@19h14m08s"
    chats = {f"chats/Mira/{stamp}.jsonl": chat_bytes({}, conversation(3)), "chats/Mira/A.jsonl": b""}
    tab = visit(write_workspace(tmp_path / "w", chats), locale=locale).go("timeline", f"Mira/{stamp}")
    expect(tab.see("h1")).to_have_attribute("title", f"Mira/{stamp}")
    tab.see(".timeline-head .menu").click()
    tab.page.locator(".menu .danger-text").click()
    called = tab.see("dialog .name.strong", date)
    expect(called).to_have_attribute("title", stamp)
    tab.page.locator("dialog .dialog-foot .danger").click()
    tab.see(".notice", date)

    for view, row in (("log", ".log-item"), ("trash", ".trash .row-words > p")):
        shown = tab.go(view).see(row, date)
        expect(shown).not_to_contain_text("19h14m08s")
