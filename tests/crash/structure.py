"""What holds in every workspace at rest, whoever forked in it and however often."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.crash.scenarios import CHAT, NAME, log_of


def header_of(content: bytes) -> dict[str, Any]:
    """Return the metadata of a chat."""
    metadata: dict[str, Any] = json.loads(content.partition(b"\n")[0])["chat_metadata"]
    return metadata


def assert_whole(root: Path) -> list[str]:
    """Every fork has its own lorebook and its parent's messages, and whatever points to a fork finds it.

    Returns the names of the forks.
    """
    chats = {path.stem: path.read_bytes() for path in (root / "chats/Mira").glob("*.jsonl")}
    parent = chats.pop(NAME)
    headers = {name: header_of(content) for name, content in chats.items()}
    clones = {path.stem for path in (root / "worlds").glob("*__*.json")}
    named = Counter(header["world_info"] for header in headers.values())
    assert set(named) == clones, "each clone belongs to a fork, and each fork has its clone"
    assert set(named.values()) <= {1}, "no two forks share a lorebook"

    texts = [json.loads(line)["mes"] for line in parent.split(b"\n")[1:]]
    for name, content in chats.items():
        _assert_as_recorded(root, headers[name], content)
        messages = [json.loads(line)["mes"] for line in content.split(b"\n")[1:]]
        assert messages == texts[: len(messages)], f"{name} is no beginning of its parent"

    mapped = header_of(parent).get("auto_recap", {}).get("checkpoint_lorebook_map", {})
    assert set(mapped) <= set(chats), "the map knows no fork that is not there"
    assert {name: mapped[name] for name in mapped} == {name: headers[name]["world_info"] for name in mapped}
    assert _links(parent) <= set(chats), "no link leads nowhere"
    assert _logged(root) == set(chats), "the log knows every fork that is there, and no other"
    return sorted(chats)


def _assert_as_recorded(root: Path, header: dict[str, Any], content: bytes) -> None:
    digests = header["forklore"]["digests"]
    assert hashlib.sha256(content.partition(b"\n")[2]).hexdigest() == digests["messages"]
    book = (root / f"worlds/{header['world_info']}.json").read_bytes()
    assert hashlib.sha256(book).hexdigest() == digests["lorebook"]


def _links(chat: bytes) -> set[str]:
    extras = [json.loads(line).get("extra", {}) for line in chat.split(b"\n")[1:]]
    links = {extra["bookmark_link"] for extra in extras if "bookmark_link" in extra}
    return links | {name for extra in extras for name in extra.get("branches", [])}


def _logged(root: Path) -> set[str]:
    """Return the forks that are there according to the log."""
    there: set[str] = set()
    for operation in log_of(root):
        for change in operation["changes"]:
            if change["path"].startswith(f"chats/{CHAT.partition('/')[0]}/"):
                if change["do"] in ("create", "restore"):
                    there.add(Path(change["path"]).stem)
                elif change["do"] == "trash":
                    there.discard(Path(change["path"]).stem)
    return there
