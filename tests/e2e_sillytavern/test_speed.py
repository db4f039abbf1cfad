"""With the extension installed and idle, sending a message is as quick as without it."""

from __future__ import annotations

from statistics import mean

from playwright.sync_api import Browser

from tests.e2e_sillytavern.model import Model
from tests.e2e_sillytavern.page import Page
from tests.e2e_sillytavern.tavern import Service, Tavern

FEWEST, ROUNDS = 12, 60
MOST = 1.05

SEND = """async (text) => {
    const c = SillyTavern.getContext(), S = await import('/script.js');
    const area = document.querySelector('#send_textarea');
    area.value = text;
    const count = c.chat.length, start = performance.now();
    document.querySelector('#send_but').click();
    while (c.chat.length < count + 2 || document.body.dataset.generating === 'true' || S.isChatSaving)
        await new Promise((resolve) => setTimeout(resolve, 1));
    return performance.now() - start;
}"""


def test_sending_is_not_slower(browser: Browser, tavern: Tavern, service: Service, model: Model) -> None:
    pages = []
    for action in ("uninstall", "install"):
        tavern.forklore().extension(action)
        character = tavern.make_character(f"Speed {action}")
        page = Page(browser.new_context(viewport={"width": 1400, "height": 1000}), tavern, model, tavern.folder)
        page.load(connected=action == "install")
        page.open_character(character)
        page.attach_book(f"Speed {action}", {"harbour": "A harbour."})
        pages.append(page)
    without, with_extension = pages
    assert with_extension.tab.locator("#forklore_panel").count() == 1
    assert without.tab.locator("#forklore_panel").count() == 0

    times: dict[Page, list[float]] = {page: [] for page in pages}
    for number in range(ROUNDS):
        for page in pages if number % 2 else pages[::-1]:
            page.tab.bring_to_front()
            times[page].append(page.tab.evaluate(SEND, f"Message {number}"))
            page.tab.wait_for_timeout(1200)  # so that what follows a message does not fall into the next one's time
        ratio = undisturbed(times[with_extension]) / undisturbed(times[without])
        if number >= FEWEST and ratio <= MOST:
            break  # a slower page stays slower, however often it is measured

    told = f"{undisturbed(times[with_extension]):.0f} ms with, {undisturbed(times[without]):.0f} ms without"
    (tavern.folder / "speed.txt").write_text(f"{told}, ratio {ratio:.3f}")
    for page in pages:
        page.tab.context.close()
    assert ratio <= MOST, told


def undisturbed(times: list[float]) -> float:
    """Return how long it takes while nobody else uses the machine: the mean of the quickest third."""
    return mean(sorted(times)[: max(1, len(times) // 3)])
