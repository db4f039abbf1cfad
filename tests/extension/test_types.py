"""The extension's modules fit together: TypeScript checks them by their JSDoc types."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from forklore.app.extension import SOURCE
from tests.e2e_sillytavern.installing import compiler
from tests.needed import missing

pytestmark = pytest.mark.sillytavern


def test_tsc_has_nothing_to_say() -> None:
    node = shutil.which("node")
    if node is None or not compiler().is_file():
        missing("make e2e installs TypeScript")

    checked = subprocess.run(
        [node, compiler(), "-p", Path(__file__).with_name("jsconfig.json")], capture_output=True, text=True, check=False
    )

    assert checked.stdout == ""
    assert checked.returncode == 0


def test_texts_of_a_story_are_never_taken_for_markup() -> None:
    for path in SOURCE.glob("*.js"):
        code = path.read_text("utf-8")
        for word in ("innerHTML =", "innerHTML=", "outerHTML =", "insertAdjacentHTML", ".html(", "document.write"):
            assert word not in code, path.name
