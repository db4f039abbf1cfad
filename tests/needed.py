"""What a test needs and cannot bring along: a browser, a package from npm, a system that has what it is about."""

import os
import sys
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip the test, or fail where everything was set up for it: `make test` sets ``FORKLORE_E2E=required``."""
    if os.environ.get("FORKLORE_E2E") == "required":
        pytest.fail(what)
    pytest.skip(what)


def windows_only(why: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test everywhere but on Windows, and says *why*."""
    return pytest.mark.skipif(sys.platform != "win32", reason=f"only on Windows: {why}")


def posix_only(why: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test on Windows, and says *why*."""
    return pytest.mark.skipif(sys.platform == "win32", reason=f"not on Windows: {why}")
