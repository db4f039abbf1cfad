"""Text that nobody may trust, so that it does nothing but stand there.

Names of chats, lorebooks, groups and folders come from strangers. On most systems they may hold line breaks, escape
sequences and marks that turn the direction of writing, and a name that is printed as it is could write lines of its
own. Data keeps such a name as it is; whatever is written for a person passes through ``printable``.
"""

from __future__ import annotations

import re
import shlex

_WORD = re.compile(r"[\w@+=:,./#-]+").fullmatch
_SPECIAL = re.compile(r"[\"$`\\!%]").search  # to a shell, also between quotation marks
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
MISLEADING = (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Code points that end a line or change the direction of writing, and are no control characters."""

_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in _CONTROLS},
    **{code: f"\\u{code:04x}" for code in MISLEADING},
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


def printable(text: str) -> str:
    """Return *text* as one line in which every control character is an escape that can be read."""
    if text.isprintable():
        return text
    # What no encoding can take, half of a pair of surrogates, becomes an escape too.
    return text.translate(_ESCAPES).encode("utf-8", "backslashreplace").decode("utf-8")


def shell_word(text: str) -> str:
    """Return *text* as one word of a command that a person may copy into a shell, whoever chose the text."""
    text = printable(text)
    if _WORD(text):
        return text
    return shlex.quote(text) if _SPECIAL(text) else f'"{text}"'  # what every shell understands, where that is safe
