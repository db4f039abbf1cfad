"""Save a chat again and again as SillyTavern does: written aside, then moved over it; tell how often that was refused.

``python saving.py CHAT TIMES`` writes ``{"saved": …, "refused": …, "refused_again": …}``: again is 50 ms later.
"""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

_PAUSE = 0.01  # seconds; far more often than anybody saves, and yet a fork gets its turn
_AGAIN = 0.05


def save(path: Path, content: bytes) -> tuple[int, int]:
    """Save once; return how often it was refused, and how often once more a moment later."""
    aside = path.with_name(f"{path.name}.1730000")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    for attempt in range(100):
        with suppress(PermissionError):
            aside.replace(path)
            return min(attempt, 1), max(0, attempt - 1)
        time.sleep(_AGAIN)
    raise SystemExit("The chat could not be saved at all.")


def main() -> None:
    """Save until it is enough."""
    path, times = Path(sys.argv[1]), int(sys.argv[2])
    content = path.read_bytes()
    refused = again = 0
    for number in range(times):
        line = json.dumps({"name": "You", "is_user": True, "mes": f"Save {number}", "extra": {}})
        one, more = save(path, content + b"\n" + line.encode())
        refused, again = refused + one, again + more
        time.sleep(_PAUSE)
    sys.stdout.write(json.dumps({"saved": times, "refused": refused, "refused_again": again}))


if __name__ == "__main__":
    main()
