"""Logging in: links, users, and a cookie that is worth nothing to others."""

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.conftest import SAMPLES
from tests.e2e.browsing import MAREN, Tab, Visit, encoded, expect

STORED = "JSON.parse(localStorage.getItem('forklore.login'))"


@pytest.fixture
def anna_and_boris(tmp_path: Path, visit: Visit) -> Tab:
    """A page of anna's, from a service of two users."""
    for user, sample in (("anna", "hollow_quay_clean"), ("boris", "salvage_rights_clean")):
        shutil.copytree(SAMPLES / sample, tmp_path / "data" / user)
    tab = visit(tmp_path / "data")
    tab.see("a.story", "Maren Tolliver")
    return tab


def test_a_link_leads_to_the_page_and_leaves_no_code_in_the_address(clean: Visit) -> None:
    tab = clean()
    tab.see("a.story")

    assert "code=" not in tab.page.url
    assert tab.page.evaluate(STORED)["user"] == tab.root.name
    assert "GET /api/events 200" in tab.asked


def test_a_link_keeps_the_place_it_leads_to(clean: Visit) -> None:
    tab = clean(log_in=False)
    tab.page.goto(f"{tab.served.next_login()}#/{encoded('story', MAREN)}")

    tab.see(".lane-row")


def test_a_link_that_was_used_says_so_and_how_to_get_another(clean: Visit) -> None:
    tab = clean(log_in=False)
    link = tab.served.next_login()
    tab.page.goto(link)
    tab.see("a.story")
    tab.page.context.clear_cookies()
    tab.page.goto(link)

    tab.see("[role=alert]", "This login link no longer works.")
    tab.see("main", "forklore serve")


def test_a_link_is_left_for_another_browser_where_one_is_logged_in_already(clean: Visit) -> None:
    tab = clean()
    tab.see("a.story")
    before = tab.page.evaluate(STORED)
    link = tab.served.next_login()
    tab.page.goto(link)
    tab.see("a.story")

    assert tab.page.evaluate(STORED) == before
    other = tab.page.context.browser.new_context() if tab.page.context.browser else None
    assert other is not None
    page = other.new_page()
    page.goto(link)
    expect(page.locator("a.story").first).to_be_visible()
    other.close()


@pytest.mark.parametrize("answer", ["Switch to boris", "Stay logged in as anna"])
def test_a_link_of_another_user_asks_first(anna_and_boris: Tab, answer: str) -> None:
    tab = anna_and_boris
    tab.page.goto(tab.served.logins["boris"])
    tab.see("h1", "Log in as boris?")
    tab.see("main", "You are logged in as anna in this browser.")
    tab.press(answer)

    tab.see("a.story", "Ilse Brandt" if answer.startswith("Switch") else "Maren Tolliver")


def test_who_is_logged_in_goes_straight_to_the_page(clean: Visit) -> None:
    tab = clean()
    tab.see("a.story")
    tab.page.goto(f"{tab.served.address}/login")

    tab.see("a.story")


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """A program on another port of this host; it notes every cookie that it gets."""
    got: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            got.append(self.headers.get("Cookie") or "")
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><link rel=icon href=data:,><title>Another program</title>")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", got
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_a_listener_on_another_port_cannot_use_the_cookie_that_the_browser_sends_it(
    clean: Visit, listener: tuple[str, list[str]]
) -> None:
    tab = clean()
    tab.see("a.story")
    address, got = listener
    stolen = tab.page.context.new_page()
    stolen.goto(address)

    assert any("forklore-" in cookie for cookie in got)  # or there is nothing to prove
    with httpx.Client(base_url=tab.served.address) as thief:
        for cookie in got:
            for path in ("/api/stories", "/api/events", "/api/overview", "/api/openapi.json"):
                headers = {"cookie": cookie, "origin": tab.served.address}
                assert thief.get(path, headers=headers).status_code == 401
    assert stolen.evaluate("localStorage.getItem('forklore.login')") is None
    answers = stolen.evaluate(
        """(service) => Promise.all(["/api/stories", "/login", "/"].map((path) =>
            fetch(service + path, { credentials: "include" }).then((answer) => answer.text(), () => "refused")))""",
        tab.served.address,
    )
    assert answers == ["refused"] * 3
    tab.page.reload()
    tab.see("a.story")  # and the page itself goes on
