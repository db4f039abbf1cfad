"""What Forklore itself wrote into a chat's header: who the chat is, and what it contained when it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

IDENTITY_KEY = "forklore"
RECORD_KEY = "auto_recap_checkpoint_state"
FORMAT = 1


def own_identity(metadata: Mapping[str, Any], chat_name: str) -> Mapping[str, Any] | None:
    """Return what Forklore wrote about this very chat; None when it wrote nothing or it was inherited by copying."""
    identity = metadata.get(IDENTITY_KEY)
    if isinstance(identity, dict) and identity.get("chat") == chat_name:
        return identity
    return None


def own_record(metadata: Mapping[str, Any], *names: str | None) -> Mapping[str, Any] | None:
    """Return what was recorded when a chat was made, under any of its *names*; None when it was inherited."""
    record = metadata.get(RECORD_KEY)
    # A record without a name was written by another program, which names no chat in it.
    return record if isinstance(record, dict) and record.get("chat_id", names[0]) in names else None


def is_from_present(record: Mapping[str, Any]) -> bool:
    """Whether entries of the lorebook came from the present when the chat was made, and nobody accepted that since."""
    if record.get("lorebook_source") != "present" or record.get("lorebook_accepted") is True:
        return False
    if "entries_in_doubt" in record:
        return bool(record["entries_in_doubt"])
    return "isolated_at_message" not in record  # records of before they were counted


def newer_format(metadata: Mapping[str, Any]) -> int | None:
    """Return the number of the format in which a newer Forklore wrote about the chat; None when it is one we know."""
    identity = metadata.get(IDENTITY_KEY)
    number = identity.get("format") if isinstance(identity, dict) else None
    return number if isinstance(number, int) and number > FORMAT else None
