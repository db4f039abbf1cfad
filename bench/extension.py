"""The extension in the real SillyTavern: what it costs a writer who does not use it just now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.measure import Case, Times, in_turn
from tests.e2e_sillytavern import installing
from tests.e2e_sillytavern.model import Model
from tests.e2e_sillytavern.page import Page
from tests.e2e_sillytavern.tavern import Service, Tavern, free_port

WITH, WITHOUT = "a message and its answer, with the extension", "the same without it"
_PAUSE = 1200  # so that what follows a message does not fall into the next one's time

_SEND = """async (text) => {
    const c = SillyTavern.getContext(), S = await import('/script.js');
    document.querySelector('#send_textarea').value = text;
    const count = c.chat.length;
    document.querySelector('#send_but').click();
    while (c.chat.length < count + 2 || document.body.dataset.generating === 'true' || S.isChatSaving)
        await new Promise((resolve) => setTimeout(resolve, 1));
}"""


def is_missing() -> bool:
    """Whether there is no SillyTavern, or no browser, to measure with."""
    return installing.browser() is None or not (installing.package(installing.VERSIONS[0]) / "server.js").is_file()


def sending(scratch: Path, rounds: int) -> Times:
    """Measure sending a message in a page with the extension and in one without, side by side."""
    with _pages(scratch) as pages:

        def ready(page: Page) -> None:
            page.tab.bring_to_front()
            page.tab.wait_for_timeout(_PAUSE)

        cases = {
            name: Case(partial(page.tab.evaluate, _SEND, "One more message"), before=partial(ready, page))
            for name, page in pages.items()
        }
        return in_turn(cases, rounds)


@contextmanager
def _pages(scratch: Path) -> Iterator[dict[str, Page]]:
    """Yield two pages of one SillyTavern, each in a browser's own context."""
    with ExitStack() as stack:
        model = Model()
        stack.callback(model.stop)
        tavern = Tavern(scratch / "tavern", installing.VERSIONS[0], model.url, free_port())
        stack.callback(tavern.stop)
        tavern.start()
        service = Service(tavern)
        stack.callback(service.stop)
        service.start()
        chromium = stack.enter_context(sync_playwright()).chromium
        browser = chromium.launch(executable_path=installing.browser(), args=["--no-sandbox", "--disable-gpu"])
        stack.callback(browser.close)
        tavern.install_extension()  # with its settings, which a page without it keeps
        pages = {}
        for name, action in ((WITHOUT, "uninstall"), (WITH, "install")):
            tavern.forklore().extension(action)
            character = tavern.make_character(name)
            page = pages[name] = Page(browser.new_context(), tavern, model, scratch)
            page.load(connected=name == WITH)
            page.open_character(character)
            page.attach_book(f"The book {name}", {"harbour": "A harbour."})
            if (page.tab.locator("#forklore_panel").count() == 1) != (name == WITH):
                raise RuntimeError(f"The page is not what it should be: {name}.")
        yield pages
