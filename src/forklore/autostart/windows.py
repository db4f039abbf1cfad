"""A task for the Task Scheduler of Windows."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from forklore.autostart.start import ABOUT, WRITTEN_BY, PathUnwritable, Start, refuse_unwritable

_NAMESPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"
_FILLED_IN = re.compile(r"%\w[^%\s]*%|\$\(")
"""What the scheduler fills in, variables and its own; there is no way to tell it not to."""


def task(start: Start, user: str) -> bytes:
    """Return the task that starts *start* when *user* logs on: without end, and also on battery.

    A task has no environment of its own, so that of *start* is not in it.
    """
    refuse_unwritable((user, *start.command))
    for word in start.command:
        if _FILLED_IN.search(word):
            raise PathUnwritable("filled_in", path=word)
    program, *arguments = start.command
    account = escape(user)
    return (
        '<?xml version="1.0" encoding="UTF-16"?>\n'
        f'<Task version="1.2" xmlns="{_NAMESPACE}">\n'
        "  <RegistrationInfo>\n"
        f"    <Description>{escape(f'{ABOUT}. {WRITTEN_BY}')}</Description>\n"
        "  </RegistrationInfo>\n"
        "  <Triggers>\n"
        "    <LogonTrigger>\n"
        "      <Enabled>true</Enabled>\n"
        f"      <UserId>{account}</UserId>\n"
        "    </LogonTrigger>\n"
        "  </Triggers>\n"
        "  <Principals>\n"
        '    <Principal id="Author">\n'
        f"      <UserId>{account}</UserId>\n"
        "      <LogonType>InteractiveToken</LogonType>\n"
        "      <RunLevel>LeastPrivilege</RunLevel>\n"
        "    </Principal>\n"
        "  </Principals>\n"
        "  <Settings>\n"
        "    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>\n"
        "    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>\n"
        "    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>\n"
        "    <AllowHardTerminate>true</AllowHardTerminate>\n"
        "    <StartWhenAvailable>true</StartWhenAvailable>\n"
        "    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>\n"
        "    <AllowStartOnDemand>true</AllowStartOnDemand>\n"
        "    <Enabled>true</Enabled>\n"
        "    <Hidden>false</Hidden>\n"
        "    <RunOnlyIfIdle>false</RunOnlyIfIdle>\n"
        "    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>\n"
        "    <Priority>5</Priority>\n"
        "    <RestartOnFailure>\n"
        "      <Interval>PT1M</Interval>\n"
        "      <Count>255</Count>\n"
        "    </RestartOnFailure>\n"
        "  </Settings>\n"
        '  <Actions Context="Author">\n'
        "    <Exec>\n"
        f"      <Command>{escape(program)}</Command>\n"
        f"      <Arguments>{escape(' '.join(map(_quoted, arguments)))}</Arguments>\n"
        "    </Exec>\n"
        "  </Actions>\n"
        "</Task>\n"
    ).encode("utf-16")


def _quoted(argument: str) -> str:
    """Return one word of a command line, as programs on Windows take it apart: a quote ends a word, unless escaped."""
    doubled = re.sub(r'(\\*)("|\Z)', lambda found: found[1] * 2 + ("\\" + found[2] if found[2] else ""), argument)
    return f'"{doubled}"'
