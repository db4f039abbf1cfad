"""Builders for stories: chats, lorebooks, groups and cards as SillyTavern and ST-Auto-Recap write them.

Messages and entries are plain dictionaries, files are bytes, a workspace is a mapping of paths to bytes. Nothing here
reads a clock or a random number, so that equal arguments make equal stories.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SENT = "2026-11-15T18:36:13.520Z"
FIRST_MOMENT = 1_762_110_853_000
"""Milliseconds since 1970 at which built stories begin."""
QUEUE_UID = FIRST_MOMENT + 1_006_000

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SNAPSHOT_FIELDS = [
    "comment",
    "uid",
    "world",
    "key",
    "keysecondary",
    "content",
    "position",
    "depth",
    "order",
    "role",
    "constant",
    "vectorized",
    "selective",
    "selectiveLogic",
    "sticky",
    "disable",
    "addMemo",
    "excludeRecursion",
    "preventRecursion",
    "ignoreBudget",
    "probability",
    "useProbability",
    "group",
    "groupOverride",
    "groupWeight",
    "tags",
    "strategy",
]


# --- JSON as SillyTavern writes it --------------------------------------------------------------------------------


def line(value: Json) -> bytes:
    """Return *value* as one line of a chat."""
    return _encode(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def pretty(value: Json) -> bytes:
    """Return *value* as a lorebook, group or settings file."""
    return _encode(json.dumps(value, ensure_ascii=False, indent=4))


def _encode(text: str) -> bytes:
    return _LONE_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode()


# --- chats --------------------------------------------------------------------------------------------------------


def message(text: str, *, user: bool = False, **members: Any) -> Json:
    """Return a message; *members* are added to the usual ones or take their place."""
    return {
        "name": "Wren" if user else "Mira",
        "is_user": user,
        "is_system": False,
        "send_date": SENT,
        "mes": text,
        "extra": {},
        **members,
    }


def conversation(count: int, *, first: int = 0) -> list[Json]:
    """Return *count* messages, the user's and the character's in turn, each with its number in it."""
    return [message(f"Turn {number}.", user=number % 2 == 1) for number in range(first, first + count)]


def swiped(*texts: str, shown: int = 0, extras: Sequence[Json] = (), **members: Any) -> Json:
    """Return a message with one swipe for each text, which shows one of them."""
    extras = [*extras, *({} for _ in texts[len(extras) :])]
    return message(
        texts[shown],
        extra=extras[shown],
        swipe_id=shown,
        swipes=list(texts),
        swipe_info=[
            {"send_date": f"2026-11-15T18:36:{number:02}.000Z", "extra": extra} for number, extra in enumerate(extras)
        ],
        **{"send_date": f"2026-11-15T18:36:{shown:02}.000Z", **members},
    )


def chat_bytes(metadata: Json, messages: Iterable[Json]) -> bytes:
    """Return a chat file: the header line, one line a message, no line break at the end."""
    header = {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}
    return b"\n".join([line(header), *(line(each) for each in messages)])


# --- lorebooks ----------------------------------------------------------------------------------------------------


def entry(uid: int, comment: str = "", content: str = "", **members: Any) -> Json:
    """Return a lorebook entry with every field of SillyTavern's template."""
    return {
        "uid": uid,
        "key": [comment.rpartition("-")[2].lower()] if comment else [],
        "keysecondary": [],
        "comment": comment,
        "content": content,
        "constant": False,
        "vectorized": False,
        "selective": True,
        "selectiveLogic": 0,
        "addMemo": True,
        "order": 100,
        "position": 0,
        "disable": False,
        "ignoreBudget": False,
        "excludeRecursion": False,
        "preventRecursion": False,
        "matchPersonaDescription": False,
        "matchCharacterDescription": False,
        "matchCharacterPersonality": False,
        "matchCharacterDepthPrompt": False,
        "matchScenario": False,
        "matchCreatorNotes": False,
        "delayUntilRecursion": 0,
        "probability": 100,
        "useProbability": True,
        "depth": 4,
        "outletName": "",
        "group": "",
        "groupOverride": False,
        "groupWeight": 100,
        "scanDepth": None,
        "caseSensitive": None,
        "matchWholeWords": None,
        "useGroupScoring": None,
        "automationId": "",
        "role": 0,
        "sticky": None,
        "cooldown": None,
        "delay": None,
        "triggers": [],
        **members,
    }


