"""The page in a real browser, served by a real process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, Response, expect

from tests.edges.running import MAREN
from tests.service.serving import Served, served

__all__ = ["MAREN", "PHONE", "Tab", "Visit", "encoded", "expect", "visiting"]

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
Visit = Callable[..., "Tab"]
PATIENCE = 60_000
"""Milliseconds: others work on the machine as well, and what is shown at once does not wait for it."""

expect.set_options(timeout=PATIENCE)

# What a browser itself logs about an answer that the page knows how to show.
_ANSWERED = re.compile(
    r"Failed to load resource: the server responded with a status of (401|404|409|413|422|423|429)\b"
)
_CUT_OFF = re.compile(r"net::ERR_(INTERNET_DISCONNECTED|CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)")


def encoded(*parts: str | int) -> str:
    """Return a place inside the page."""
    return "/".join(quote(str(part), safe="") for part in parts)


@dataclass
class Tab:
    """One page of a browser, logged in; errors on its console fail the test."""

    page: Page
    served: Served
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Every answer of the service: method, path and status."""
    may_be_cut_off: bool = False

    def __post_init__(self) -> None:
        """Listen to everything that must not happen, and to what the service answers."""
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.errors.append(f"page error: {error}"))
        self.page.on("dialog", self._refuse)
        self.page.on("response", self._note)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "warning"} or _ANSWERED.match(message.text):
            return
        if self.may_be_cut_off and _CUT_OFF.search(message.text):
            return
        self.errors.append(f"{message.type}: {message.text}")

    def _refuse(self, dialog: Dialog) -> None:
        self.errors.append(f"a script of a story ran: {dialog.message}")
        dialog.dismiss()

    def _note(self, response: Response) -> None:
        path = response.url.removeprefix(self.served.address)
        if path.startswith("/api/"):
            self.asked.append(f"{response.request.method} {path} {response.status}")

    @property
    def root(self) -> Path:
        """The workspace that is served."""
        return self.served.folder

    def go(self, view: str, *parts: str | int) -> Tab:
        """Go to a place inside the page."""
        self.page.goto(f"{self.served.address}/#/{encoded(view, *parts)}")
        return self

    def see(self, selector: str, text: str | re.Pattern[str] | None = None) -> Locator:
        """Wait until something is shown, and return the first of it."""
        found = self.page.locator(selector) if text is None else self.page.locator(selector, has_text=text)
        expect(found.first).to_be_visible()
        return found.first

    def button(self, name: str | re.Pattern[str], within: str = "body") -> Locator:
        """Return the first visible button of that name."""
        return self.page.locator(within).last.get_by_role("button", name=name).filter(visible=True).first

    def press(self, name: str | re.Pattern[str], within: str = "body") -> None:
        """Press a button."""
        self.button(name, within).click()

    def log_in(self) -> Tab:
        """Come in by the link that the service printed."""
        self.page.goto(self.served.next_login())
        self.page.wait_for_url(f"{self.served.address}/")
        return self

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the service as the page does, but not through the page."""
        return self.page.evaluate(
            """async ([method, path, body]) => {
                const { key } = JSON.parse(localStorage.getItem("forklore.login") ?? "{}");
                const headers = { "X-Forklore-Page": key ?? "", ...(body && { "Content-Type": "application/json" }) };
                const answer = await fetch(`/api/${path}`, { method, headers, body: body && JSON.stringify(body) });
                return answer.status === 204 ? null : await answer.json();
            }""",
            [method, path, body],
        )


@contextmanager
def visiting(browser: Browser) -> Iterator[Visit]:
    """Yield a function that serves a workspace and opens its page."""
    running: list[Any] = []
    tabs: list[Tab] = []

    def visit(root: Path, *options: str, log_in: bool = True, welcomed: bool = True, **context: Any) -> Tab:
        environment = context.pop("env", None)
        service = served(root, *options, env=environment)
        running.append(service)
        opened = browser.new_context(**{"viewport": WIDE, "locale": "en-GB", **context})
        running.append(opened)
        if welcomed:
            opened.add_init_script("localStorage.setItem('forklore.welcomed', '1')")
        opened.set_default_timeout(PATIENCE)
        tab = Tab(opened.new_page(), service.__enter__())
        tabs.append(tab)
        return tab.log_in() if log_in else tab

    try:
        yield visit
    finally:
        for each in reversed(running):
            if hasattr(each, "close"):
                each.close()
            else:
                each.__exit__(None, None, None)
    for tab in tabs:
        assert tab.errors == []
