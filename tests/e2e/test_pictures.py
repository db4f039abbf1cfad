"""The pictures of the guide are taken from the real page: ``FORKLORE_PICTURES=docs/guides/pictures`` keeps them."""

import os
from pathlib import Path

from forklore.app.open import open_workspace
from forklore.app.progress import Silent
from forklore.demo.demo import demonstrate
from tests.e2e.browsing import MAREN, PHONE, Visit


def folder(tmp_path: Path) -> Path:
    return Path(os.environ.get("FORKLORE_PICTURES") or tmp_path)


def test_pictures_of_the_guide(visit: Visit, maren: Visit, busy: Visit, tmp_path: Path) -> None:
    demonstrate(str(tmp_path / "quay"), Silent())
    assert open_workspace(tmp_path / "quay").doctor().ok

    tab = visit(tmp_path / "quay").go("story", MAREN)
    tab.see(".health-isolated")
    tab.page.screenshot(path=folder(tmp_path) / "tree.png")
    tab.go("timeline", MAREN, 42)
    tab.see(".message[data-index='42'] .message-text")
    tab.page.screenshot(path=folder(tmp_path) / "timeline.png")
    tab.press("Make a checkpoint here")
    tab.see(".preview", "What will be made")
    tab.page.screenshot(path=folder(tmp_path) / "fork.png")

    leaking = maren(viewport=PHONE).go("story", MAREN)
    leaking.see(".health-leaks")
    leaking.page.screenshot(path=folder(tmp_path) / "leaks-on-a-phone.png")

    for name in ("tree", "timeline", "fork", "leaks-on-a-phone"):
        assert (folder(tmp_path) / f"{name}.png").stat().st_size > 5_000