def registry_line(uid: int, name: str, *, aliases: Sequence[str] = (), synopsis: str = "") -> str:
    """Return one line of a registry, in the newer style."""
    return f"- UID={uid} | name: {name} | aliases: {'; '.join(aliases) or '—'} | synopsis: {synopsis or '—'}"


def registry(uid: int, kind: str, lines: Iterable[str] = ()) -> Json:
    """Return the entry that lists all entities of one kind."""
    content = "\n".join([f"[Registry: {kind}]", *lines])
    tags = ["auto_lorebooks_registry"]
    return entry(uid, f"_registry_{kind}", content, disable=True, preventRecursion=True, tags=tags)


def category_index(uid: int, plural: str, names: Iterable[str] = ()) -> Json:
    """Return an index entry of the older kind."""
    listed = ", ".join(names) or "none discovered yet"
    return entry(uid, f"__index_{plural}", f"[{plural.capitalize()}: {listed}]", constant=True, position=6)


def operation(number: int = 0, status: str = "pending", kind: str = "lorebook_entry_lookup", **members: Any) -> Json:
    """Return an operation of ST-Auto-Recap's queue."""
    return {
        "id": f"op_{FIRST_MOMENT + number}_k3v9x0q2a",
        "type": kind,
        "params": {},
        "status": status,
        "created_at": FIRST_MOMENT + number,
        "dependencies": [],
        "metadata": {},
        **members,
    }


def queue_content(operations: Iterable[Json] = (), **members: Any) -> str:
    """Return the JSON text that the queue entry holds."""
    queue = {"queue": list(operations), "current_operation_id": None, "paused": False, "version": 1, **members}
    return json.dumps(queue, ensure_ascii=False, indent=2)


def queue(operations: Iterable[Json] = (), *, uid: int = QUEUE_UID) -> Json:
    """Return the entry that holds the operation queue; it lacks most fields of the template."""
    return {
        "uid": uid,
        "key": [],
        "keysecondary": [],
        "content": queue_content(operations),
        "comment": "__operation_queue",
        "constant": False,
        "disable": True,
        "excludeRecursion": True,
        "order": 9999,
        "displayIndex": uid,
    }


def lorebook(entries: Iterable[Json], **top_level: Any) -> Json:
    """Return a book; each entry stands under its UID."""
    return {"entries": {str(each["uid"]): each for each in entries}, **top_level}


def lorebook_bytes(entries: Iterable[Json], **top_level: Any) -> bytes:
    """Return a lorebook file."""
    return pretty(lorebook(entries, **top_level))


# --- ST-Auto-Recap ------------------------------------------------------------------------------------------------


def snapshot(entries: Iterable[Json], world: str) -> list[Json]:
    """Return what ST-Auto-Recap keeps of a book after a scene: some fields, no secondary keys, not the queue."""
    kept = []
    for each in entries:
        if each["comment"] == "__operation_queue":
            continue
        known = {
            "tags": [],
            **each,
            "comment": each["comment"] or "(unnamed)",
            "world": world,
            "keysecondary": [],
            "strategy": "constant" if each.get("constant") else "normal",
        }
        kept.append({field: known[field] for field in _SNAPSHOT_FIELDS if field in known})
    return kept


RECAP = '{"stage1":{"sn":"Scene"},"stage3":{"developments":["[Mira] it happened"],"open":[],"state":[],"resolved":[]}}'
"""A finished scene recap."""


