"""Reading the timelines that share a story or a lorebook with one another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from forklore.app.means import Means
from forklore.app.reading import Reading
from forklore.channels.checkpoint_map import STATE_KEY
from forklore.channels.identity import own_identity
from forklore.channels.witnesses import Witness, works_of
from forklore.disk.files import OpenFile
from forklore.disk.scan import scan_stories
from forklore.disk.workspace import ChatUnreadable, Workspace, comparable
from forklore.errors import ForkloreError
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.model.address import ChatAddress
from forklore.model.timeline import Story, Timeline


@dataclass(frozen=True, slots=True)
class Family:
    """A timeline in its story, and everybody who names its lorebook."""

    timeline: Timeline
    story: Story
    sharing: tuple[Timeline, ...]
    """Those that name its lorebook, itself among them; empty without a book."""
    original: str | None = None
    """The chat of which a main chat is a copy."""

    @property
    def others(self) -> tuple[Timeline, ...]:
        """Those that name its lorebook besides itself."""
        return tuple(each for each in self.sharing if each.chat != self.timeline.chat)

    @property
    def members(self) -> tuple[Timeline, ...]:
        """Everybody of the story, and everybody else who names the lorebook."""
        strangers = (each for each in self.sharing if each not in self.story.timelines)
        return (*self.story.timelines, *strangers)


def family_of(address: ChatAddress, book: str | None, means: Means) -> Family:
    """Return the timeline's place among all timelines of the workspace."""
    stories = scan_stories(means.workspace, means.cache(), means.progress.advance)
    for story in stories:
        for timeline in story.timelines:
            if timeline.chat == str(address):
                everybody = [each for one in stories for each in one.timelines]
                sharing = [each for each in everybody if book and is_same_book(each.lorebook, book, means.workspace)]
                return Family(timeline, story, tuple(sharing))
    raise ChatUnreadable(f"{str(address)!r} cannot be read.")


def is_same_book(name: str | None, other: str, workspace: Workspace) -> bool:
    """Whether two names lead to one lorebook file, on any system."""
    return bool(name) and comparable(workspace.book_path(name or "")) == comparable(workspace.book_path(other))


@contextmanager
def witnesses_of(family: Family, read: Reading, workspace: Workspace) -> Iterator[dict[str, Witness]]:
    """Yield what each member of the family knows, by its address; a chat that cannot be read knows nothing."""
    sharing = {each.chat for each in family.sharing}
    with ExitStack() as files:
        found = {}
        for member in family.members:
            chat = read.parent.chat
            if member.chat != str(read.address):
                opened = _opened(files, member, workspace)
                if opened is None:
                    continue
                chat = opened
            try:
                # A clone goes on where its original ended, so scenes from before it was made name the original.
                works = works_of(chat, None if member.chat in sharing else read.book_name)
                found[member.chat] = Witness(member.chat, chat, works, -1)
            except ChatDamaged:
                continue
        yield found


def _opened(files: ExitStack, member: Timeline, workspace: Workspace) -> Chat | None:
    address = ChatAddress.parse(member.chat)
    try:
        return files.enter_context(OpenFile(workspace.file(workspace.chat_path(address)))).chat if address else None
    except (OSError, ForkloreError):
        return None


def owns_book(read: Reading) -> bool:
    """Whether Forklore recorded the lorebook that a chat names as that chat's own."""
    metadata, record = read.parent.metadata, read.parent.metadata.get(STATE_KEY)
    if own_identity(metadata, read.address.name) is None or not isinstance(record, dict):
        return False
    return record.get("cloned_lorebook_name") == read.book_name


def copied_by_memory_books(read: Reading) -> str | None:
    """Return the lorebook that Memory Books copied for this very branch, None when it did not copy this one."""
    space = read.parent.metadata.get("STMemoryBooks")
    marker = space.get("branchLorebookCopies") if isinstance(space, dict) else None
    if not isinstance(marker, dict) or marker.get("branchChatId") != read.address.name:
        return None
    mappings = marker.get("mappings")
    for mapping in mappings if isinstance(mappings, list) else ():
        if isinstance(mapping, dict) and mapping.get("copyName") == read.book_name:
            source = mapping.get("sourceName")
            return source if isinstance(source, str) else None
    return None
