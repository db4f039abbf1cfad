"""What a test needs and cannot bring along: a browser, a package from npm."""

import os
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip the test, or fail where everything was set up for it: `make test` sets ``FORKLORE_E2E=required``."""
    if os.environ.get("FORKLORE_E2E") == "required":
        pytest.fail(what)
    pytest.skip(what)