def scene(
    name: str = "Scene",
    *,
    recap: str = RECAP,
    entries: Sequence[Json] = (),
    taken: int | None = FIRST_MOMENT,
    activated: int = 1,
    made: Sequence[int] = (),
    **members: Any,
) -> Json:
    """Return the ``extra`` of a message that closes a scene.

    *entries* is the snapshot, *taken* when it was taken, *made* the UIDs of the entries it made or merged into.
    """
    version: Json = {"timestamp": FIRST_MOMENT, "totalActivatedEntries": activated, "allEntries": list(entries)}
    if made:
        version["created_entry_uids"] = [str(uid) for uid in made]
    if taken is not None:
        version["combined_at"] = taken
    return {
        "auto_recap_memory": {
            "scene_break": True,
            "scene_break_visible": True,
            "scene_break_name": name,
            "scene_recap_memory": recap,
            "scene_recap_versions": ["", recap],
            "scene_recap_current_index": 1,
            "scene_recap_metadata": {"1": version},
            **members,
        }
    }


def recap_version(number: int, upto: int, content: str = "") -> Json:
    """Return one version of a running recap, made from the messages 0…*upto*."""
    return {
        "version": number,
        "timestamp": FIRST_MOMENT + number,
        "content": content or f"DEVELOPMENTS:\nversion {number}",
        "scene_count": number + 1,
        "excluded_count": 1,
        "prev_scene_index": 0,
        "new_scene_index": upto,
    }


def running_recap(chat: str, versions: Iterable[Json], current: int) -> Json:
    """Return the metadata of a running recap, keyed as it stands in the header."""
    stored = {"chat_id": chat, "current_version": current, "versions": list(versions)}
    return {"auto_recap_running_scene_recaps": stored}


# --- cards, groups, workspaces ------------------------------------------------------------------------------------


def card_png(name: str, world: str | None = None) -> bytes:
    """Return a character card: a small image with the card's JSON in it."""
    extensions = {} if world is None else {"world": world}
    card = {"name": name, "spec": "chara_card_v2", "data": {"name": name, "extensions": extensions}}
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    text = _chunk(b"tEXt", b"chara\0" + base64.b64encode(json.dumps(card).encode()))
    return b"\x89PNG\r\n\x1a\n" + head + _chunk(b"IDAT", zlib.compress(b"\0\0")) + text + _chunk(b"IEND", b"")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def group_bytes(group_id: str, chats: Sequence[str], members: Sequence[str] = ("Mira.png", "Bob.png")) -> bytes:
    """Return a group file."""
    group = {"id": group_id, "name": "Group: Mira, Bob", "members": list(members), "chat_id": chats[-1]}
    return pretty({**group, "chats": list(chats), "date_added": 1794767789991.8115})


def solo_files(
    chat: str,
    metadata: Json,
    messages: Iterable[Json],
    *,
    folder: str = "Mira",
    books: Mapping[str, Json] | None = None,
) -> dict[str, bytes]:
    """Return the files of a workspace with one solo chat and the *books* it may name."""
    files = {f"chats/{folder}/{chat}.jsonl": chat_bytes(metadata, messages)}
    return files | {f"worlds/{name}.json": pretty(book) for name, book in (books or {}).items()}


def group_files(
    chat: str,
    metadata: Json,
    messages: Iterable[Json],
    *,
    group_id: str = "17",
    books: Mapping[str, Json] | None = None,
) -> dict[str, bytes]:
    """Return the files of a workspace with one group chat and the *books* it may name."""
    files = {f"group chats/{chat}.jsonl": chat_bytes(metadata, messages)}
    files[f"groups/{group_id}.json"] = group_bytes(group_id, [chat])
    return files | {f"worlds/{name}.json": pretty(book) for name, book in (books or {}).items()}


def write_workspace(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write *files* below *root*, make the folders every workspace has, and return *root*."""
    for folder in ("chats", "group chats", "groups", "worlds", "characters"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def read_workspace(root: Path) -> dict[str, bytes]:
    """Return every file below *root* by its path, without what Forklore keeps for itself."""
    paths = (path for path in root.rglob("*") if path.is_file())
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
    return {path: content for path, content in files.items() if not path.startswith(".forklore/")}
