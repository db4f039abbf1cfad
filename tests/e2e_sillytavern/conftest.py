"""The real thing: SillyTavern, a browser, a model that remembers its prompts, and the service."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.e2e_sillytavern import installing
from tests.e2e_sillytavern.model import Model
from tests.e2e_sillytavern.page import Page
from tests.e2e_sillytavern.tavern import Service, Tavern, free_port
from tests.needed import missing

_numbers = count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test in this folder; without SillyTavern they are skipped."""
    for item in items:
        if "e2e_sillytavern" in str(item.path):
            item.add_marker(pytest.mark.sillytavern)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = installing.browser()
    if chromium is None:
        missing("there is no Chromium: make e2e installs it")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, headless=True, args=arguments)
        yield started
        started.close()


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    started = Model()
    yield started
    started.stop()


Started = Callable[[str], tuple[Tavern, Service]]


@pytest.fixture(scope="session")
def started(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Start each version once, with its service."""
    running: dict[str, tuple[Tavern, Service]] = {}

    def start(version: str) -> tuple[Tavern, Service]:
        if not (installing.package(version) / "server.js").is_file():
            missing(f"SillyTavern {version} is not installed: make e2e installs it")
        if version not in running:
            tavern = Tavern(tmp_path_factory.mktemp(f"st{version}"), version, model.url, free_port())
            tavern.start()
            running[version] = tavern, Service(tavern)
        return running[version]

    yield start
    for tavern, service in running.values():
        service.stop()
        tavern.stop()


@pytest.fixture
def version() -> str:
    """The version of SillyTavern; a module may ask for another."""
    return "1.19.0"


@pytest.fixture
def tavern(started: Started, version: str) -> Tavern:
    return started(version)[0]


@pytest.fixture
def service(started: Started, tavern: Tavern) -> Service:
    """The service, running."""
    found = started(tavern.version)[1]
    if not found.answers():
        found.stop()
        found.start()
    return found


@pytest.fixture
def character(tavern: Tavern) -> str:
    """The avatar of a character nobody has spoken with."""
    return tavern.make_character(f"Mira {next(_numbers)}")


@pytest.fixture(scope="session")
def kept_context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that keeps SillyTavern's own files, as everybody's does: they make up most of what a page loads."""
    made = browser.new_context(viewport={"width": 1400, "height": 1000}, locale="en-US")
    yield made
    made.close()


@pytest.fixture(scope="session")
def kept_pages() -> list[Page]:
    """The page that a test has left as it found it, if there is one: half of the time goes into loading pages."""
    return []


@pytest.fixture
def shared(request: pytest.FixtureRequest, kept_pages: list[Page]) -> list[Page] | None:
    """The page that a test may have from others, since it works with stories of its own alone; else None."""
    return kept_pages if request.node.get_closest_marker("shares_page") is not None else None


@pytest.fixture
def context(
    kept_context: BrowserContext,
    kept_pages: list[Page],
    shared: list[Page] | None,
    tavern: Tavern,
    service: Service,
) -> Iterator[BrowserContext]:
    """A browser that knows nothing of this place, unless a page is shared, beside a freshly installed extension."""
    origins = tavern.url, f"http://127.0.0.1:{tavern.service_port}"
    if shared is None or any(page.tavern is not tavern for page in kept_pages):  # two on one host share a cookie
        kept_pages.clear()
        forget_everything(kept_context, *origins)
    tavern.install_extension()
    yield kept_context
    if shared is None:
        forget_everything(kept_context, *origins)


def forget_everything(context: BrowserContext, *origins: str) -> None:
    """Close all tabs, and let the browser forget what they have stored."""
    for page in context.pages:
        page.close()
    context.unroute_all()
    context.clear_permissions()
    context.clear_cookies()
    page = context.new_page()
    session = context.new_cdp_session(page)
    for origin in origins:
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    page.close()


@pytest.fixture
def shots(tavern: Tavern) -> Path:
    """Where pictures are kept."""
    return Path(os.environ.get("FORKLORE_SHOTS") or tavern.folder / "shots") / tavern.version


@pytest.fixture
def new_page(context: BrowserContext, tavern: Tavern, model: Model, shots: Path) -> Callable[[], Page]:
    def make() -> Page:
        return Page(context, tavern, model, shots)

    return make


@pytest.fixture
def page(
    new_page: Callable[[], Page], shared: list[Page] | None, model: Model, request: pytest.FixtureRequest
) -> Iterator[Page]:
    """A loaded page that is connected to the service."""
    failed = request.session.testsfailed
    if shared:
        made = shared.pop()
    else:
        made = new_page()
        made.load()
    yield made
    model.release()
    assert made.errors == []
    assert made.integrity_dialogs == 0
    if shared is not None:
        if request.session.testsfailed == failed and made.leave():
            shared.append(made)
        else:
            made.tab.close()
