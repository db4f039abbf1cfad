"""Every way in which timelines can share a lorebook, as the page shows it: the badge, and the repairs it offers."""

from pathlib import Path

import pytest

from forklore.app.forklore import Forklore
from tests.acceptance.sharing import WAYS, open_at
from tests.e2e.browsing import Tab, Visit, expect


@pytest.mark.req(2, 118, 131)
def test_the_page_says_of_every_way_what_all_faces_say(visit: Visit, tmp_path: Path) -> None:
    sharing = {way.__name__: way(tmp_path / way.__name__) for way in WAYS}

    tab = visit(tmp_path)
    tab.see("h1", "Stories")
    for user, chats in sorted(sharing.items()):  # the first one is logged in, and his link is used up
        become(tab, user)
        workspace = open_at(tmp_path / user)
        for story in workspace.stories().stories:
            tab.go("story", story.main)
            expect(tab.page.locator(".lane-row")).to_have_count(len(story.timelines))
            for timeline in story.timelines:
                badge = tab.page.locator(f'.lane-row[data-chat="{timeline.chat}"] .badge')
                assert (badge.get_attribute("data-health") == "leaks") == (timeline.chat in chats), user
        for chat in sorted(chats):
            assert offered(tab, chat) == told(workspace, chat), user


def become(tab: Tab, user: str) -> None:
    """Log in as another user without loading the page anew, which would take most of the time."""
    leave(tab)
    tab.page.evaluate(
        """async ([user, link]) => {
            if (JSON.parse(localStorage.getItem("forklore.login")).user === user) return;
            const headers = { "Content-Type": "application/json" };
            const body = JSON.stringify(Object.fromEntries(new URL(link).searchParams));
            const answer = await fetch("/login", { method: "POST", headers, body });
            localStorage.setItem("forklore.login", await answer.text());
        }""",
        [user, tab.served.logins[user]],
    )


def leave(tab: Tab) -> None:
    """Go elsewhere, so that nothing of the timeline before is shown, or asked for any more."""
    tab.go("trash").see(".trash, .emptiness")


def offered(tab: Tab, chat: str) -> list[str]:
    """Read the repairs that the page offers for a lorebook that is shared."""
    leave(tab)
    tab.go("timeline", chat, "health")
    tab.see(".finding", "SHARED_LOREBOOK").get_by_role("button", name="Repair…").click()
    tab.see("dialog .choice")
    return [
        str(each) for each in tab.page.locator("dialog .choice input").evaluate_all("all => all.map((x) => x.value)")
    ]


def told(workspace: Forklore, chat: str) -> list[str]:
    """Return the repairs that every other face offers."""
    (finding,) = [each for each in workspace.verify(chat).findings if each.code == "SHARED_LOREBOOK"]
    return list(finding.repairs)
