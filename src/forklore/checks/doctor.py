"""What should hold across timelines: chats that are copies, groups that list what is there, lorebooks in use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from forklore.formats.group_json import Group
from forklore.gathered.workspace import BookFile, WorkspaceIndex
from forklore.model.address import ChatAddress
from forklore.model.copies import originals_first
from forklore.model.finding import Finding, Located, Severity

_SHOWN = 10


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
                Finding(
                    "INTEGRITY_DUPLICATE",
                    Severity.WARNING,
                    "The chat is a copy of another one, as an import makes it",
                    "Nothing has to be done; a copy that still names the lorebook of the other one can be isolated",
                    f"It has the identity of {chats[0].address!r}.",
                ),
                chat=copy.address,
            )


def unused_clones(books: Collection[BookFile]) -> Iterator[Located]:
    """Yield the clones of ours that nobody uses."""
    for book in books:
        yield Located(
            Finding(
                "CLONE_UNUSED",
                Severity.WARNING,
                f"Nobody uses the lorebook {book.name!r}",
                "Move it to the trash with `forklore cleanup --apply`",
            ),
            path=book.path,
        )


def groups(listed: Sequence[Group], index: WorkspaceIndex, paths: Mapping[str, str]) -> Iterator[Located]:
    """Yield what is wrong with the lists of chats in groups; *paths* are the groups' files by their ids."""
    files = {chat.name for chat in index.chats if ChatAddress(chat.folder, chat.name).is_group}
    owner: dict[str, str] = {}
    for group in listed:
        owner.update(dict.fromkeys(group.chats, group.group_id))
        missing = [name for name in group.chats if name not in files]
        if missing:
            yield Located(
                Finding(
                    "GROUP_CHAT_MISSING",
                    Severity.WARNING,
                    "A group lists a chat that is not there",
                    "Open the group in SillyTavern: it makes an empty chat, or delete the entry there",
                    ", ".join(repr(name) for name in missing[:_SHOWN]),
                ),
                path=paths[group.group_id],
            )
    for chat in sorted(index.chats):
        if ChatAddress(chat.folder, chat.name).is_group and chat.name not in owner:
            home = _home(chat.name, index, owner)
            yield Located(
                Finding(
                    "GROUP_CHAT_UNLISTED",
                    Severity.WARNING,
                    "No group lists the chat, so SillyTavern cannot open it",
                    "Let the group of its parent list it" if home else "Add it to its group",
                    "",
                    ("list-chat",) if home else (),
                ),
                chat=chat.address,
                group=home,
            )


def _home(name: str, index: WorkspaceIndex, owner: Mapping[str, str]) -> str | None:
    """Return the group that lists the nearest ancestor of a chat."""
    parents = {chat.name: chat.main_chat for chat in index.chats if ChatAddress(chat.folder, chat.name).is_group}
    seen: set[str] = set()
    while name not in owner and name not in seen:
        seen.add(name)
        name = parents.get(name) or name
    return owner.get(name)


def unreadable_book(name: str, path: str, why: str) -> Located:
    """Return the finding that a lorebook which no chat names cannot be read."""
    finding = Finding(
        "LOREBOOK_UNREADABLE",
        Severity.ERROR,
        f"The lorebook {name!r} cannot be read",
        "Restore the lorebook from a backup",
        why,
    )
    return Located(finding, path=path)


def unreadable_place(path: str, why: str) -> Located:
    """Return the finding that a chat, or a folder of chats, may not be read."""
    finding = Finding(
        "CHAT_UNREADABLE",
        Severity.ERROR,
        "A chat, or a folder with chats in it, may not be read",
        "Let Forklore read it, as SillyTavern does: look at who owns it, and who may read it",
        why,
    )
    return Located(finding, path=path)
