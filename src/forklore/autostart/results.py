"""The service as it is, and why it may not be as it should."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forklore.errors import ForkloreError, Kind
from forklore.model.finding import Finding, Severity


class ServiceForeign(ForkloreError):
    """Something else lies where the service would be installed."""

    code = "SERVICE_FOREIGN"
    kind = Kind.CONFLICT


class ServiceNotInstalled(ForkloreError):
    """There is no service that runs by itself."""

    code = "SERVICE_NOT_INSTALLED"
    kind = Kind.NOT_FOUND


class ServiceNotRunning(ForkloreError):
    """The service is installed, but nobody answers."""

    code = "SERVICE_NOT_RUNNING"
    kind = Kind.CONFLICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The service as it is."""

    installed: bool
    running: bool
    system: str | None
    """What starts it, or would start it here; None where nothing does."""
    file: str | None = None
    command: tuple[str, ...] = ()
    data: str | None = None
    address: str | None = None
    log: str | None = None
    logins: tuple[tuple[str, str], ...] = ()
    """For each workspace a link that works once."""
    findings: tuple[Finding, ...] = ()
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return all(finding.severity is not Severity.ERROR for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the service as the command shows it."""
        return {
            "installed": self.installed,
            "running": self.running,
            "ok": self.ok,
            "system": self.system,
            "file": self.file,
            "command": list(self.command),
            "data": self.data,
            "address": self.address,
            "log": self.log,
            "workspaces": [{"user": Path(root).name, "folder": root, "login": link} for root, link in self.logins],
            "findings": [finding.to_json() for finding in self.findings],
            "written": list(self.written),
            "removed": list(self.removed),
        }
