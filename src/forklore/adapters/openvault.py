"""OpenVault: memories with the dates of the messages they come from, and a graph of the present."""

from __future__ import annotations

from typing import Any

from forklore.adapters.fork import Fork
from forklore.adapters.row import GONE, MESSAGE, METADATA, Adapter, Row
from forklore.adapters.rules import Show


def _known(dates: Any, fork: Fork) -> Any:
    """Return that something is gone which comes from a message that the fork has not."""
    of_the_fork = fork.ids("send_date")
    wanted = dates if isinstance(dates, list) else [dates]
    return dates if all(str(date) in of_the_fork for date in wanted) else GONE


def _ids_of_the_fork(ids: Any, fork: Fork) -> Any:
    """Return those of a list that the fork has messages for."""
    return [each for each in ids if str(each) in fork.ids("send_date")] if isinstance(ids, list) else ids


ADAPTER = Adapter(
    "OpenVault",
    "26",
    (
        Row(METADATA, "openvault.memories[].message_fingerprints", past=_known, goes="item"),
        Row(METADATA, "openvault.scenes[].message_fingerprints", past=_known, goes="item"),
        Row(METADATA, "openvault.processed*", past=_ids_of_the_fork),
        Row(METADATA, "openvault"),
        Row(MESSAGE, "extra.openvault_hidden", past=Show()),
    ),
    in_messages=b'"openvault_hidden"',
    hidden=b'"openvault_hidden"',
)
