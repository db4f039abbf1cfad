"""Workspaces that a browser has to cope with."""

from __future__ import annotations

from pathlib import Path

from forklore.testing.stories import chat_bytes, conversation, entry, lorebook_bytes, message, swiped, write_workspace

HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "Long/A very long story"
FOREST = "Forest/The forest"


def many_messages(root: Path, count: int = 20_000) -> Path:
    """One chat with very many messages, no two neighbours equally long."""
    messages = [
        message("The lamp keeper counts the lamps. " * (1 + number * 7 % 13), user=number % 2 == 1)
        for number in range(count)
    ]
    return write_workspace(root, {f"chats/{LONG}.jsonl": chat_bytes({}, messages)})


def much_to_examine(root: Path) -> Path:
    """Enough to keep the doctor busy for a while."""
    chat = chat_bytes({}, conversation(4000))
    return write_workspace(root, {f"chats/Character {number}/Story.jsonl": chat for number in range(60)})


def many_timelines(root: Path, count: int = 300) -> Path:
    """One story with very many forks."""
    base = conversation(80)
    files = {f"chats/{FOREST}.jsonl": chat_bytes({"world_info": "Lore"}, base), "worlds/Lore.json": lorebook_bytes([])}
    names = ["The forest"]
    for number in range(count - 1):
        parent = names[number * 7 % len(names)]
        metadata = {"main_chat": parent, "world_info": f"Lore {number}"}
        names.append(f"Path {number}")
        files[f"chats/Forest/Path {number}.jsonl"] = chat_bytes(metadata, base[: 5 + number * 11 % 70])
        files[f"worlds/Lore {number}.json"] = lorebook_bytes([])
    return write_workspace(root, files)


def many_sharing(root: Path, count: int = 100, *, entries: int = 1) -> Path:
    """One story whose forks all share the lorebook of their parent; to isolate them takes a while."""
    said = conversation(60)
    known = [entry(number, f"character-{number:03}", f"No. {number}") for number in range(entries)]
    files = {
        f"chats/{FOREST}.jsonl": chat_bytes({"world_info": "Lore", "integrity": "main"}, said),
        "worlds/Lore.json": lorebook_bytes(known),
    }
    for number in range(count):
        metadata = {"main_chat": "The forest", "world_info": "Lore", "integrity": f"fork {number}"}
        files[f"chats/Forest/Path {number}.jsonl"] = chat_bytes(metadata, said[: 5 + number % 50])
    return write_workspace(root, files)


def many_stories(root: Path, count: int = 500) -> Path:
    """A shelf full of stories."""
    files = {
        f"chats/Character {number % 25}/Story number {number}.jsonl": chat_bytes({}, conversation(2))
        for number in range(count)
    }
    return write_workspace(root, files)


def strange_names(root: Path) -> Path:
    """Names and texts in every script, and some that would do harm as markup."""
    stories = {
        f"chats/{HOSTILE}/{HOSTILE}.jsonl": ({}, [message(f"{HOSTILE}<script>alert(2)</script> *{HOSTILE}*")] * 3),
        f"chats/{HOSTILE}/Fork of it.jsonl": ({"main_chat": HOSTILE, "world_info": "javascript:alert(3)"}, []),
        "chats/白夜/白夜.jsonl": ({}, [swiped("雨。「你听见了吗？」", "雪。", "风。")] * 4),
        "chats/白夜/进塔之前.jsonl": ({"main_chat": "白夜"}, [message("雨。")]),
        "chats/ליילה/סיפור הלילה.jsonl": ({}, [message('הגשם ירד. "שמעת?" (42)')] * 4),
        "chats/🦊 Foxfire/🦊👨‍👩‍👧‍👦.jsonl": ({}, [message("🔥")] * 2),
        f"chats/Long/{'verylongword' * 15}.jsonl": ({}, [message("a " * 3000)]),
    }
    return write_workspace(root, {path: chat_bytes(*parts) for path, parts in stories.items()})
