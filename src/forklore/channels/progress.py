"""Progress: whether anything was written in a timeline since it was made."""

from __future__ import annotations

from forklore.channels.combined_recap import read_combined_recap
from forklore.channels.running_recap import read_running_recap
from forklore.gathered.timeline import TimelineState


def may_have_gone_on(timeline: TimelineState) -> bool:
    """Whether what is recorded differs from what is there, so that it matters who has written since."""
    record = timeline.record
    if record is None:
        return False
    combined = read_combined_recap(timeline.metadata)
    count = combined.get("message_count") if isinstance(combined, dict) else None
    return (
        record.get("running_recap_version") != read_running_recap(timeline.metadata).current_version
        or record.get("combined_recap_message_count") != count
    )


def is_untouched(timeline: TimelineState) -> bool:
    """Whether nothing was written since it was made: no message, no version of the running recap, no lorebook entry."""
    at, record = timeline.forked_at, timeline.record
    if at is None or timeline.last > at:
        return False
    recorded = record.get("running_recap_versions") if record else None
    if isinstance(recorded, list) and recorded != list(read_running_recap(timeline.metadata).versions):
        return False
    now, then = timeline.digests_now.get("lorebook"), timeline.digests.get("lorebook")
    return now is None or then is None or now == then
