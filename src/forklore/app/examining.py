"""Everything that is wrong in a workspace, found in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from forklore.app.around import Around
from forklore.app.deleting import free_clones
from forklore.app.folder import folder_findings, unread_file
from forklore.app.means import Means
from forklore.app.opening import opened_timeline
from forklore.app.reading import reading
from forklore.checks.opening import findings_on_opening
from forklore.disk.files import read_small
from forklore.disk.spreading import spread
from forklore.disk.workspace import ChatNotFound
from forklore.errors import FileInUse, FileOnlineOnly, ForkloreError, LinkOutside
from forklore.formats.lorebook_json import LorebookUnreadable, parse_lorebook
from forklore.model.address import ChatAddress
from forklore.model.copies import originals_first
from forklore.model.finding import Finding, Located, Severity


def examine(means: Means) -> Iterator[Located]:
    """Yield every finding of every timeline, lorebook and group."""
    yield from folder_findings(means)
    around = Around(means)
    looks: list[Callable[[], _Seen]] = [
        lambda: _Seen(tuple(_unused_clones(means, around))),
        lambda: _Seen(tuple(_groups(means, around))),
        *(partial(_timeline, ChatAddress(*place), means, around) for place in sorted(around.facts)),
    ]
    parts = spread(lambda part: [look() for look in part], looks, means.advance)
    clones, groups, *timelines = [seen for part in parts for seen in part]
    for timeline in timelines:
        yield from timeline.findings
    yield from _duplicates(timelines, around)
    yield from clones.findings
    yield from _unread_books(timelines, means, around)
    yield from groups.findings


class _Seen(NamedTuple):
    """What one look found; of a timeline also what is compared with others."""

    findings: tuple[Located, ...] = ()
    address: ChatAddress | None = None
    integrity: str | None = None
    book: str | None = None


def _timeline(address: ChatAddress, means: Means, around: Around) -> _Seen:
    try:
        with reading(means.workspace, address) as read:
            opened = opened_timeline(read, means, around)
            findings = tuple([Located(finding, chat=str(address)) for finding in findings_on_opening(opened)])
            integrity = opened.metadata.get("integrity")
            return _Seen(findings, address, integrity if isinstance(integrity, str) else None, read.book_name)
    except ChatNotFound:
        return _Seen()  # removed while we look
    except (FileInUse, FileOnlineOnly) as error:
        return _Seen((unread_file(error, means.workspace.chat_path(address)),))
    except ForkloreError as error:
        finding = Finding("CHAT_DAMAGED", Severity.ERROR, error.message, error.action)
        return _Seen((Located(finding, chat=str(address)),))


def _duplicates(timelines: Sequence[_Seen], around: Around) -> Iterator[Located]:
    by_integrity: dict[str, list[ChatAddress]] = {}
    for timeline in timelines:
        if timeline.integrity and timeline.address:
            by_integrity.setdefault(timeline.integrity, []).append(timeline.address)
    for addresses in by_integrity.values():
        if len(addresses) < 2:
            continue
        # Old versions of SillyTavern let a fork inherit it: whose parent has the same is no copy.
        places = {str(address): around.timeline(address) for address in addresses}
        own = [each for each in addresses if (place := places[str(each)]) is None or place.parent not in places]
        if len(own) < 2:
            continue
        oldest, *copies = sorted(own, key=lambda each: originals_first(around.facts[each.folder, each.name]))
        for copy in copies:
            yield Located(
                Finding(
                    "INTEGRITY_DUPLICATE",
                    Severity.WARNING,
                    "The chat is a copy of another one, as an import makes it",
                    "Nothing has to be done; a copy that still names the lorebook of the other one can be isolated",
                    f"It has the identity of {str(oldest)!r}.",
                ),
                chat=str(copy),
            )


def _unused_clones(means: Means, around: Around) -> Iterator[Located]:
    for book in free_clones(means, list(around.facts.values()))[0]:
        yield Located(
            Finding(
                "CLONE_UNUSED",
                Severity.WARNING,
                f"Nobody uses the lorebook {book.name!r}",
                "Move it to the trash with `forklore cleanup --apply`",
            ),
            path=book.path,
        )


def _unread_books(timelines: Sequence[_Seen], means: Means, around: Around) -> Iterator[Located]:
    workspace = means.workspace
    for name in sorted(around.books - {timeline.book for timeline in timelines}):
        path = workspace.book_path(name)
        try:
            parse_lorebook(name, read_small(workspace.file(path)))
        except LinkOutside:
            continue  # told among the links
        except FileOnlineOnly as error:
            yield unread_file(error, path)
        except (OSError, LorebookUnreadable) as error:
            yield Located(
                Finding(
                    "LOREBOOK_UNREADABLE",
                    Severity.ERROR,
                    f"The lorebook {name!r} cannot be read",
                    "Restore the lorebook from a backup",
                    str(error),
                ),
                path=path,
            )


def _groups(means: Means, around: Around) -> Iterator[Located]:
    files = {name for folder, name in around.facts if folder.startswith("group:")}
    listed = {}
    for group in means.workspace.groups():
        listed.update(dict.fromkeys(group.chats, group.group_id))
        missing = [name for name in group.chats if name not in files]
        if missing:
            yield Located(
                Finding(
                    "GROUP_CHAT_MISSING",
                    Severity.WARNING,
                    "A group lists a chat that is not there",
                    "Open the group in SillyTavern: it makes an empty chat, or delete the entry there",
                    ", ".join(repr(name) for name in missing[:10]),
                ),
                path=means.workspace.group_path(group.group_id),
            )
    for folder, name in sorted(around.facts):
        if folder.startswith("group:") and name not in listed:
            home = _home(name, around, listed)
            yield Located(
                Finding(
                    "GROUP_CHAT_UNLISTED",
                    Severity.WARNING,
                    "No group lists the chat, so SillyTavern cannot open it",
                    "Let the group of its parent list it" if home else "Add it to its group",
                    "",
                    ("list-chat",) if home else (),
                ),
                chat=f"{folder}/{name}",
                group=home,
            )


def _home(name: str, around: Around, listed: Mapping[str, str]) -> str | None:
    """Return the group that lists the nearest ancestor of a chat."""
    parents = {chat.name: chat.main_chat for chat in around.facts.values() if chat.folder.startswith("group:")}
    seen: set[str] = set()
    while name not in listed and name not in seen:
        seen.add(name)
        name = parents.get(name) or name
    return listed.get(name)
