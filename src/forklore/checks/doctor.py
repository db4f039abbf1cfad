"""What should hold across timelines: chats that are copies, groups that list what is there, lorebooks in use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from forklore.formats.group_json import Group
from forklore.gathered.workspace import BookFile, WorkspaceIndex
from forklore.model.address import ChatAddress
from forklore.model.copies import originals_first
from forklore.model.fact import Fact, some
from forklore.model.finding import Finding, Located, Severity


def duplicates(index: WorkspaceIndex) -> Iterator[Located]:
    """Yield the chats that have the identity of another one."""
    by_integrity: dict[str, list[str]] = {}
    for chat in index.chats:
        if chat.integrity and not chat.damaged:
            by_integrity.setdefault(chat.integrity, []).append(chat.address)
    for addresses in by_integrity.values():
        if len(addresses) < 2:
            continue
        # Old versions of SillyTavern let a fork inherit it: whose parent has the same is no copy.
        places = {address: index.timeline(address) for address in addresses}
        own = [each for each in addresses if (place := places[each]) is None or place.parent not in places]
        known = [facts for each in own if (facts := index.facts(each))]
        chats = sorted(known, key=originals_first)
        for copy in chats[1:]:
            yield Located(
                Finding("INTEGRITY_DUPLICATE", Severity.WARNING, {"original": chats[0].address}),
                chat=copy.address,
            )


def unused_clones(books: Collection[BookFile]) -> Iterator[Located]:
    """Yield the clones of ours that nobody uses."""
    for book in books:
        yield Located(Finding("CLONE_UNUSED", Severity.WARNING, {"lorebook": book.name}), path=book.path)


def groups(listed: Sequence[Group], index: WorkspaceIndex, paths: Mapping[str, str]) -> Iterator[Located]:
    """Yield what is wrong with the lists of chats in groups; *paths* are the groups' files by their ids."""
    files = {chat.name for chat in index.chats if ChatAddress(chat.folder, chat.name).is_group}
    owner: dict[str, str] = {}
    for group in listed:
        owner.update(dict.fromkeys(group.chats, group.group_id))
        missing = [name for name in group.chats if name not in files]
        if missing:
            chats, more = some(missing)
            finding = Finding("GROUP_CHAT_MISSING", Severity.WARNING, {"chats": chats, "more": more})
            yield Located(finding, path=paths[group.group_id])
    for chat in sorted(index.chats):
        if ChatAddress(chat.folder, chat.name).is_group and chat.name not in owner:
            home = _home(chat.name, index, owner)
            repairs = ("list-chat",) if home else ()
            finding = Finding("GROUP_CHAT_UNLISTED", Severity.WARNING, {"group": home}, repairs)
            yield Located(finding, chat=chat.address, group=home)


def _home(name: str, index: WorkspaceIndex, owner: Mapping[str, str]) -> str | None:
    """Return the group that lists the nearest ancestor of a chat."""
    parents = {chat.name: chat.main_chat for chat in index.chats if ChatAddress(chat.folder, chat.name).is_group}
    seen: set[str] = set()
    while name not in owner and name not in seen:
        seen.add(name)
        name = parents.get(name) or name
    return owner.get(name)


def unreadable_book(name: str, path: str, reason: Fact) -> Located:
    """Return the finding that a lorebook which no chat names cannot be read."""
    return Located(Finding("LOREBOOK_UNREADABLE", Severity.ERROR, {"lorebook": name, "reason": reason}), path=path)


def unreadable_place(path: str, reason: Fact) -> Located:
    """Return the finding that a chat, or a folder of chats, may not be read."""
    return Located(Finding("CHAT_UNREADABLE", Severity.ERROR, {"reason": reason}), path=path)
