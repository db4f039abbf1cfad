"""Get what the tests in the real SillyTavern need: its npm packages, kept in a cache, and a browser.

``python -m tests.e2e_sillytavern.installing`` gets what is missing; with ``browser`` only that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.unpacking import unpack

VERSIONS = ("1.19.0", "1.13.5")
TYPESCRIPT = "5.9.3"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def cache() -> Path:
    """Return the folder that outlives the tests."""
    return Path(os.environ.get("FORKLORE_E2E_CACHE") or Path.home() / ".cache/forklore-e2e")


def package(version: str) -> Path:
    """Return where a version of SillyTavern is, or will be."""
    return cache() / f"sillytavern-{version}/package"


def compiler() -> Path:
    """Return where the checker of the extension's types is, or will be."""
    return cache() / f"typescript-{TYPESCRIPT}/node_modules/typescript/bin/tsc"


def browser() -> str | None:
    """Return the Chromium there is; best one without windows, which does the same with a fifth less work."""
    named = (shutil.which(name) for name in BROWSERS)
    return os.environ.get("CHROMIUM") or next((path for path in named if path), None)


def install() -> None:
    """Install what is missing."""
    if shutil.which("npm") is None:
        sys.exit("Node 20 or newer with npm is needed for the tests in SillyTavern.")
    if not compiler().is_file():
        with _begun(f"typescript-{TYPESCRIPT}") as folder:
            _npm("install", f"typescript@{TYPESCRIPT}", folder=folder)
    for version in VERSIONS:
        if not (package(version) / "server.js").is_file():
            with _begun(f"sillytavern-{version}") as folder:
                _install_server(version, folder)
    install_browser()


def install_browser() -> None:
    """Install Chromium where there is none, and the clock that can be set wrong."""
    if not os.environ.get("CHROMIUM") and shutil.which(BROWSERS[0]) is None:
        otherwise = "Install Chromium, or name it in the environment variable CHROMIUM."
        _install_from_debian(BROWSERS[0], otherwise, needed=browser() is None)
    if shutil.which("faketime") is None:
        _install_from_debian("faketime", "Install faketime, with which a test sets the clock back.")


@contextmanager
def _begun(name: str) -> Iterator[Path]:
    """Yield a folder that becomes the one of that name when all went well: half a package is never taken for whole."""
    sys.stderr.write(f"Installing {name} into {cache()} (once) …\n")
    folder = cache() / name
    begun = cache() / f"{name}.new"
    shutil.rmtree(begun, ignore_errors=True)
    begun.mkdir(parents=True)
    yield begun
    shutil.rmtree(folder, ignore_errors=True)
    begun.rename(folder)


def _install_server(version: str, folder: Path) -> None:
    """Lay SillyTavern out as people have it: its packages inside its own folder, where older versions look for them."""
    _npm("pack", f"sillytavern@{version}", folder=folder)
    (archive,) = folder.glob("*.tgz")
    unpack(archive, folder)
    archive.unlink()
    _npm("install", "--omit=dev", folder=folder / "package")


def _npm(*arguments: str, folder: Path) -> None:
    subprocess.run(["npm", *arguments, "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=True)


def _install_from_debian(package: str, otherwise: str, *, needed: bool = True) -> None:
    if shutil.which("apt-get") is None:
        if needed:
            sys.exit(otherwise)
        return
    root = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*root, "apt-get", "update", "-qq"], check=needed)
    subprocess.run([*root, "apt-get", "install", "-y", "-qq", package], check=needed)


if __name__ == "__main__":
    install_browser() if sys.argv[1:] == ["browser"] else install()
