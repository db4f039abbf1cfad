"""A systemd user unit, with systemd's own rules for quoting."""

from __future__ import annotations

from forklore.autostart.start import ABOUT, STOP_SECONDS, WAIT_SECONDS, WRITTEN_BY, Start, refuse_unwritable

_NOT_IN_A_PROGRAM = "\"'\\$"
"""What systemd refuses or changes in the path of a program, but not in its arguments."""
_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')


def unit(start: Start) -> bytes:
    """Return the unit that starts *start* with the user's first login, or with the computer where the user lingers."""
    refuse_unwritable(value for _, value in start.environment)
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in start.environment)
    command = " ".join(_quoted(word).replace("$", "$$") for word in _runnable(start.command))
    return (
        f"# {WRITTEN_BY}\n"
        "[Unit]\n"
        f"Description={ABOUT}\n"
        "StartLimitIntervalSec=0\n"
        "\n"
        "[Service]\n"
        "Type=exec\n"
        f"{environment}"
        f"ExecStart={command}\n"
        "Restart=on-failure\n"
        f"RestartSec={WAIT_SECONDS}\n"
        f"TimeoutStopSec={STOP_SECONDS}\n"
        "\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    ).encode()


def _runnable(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command; where systemd would not take the program's path, a shell hands over to it."""
    program = command[0]
    odd = not program.isprintable() or any(each in _NOT_IN_A_PROGRAM for each in program)
    return (*_SHELL, *command) if odd else command


def _quoted(word: str) -> str:
    """Return one word; a byte that is no text, or that ends a line, is written as its number."""
    shown = []
    for each in word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%"):
        if each < " " or "\x7f" <= each < "\xa0" or "\ud800" <= each <= "\udfff":
            shown += [f"\\x{byte:02x}" for byte in each.encode("utf-8", "surrogateescape")]
        else:
            shown.append(each)
    return f'"{"".join(shown)}"'
