"""The demonstration: fork a sample story in the past, let both sides go on, and prove that nothing leaks.

What SillyTavern and ST-Auto-Recap would do is done here in their way: whole files are written aside and renamed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forklore.app.fork import ForkMade
from forklore.app.forklore import Forklore
from forklore.app.open import open_workspace
from forklore.app.progress import Progress
from forklore.app.show import TimelineShown
from forklore.errors import ForkloreError, Kind
from forklore.formats.chat_jsonl import Chat
from forklore.model.timeline import Story

_STORY = Path(__file__).parent / "story"
CHECKPOINT_AT, BRANCH_AT = 31, 42


class FolderNotEmpty(ForkloreError):
    """The demonstration makes a folder of its own."""

    code = "FOLDER_NOT_EMPTY"
    kind = Kind.CONFLICT


@dataclass(frozen=True, slots=True)
class Mark:
    """Words that were written in one timeline only, and the files in which they were found."""

    words: str
    written_in: str
    expected: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def leaked(self) -> bool:
        """Whether the words are anywhere but where they were written."""
        return self.expected != self.found


@dataclass(frozen=True, slots=True)
class Digest:
    """What was recorded of a part of the checkpoint, and what it is now."""

    part: str
    recorded: str
    computed: str


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What was done and what was found."""

    folder: str
    files: int
    story: Story
    checkpoint: ForkMade
    branch: ForkMade
    marks: tuple[Mark, ...]
    digests: tuple[Digest, ...]
    timelines: tuple[TimelineShown, ...]
    learned_later: tuple[str, ...]
    """The lorebook entries of the main chat that the checkpoint does not have."""

    @property
    def ok(self) -> bool:
        """Whether nothing leaked and the checkpoint is what was recorded."""
        kept = all(digest.recorded == digest.computed for digest in self.digests)
        isolated = all(timeline.isolated for timeline in self.story.timelines)
        return kept and isolated and not any(mark.leaked for mark in self.marks)

    def to_json(self) -> dict[str, Any]:
        """Return the facts."""
        return {
            "ok": self.ok,
            "folder": self.folder,
            "files": self.files,
            "story": self.story.to_json(),
            "checkpoint": self.checkpoint.to_json(),
            "branch": self.branch.to_json(),
            "marks": [
                {"words": m.words, "written_in": m.written_in, "expected": list(m.expected), "found": list(m.found)}
                for m in self.marks
            ],
            "digests": [{"part": d.part, "recorded": d.recorded, "computed": d.computed} for d in self.digests],
            "running_versions": {
                t.chat: [version["version"] for version in t.running_versions] for t in self.timelines
            },
            "learned_later": list(self.learned_later),
        }


def demonstrate(folder: str | None, progress: Progress) -> Demonstration:
    """Copy the sample story to *folder* (a new temporary one without), fork it and see what leaked."""
    root = _empty_folder(folder)
    for part in ("chats", "worlds"):
        shutil.copytree(_STORY / part, root / part)
    forklore = open_workspace(root, progress=progress)
    main = forklore.stories().stories[0].main
    checkpoint = forklore.checkpoint(main, at=CHECKPOINT_AT, name="The key in hand", show_last_scene=True)
    branch = forklore.branch(main, at=BRANCH_AT, show_last_scene=True)

    marks = (
        _go_on(
            root, forklore.show(main), "amber heron", "An amber heron stands on the ninth lamp, and Maren counts it."
        ),
        _go_on(root, forklore.show(branch.chat), "silver otter", "A silver otter takes the key and is gone."),
    )
    return _look(root, forklore, main, checkpoint=checkpoint, branch=branch, marks=marks)


def _empty_folder(folder: str | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="forklore-demo-"))
    root = Path(folder)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise FolderNotEmpty(folder=folder)
    root.mkdir(parents=True, exist_ok=True)
    return root


# --- what SillyTavern would do ------------------------------------------------------------------------------------


def _go_on(root: Path, timeline: TimelineShown, words: str, text: str) -> Mark:
    """Write one more message, and what it teaches into the lorebook, in one timeline."""
    chat, book = f"chats/{timeline.chat}.jsonl", f"worlds/{timeline.lorebook}.json"
    lines = (root / chat).read_bytes()
    message = {
        "name": "Maren Tolliver",
        "is_user": False,
        "send_date": "November 3, 2025 7:02pm",
        "mes": text,
        "extra": {},
    }
    _replace(root / chat, lines.rstrip(b"\n") + b"\n" + json.dumps(message, separators=(",", ":")).encode())

    lore = json.loads((root / book).read_bytes())
    entries = lore["entries"]
    uid = next(number for number in range(len(entries) + 1) if str(number) not in entries)
    like = next(entry for entry in entries.values() if not entry["comment"].startswith("_"))
    entries[str(uid)] = {**like, "uid": uid, "comment": f"creature-{words}", "key": [words], "content": text}
    _replace(root / book, json.dumps(lore, ensure_ascii=False, indent=4).encode())
    return Mark(words, timeline.chat, tuple(sorted((chat, book))), ())


def _replace(path: Path, data: bytes) -> None:
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_bytes(data)
    aside.replace(path)


# --- the proof ----------------------------------------------------------------------------------------------------


def _look(
    root: Path, forklore: Forklore, main: str, *, checkpoint: ForkMade, branch: ForkMade, marks: tuple[Mark, ...]
) -> Demonstration:
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    timelines = tuple(forklore.show(chat) for chat in (main, checkpoint.chat, branch.chat))
    return Demonstration(
        folder=str(root),
        files=len(files),
        story=forklore.tree(main),
        checkpoint=checkpoint,
        branch=branch,
        marks=tuple(
            Mark(
                m.words,
                m.written_in,
                m.expected,
                tuple(sorted(p for p, data in files.items() if m.words.encode() in data)),
            )
            for m in marks
        ),
        digests=_digests(files, checkpoint),
        timelines=timelines,
        learned_later=_learned_later(files, timelines[0], timelines[1]),
    )


def _digests(files: dict[str, bytes], checkpoint: ForkMade) -> tuple[Digest, ...]:
    """Return what was recorded when the checkpoint was made beside what its files hold now."""
    data = files[f"chats/{checkpoint.chat}.jsonl"]
    chat = Chat.from_bytes(data)
    recorded = chat.metadata["forklore"]["digests"]
    now = {
        "messages": data[chat.span(0)[0] : chat.span(checkpoint.at)[1]],
        "lorebook": files[f"worlds/{checkpoint.lorebook}.json"],
    }
    return tuple(Digest(part, recorded[part], hashlib.sha256(held).hexdigest()) for part, held in now.items())


def _learned_later(files: dict[str, bytes], main: TimelineShown, fork: TimelineShown) -> tuple[str, ...]:
    now, then = (
        {entry["comment"] for entry in json.loads(files[f"worlds/{timeline.lorebook}.json"])["entries"].values()}
        for timeline in (main, fork)
    )
    return tuple(sorted(name.partition("-")[2] or name for name in now - then))
