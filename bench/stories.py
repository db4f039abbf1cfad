"""Stories to measure with: written from a seed, shaped like real files of SillyTavern 1.19 and ST-Auto-Recap."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import forklore
from bench.measure import find_memory

_SAMPLES = Path(__file__).parent.parent / "tests/samples/sillytavern-1.19.0"
_TEXT = """
lamp quay tide stair guild ledger oil flint causeway brother market heron glass tower rain salt door key rope gull hand
scratch soot coat pole ferry piling dusk night step voice whisper ash ember harbour keel anchor über café naïve Straße
тень 灯台 — … “quiet” ‘so’ walks turns says asks waits listens opens closes remembers
"""
_WORDS = _TEXT.split()
_TYPES = ("character", "location", "item", "faction", "lore", "event", "document", "rule")
_SCENE = 40  # messages


@dataclass(frozen=True, slots=True)
class Size:
    """How large a story is."""

    messages: int
    entries: int
    message_bytes: int = 2_250


SIZES: Mapping[str, Size] = {"small": Size(200, 100), "middle": Size(2_000, 1_000), "large": Size(20_000, 10_000)}


@dataclass(frozen=True, slots=True)
class BenchStory:
    """A workspace with one story in it, and a copy of it to begin with each time."""

    root: Path
    pristine: Path
    folder: str
    name: str
    size: Size

    @property
    def address(self) -> str:
        """How the chat is addressed."""
        return f"{self.folder}/{self.name}"

    @property
    def chat(self) -> Path:
        """The chat's file."""
        return self.root / "chats" / self.folder / f"{self.name}.jsonl"

    @property
    def book(self) -> Path:
        """The lorebook's file."""
        return self.root / "worlds" / f"{self.name}.json"

    def reset(self) -> None:
        """Put the workspace back to how it was, let the disk come to rest and have memory ready for what is written."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.pristine, self.root)
        os.sync()
        find_memory(4 * (self.chat.stat().st_size + self.book.stat().st_size))


def write_story(scratch: Path, size: Size, *, recaps: bool = True, snapshot: int | None = 60) -> BenchStory:
    """Write a workspace with one story below *scratch*; with *recaps* it has ST-Auto-Recap's data.

    Its scene snapshots hold that many entries of the lorebook, all of them for None.
    """
    story = BenchStory(scratch / "workspace", scratch / "pristine", "Mara Quill", "Mara Quill - 2025-11-02", size)
    chat = story.pristine / story.chat.relative_to(story.root)
    book = story.pristine / story.book.relative_to(story.root)
    for folder in (chat.parent, book.parent):
        folder.mkdir(parents=True)
    source = random.Random(size.messages)  # the same story each time
    text = _Text(source)
    entries = _entries(text, size.entries)
    if not recaps:
        entries = {key: entry for key, entry in entries.items() if not entry["comment"].startswith("_")}
    header = _header(text, story.name, lorebook=story.name, recaps=entries if recaps else None)
    with chat.open("wb") as file:
        file.write(_line(header))
        kept = [entry for entry in entries.values() if not entry["comment"].startswith("_")][:snapshot]
        for message in _messages(text, size, snapshot=kept if recaps else None):
            file.write(b"\n" + _line(message))  # no line break at the end, like SillyTavern
    book.write_text(json.dumps({"entries": entries}, ensure_ascii=False, indent=4), encoding="utf-8")
    story.reset()
    # Whoever forks has mostly forked before: our own folder is there, as is the one that others copy into.
    forklore.open(story.root).checkpoint(story.address, name="An earlier one")
    shutil.copytree(story.root / ".forklore", story.pristine / ".forklore")
    story.reset()
    return story


def write_library(root: Path, *, folders: int = 200, chats: int = 25) -> Path:
    """Write a workspace with many chats: most are short, few are long, some are forks, some have large headers."""
    source = random.Random(5_000)  # the same library each time
    text = _Text(source)
    lines = [_line(message) for message in _messages(text, Size(3_000, 0, 1_900), snapshot=None)]
    for number in range(folders):
        character = f"{text.words(2).title()} {number}"
        folder = root / "chats" / character
        folder.mkdir(parents=True)
        mains: list[str] = []
        for day in range(chats):
            name = f"{character} - 2026-{day % 12 + 1:02}-{day + 1:02}@18h36m02s446ms"
            length = min(2_000, 1 + int(source.lognormvariate(2.9, 1.3)))
            begin = source.randrange(len(lines) - length)
            body = lines[begin : begin + length]
            main_chat = None
            if day % 5 == 4:  # one in five is a checkpoint or a branch of an earlier one
                main_chat = source.choice(mains)
                name = f"{main_chat} - {'Checkpoint' if day % 2 else 'Branch'} #{day}"
                if day % 2:
                    _link(folder / f"{main_chat}.jsonl", name)
            else:
                mains.append(name)
            recaps = _entries(text, source.randrange(20, 120)) if day % 8 == 3 else None
            header = _header(text, name, lorebook=f"Lore of {name}" if day % 3 == 0 else None, recaps=recaps)
            if main_chat is not None:
                header["chat_metadata"]["main_chat"] = main_chat
                if day % 10 == 9:  # made by Forklore: the rest by SillyTavern itself
                    header["chat_metadata"]["forklore"] = _own_record(text, name, length)
            (folder / f"{name}.jsonl").write_bytes(b"\n".join([_line(header), *body]))
    os.sync()
    return root


class _Text:
    """Words drawn from a seeded source."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._sentences = [f"{' '.join(source.choices(_WORDS, k=12)).capitalize()}." for _ in range(2_000)]

    def words(self, count: int) -> str:
        return " ".join(self._source.choices(_WORDS[:30], k=count))

    def prose(self, size: int) -> str:
        sentences = self._source.choices(self._sentences, k=max(1, size // 75))
        return " ".join(sentences).replace(". Lamp", '."\n\n"Lamp')

    def integrity(self) -> str:
        return str(UUID(int=self._source.getrandbits(128), version=4))

    def spread(self, size: int) -> int:
        return int(size * self._source.uniform(0.5, 1.5))


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _messages(text: _Text, size: Size, *, snapshot: list[dict[str, Any]] | None) -> Iterator[dict[str, Any]]:
    # A reply is written twice, as the text and as the shown swipe; a message of the user once, and shorter.
    for number in range(size.messages):
        stamp = f"2026-11-{number // 1440 % 28 + 1:02}T{number // 60 % 24:02}:{number % 60:02}:14.846Z"
        if number % 2:
            yield {
                "name": "User",
                "is_user": True,
                "is_system": False,
                "send_date": stamp,
                "mes": text.prose(text.spread(size.message_bytes // 4)),
                "extra": {"isSmallSys": False, "reasoning": ""},
                "force_avatar": "/thumbnail?type=persona&file=user-default.png",
            }
            continue
        mes = text.prose(text.spread(int(size.message_bytes * 0.66)))
        extra: dict[str, Any] = {"api": "custom", "model": "story-model", "reasoning": "", "reasoning_duration": None}
        message = {
            "extra": extra,
            "name": "Mara Quill",
            "is_user": False,
            "send_date": stamp,
            "mes": mes,
            "title": "",
            "gen_started": stamp,
            "gen_finished": stamp,
            "swipes": [mes],
            "swipe_id": 0,
            "swipe_info": [{"send_date": stamp, "gen_started": stamp, "gen_finished": stamp, "extra": dict(extra)}],
        }
        if snapshot is not None:
            is_break = number % _SCENE == _SCENE - 2
            checked: dict[str, Any] = {"auto_scene_break_checked": True}
            extra["auto_recap_memory"] = checked | (_scene(text, number, snapshot) if is_break else {})
        yield message


def _scene(text: _Text, number: int, snapshot: list[dict[str, Any]]) -> dict[str, Any]:
    recap = json.dumps({"scene_name": "Dead lamps", "stage1": {"sn": text.words(4)}, "stage2": {"rc": text.prose(600)}})
    version: dict[str, Any] = {"timestamp": 1_762_110_000_000 + number, "totalActivatedEntries": 11, "endIdx": number}
    if number % (_SCENE * 50) == _SCENE - 2:  # snapshots hold the whole book: a long story cannot have many
        version["allEntries"] = snapshot
    return {
        "scene_break": True,
        "scene_break_visible": True,
        "scene_recap_versions": [recap],
        "scene_recap_current_index": 0,
        "scene_recap_memory": recap,
        "scene_recap_metadata": {"0": version},
        "scene_break_name": f"{text.words(3)} {number - _SCENE}-{number}",
    }


def _entries(text: _Text, count: int) -> dict[str, dict[str, Any]]:
    template = next(
        iter(json.loads((_SAMPLES / "lorebook_api_created_default_fields.json").read_bytes())["entries"].values())
    )
    entries: dict[str, dict[str, Any]] = {}
    listed: dict[str, list[str]] = {kind: [f"[Registry: {kind}]"] for kind in _TYPES}
    for uid in range(len(_TYPES), count):
        kind = _TYPES[uid % len(_TYPES)]
        comment = f"{kind}-{text.words(2).title()} {uid}"
        keys = text.words(3).split()
        listed[kind].append(f"- UID={uid} | name: {comment} | aliases: {'; '.join(keys)} | synopsis: {text.words(5)}")
        entries[str(uid)] = {**template, "uid": uid, "key": keys, "comment": comment, "content": text.prose(1_150)}
    registries = {
        str(uid): {
            **template,
            "uid": uid,
            "comment": f"_registry_{kind}",
            "content": "\n".join(listed[kind]),
            "disable": True,
            "tags": ["auto_lorebooks_registry"],
        }
        for uid, kind in enumerate(_TYPES)
    }
    queue: dict[str, Any] = {
        "queue": [],
        "current_operation_id": None,
        "paused": False,
        "version": 1,
        "queueVersion": 0,
    }
    content = json.dumps(queue, indent=2)
    last = {"uid": 1762111859000, "comment": "__operation_queue", "content": content, "disable": True}
    return {**registries, **entries, str(last["uid"]): last}


def _header(
    text: _Text, name: str, *, lorebook: str | None, recaps: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "integrity": text.integrity(),
        "note_prompt": "",
        "note_interval": 1,
        "note_position": 1,
        "note_depth": 4,
        "note_role": 0,
        "tainted": True,
        "timedWorldInfo": {"sticky": {}, "cooldown": {}},
        "lastInContextMessageId": 0,
    }
    if lorebook is not None:
        metadata["world_info"] = lorebook
    if recaps is not None:
        index = {
            key: {"uid": entry["uid"], "id": key, "comment": entry["comment"], "synopsis": text.words(5), "aliases": []}
            for key, entry in list(recaps.items())[:500]
        }
        metadata["auto_lorebooks"] = {"lorebookName": lorebook, "registry": {"index": index}}
        metadata["auto_recap_running_scene_recaps"] = {
            "chat_id": name,
            "current_version": 9,
            "versions": [
                {"version": v, "content": text.prose(3_000), "scene_count": v, "new_scene_index": v * _SCENE}
                for v in range(10)
            ],
        }
    return {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}


def _link(parent: Path, name: str) -> None:
    """Let the last message of *parent* name the checkpoint *name*, as SillyTavern does."""
    body, _, last = parent.read_bytes().rpartition(b"\n")
    message = json.loads(last)
    message["extra"]["bookmark_link"] = name
    parent.write_bytes(body + b"\n" + _line(message))


def _own_record(text: _Text, name: str, length: int) -> dict[str, Any]:
    return {"chat": name, "kind": "checkpoint", "message": length - 1, "timeline": text.integrity()}
