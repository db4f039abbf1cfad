"""A browser, a service, and stories that are larger or stranger than the samples."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Error, sync_playwright

from tests.e2e.browsing import Visit, visiting
from tests.e2e_sillytavern import installing
from tests.needed import missing
from tests.unpacking import unpack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here."""
    for item in items:
        if "e2e" in item.path.parts:
            item.add_marker(pytest.mark.e2e)


# Not for the whole session: while Playwright runs, no other test of this process could use asyncio.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless browser; the system's, or the one Playwright brought."""
    path = installing.browser()
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            missing(f"no browser to test with: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Return a function that serves a workspace and opens its page."""
    with visiting(browser) as visit:
        yield visit


@pytest.fixture
def maren(sample: Callable[[str], Path], visit: Visit) -> Visit:
    """Return a function that opens the page of the story whose forks share a lorebook."""
    return lambda *options, **context: visit(sample("hollow_quay_legacy_shared"), *options, **context)


@pytest.fixture
def clean(sample: Callable[[str], Path], visit: Visit) -> Visit:
    """Return a function that opens the page of a story without forks."""
    return lambda *options, **context: visit(sample("hollow_quay_clean"), *options, **context)


@pytest.fixture
def busy(sample: Callable[[str], Path], visit: Visit) -> Visit:
    """Return a function that opens the page of a story whose queue is at work."""
    return lambda *options, **context: visit(sample("salvage_rights_queue_busy"), *options, **context)


@pytest.fixture(scope="session")
def axe(pytestconfig: pytest.Config) -> str:
    """The accessibility checks of axe-core, fetched once into pytest's cache."""
    assert pytestconfig.cache is not None
    folder = pytestconfig.cache.mkdir("axe-core")
    script = folder / "package" / "axe.min.js"
    with FileLock(folder / "lock"):
        if not script.exists():
            npm = shutil.which("npm")
            if npm is None:
                missing("axe-core comes from npm, which is not here")
            fetched = subprocess.run(
                [npm, "pack", "--silent", "axe-core@4"], cwd=folder, capture_output=True, text=True, check=False
            )
            if fetched.returncode:
                missing(f"axe-core could not be fetched: {fetched.stderr[-200:]}")
            unpack(folder / fetched.stdout.strip().splitlines()[-1], folder)
    return script.read_text("utf-8")
