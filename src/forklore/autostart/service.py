"""The service: having it run whenever the computer does, looking at it, and removing it without a trace."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from forklore.access.keys import forget_access, sessions_of
from forklore.access.logins import forget_logins, offer_login
from forklore.access.running import Running, find_running, forget_running
from forklore.autostart.commands import Commands, SystemRefused
from forklore.autostart.kept import (
    Kept,
    forget_kept,
    keep,
    log_of,
    password_of,
    read_kept,
    read_password,
)
from forklore.autostart.look import Seen, is_running, troubles
from forklore.autostart.machine import Machine, Unsupported, this_machine
from forklore.autostart.results import Service, ServiceForeign, ServiceNotInstalled, ServiceNotRunning
from forklore.autostart.start import WRITTEN_BY, Start
from forklore.autostart.systems import SYSTEMS, System
from forklore.autostart.wanted import Wanted, command_of, environment_of, program_of
from forklore.disk.disk import write_whole
from forklore.disk.state import State, make_private
from forklore.errors import BadRequest
from forklore.version import VERSION
from forklore.web.addresses import login_path

_START_SECONDS = 30.0  # a phone is slow
_END_SECONDS = 1.0  # for a process that the system has ended
_STOP_SECONDS = 45.0  # for one that finishes what it is writing
_LAST_LINES = 5


class Autostart:
    """The service of one user."""

    def __init__(
        self,
        state: State,
        *,
        machine: Machine | None = None,
        commands: Commands | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Look after what is noted in *state*; the service gets what it needs of *environment*, which is ours."""
        self._state = state
        self._machine = machine or this_machine(state.folder)
        self._commands = commands or Commands()
        self._program = program_of(sys.executable)
        self._environment = environment_of(os.environ if environment is None else environment)

    @property
    def before(self) -> Kept | None:
        """What is installed, None when it is nothing."""
        return read_kept(self._state)

    # --- looking ------------------------------------------------------------------------------------------------------

    def status(self, *, written: tuple[str, ...] = (), removed: tuple[str, ...] = ()) -> Service:
        """Return whether the service is installed and runs, and what has changed since."""
        kept = read_kept(self._state)
        if kept is None:
            return Service(
                installed=False, running=False, system=self._machine.system, written=written, removed=removed
            )
        seen = self._see(kept)
        return Service(
            installed=True,
            running=is_running(kept, seen.running),
            system=kept.system,
            file=kept.file,
            command=kept.command,
            data=kept.data,
            address=kept.address,
            log=kept.log,
            findings=tuple(troubles(kept, seen)),
            written=written,
            removed=removed,
        )

    def open(self, *, now: float, shown: Service | None = None) -> Service:
        """Return the service with a new login link for each workspace; raises where nobody would take it."""
        kept = read_kept(self._state)
        if kept is None:
            raise ServiceNotInstalled
        running = find_running(self._state, kept.port)
        if running is None or not is_running(kept, running):
            # Whoever else listens there would get the link.
            raise ServiceNotRunning
        logins = tuple((root, self._link(kept, running, root, now)) for root in running.roots)
        return replace(shown or self.status(), logins=logins)

    def _link(self, kept: Kept, running: Running, root: str, now: float) -> str:
        return running.address + login_path(Path(root).name, offer_login(self._state, kept.port, root, now=now))

    def _see(self, kept: Kept) -> Seen:
        system = self._system(kept.system)
        running = find_running(self._state, kept.port)
        runs = is_running(kept, running)
        return Seen(
            digest=_digest(_read(Path(kept.file))),
            has_program=Path(kept.command[0]).exists(),
            has_stories=all(Path(root).is_dir() for root in kept.roots),
            running=running,
            is_fleeting=self._machine.is_fleeting(kept.command[0]),
            program=self._program,
            version=VERSION,
            told=() if runs else _last_lines(Path(kept.log)),
            left_out=() if system.takes_environment else tuple(name for name, _ in self._environment),
            ends_at_logout=runs and system.ends_at_logout(),
        )

    # --- installing ---------------------------------------------------------------------------------------------------

    def install(self, wanted: Wanted, *, patience: float = _START_SECONDS) -> Service:
        """Have the service run now and from now on; where it is installed already, it is as wanted afterwards.

        Everything that can be refused is refused before anything is written. When the disk or the system refuses after
        all, what was written is taken away again, unless there was a service before.
        """
        system = self._system(self._machine.refuse_nothing_known())
        self._machine.refuse_root({root.stat().st_uid for root in wanted.roots})
        wanted = self._with_password(wanted)
        before = read_kept(self._state)
        self._refuse_taken(wanted, before)
        if _is_foreign(system.file, before):
            raise ServiceForeign(file=str(system.file))
        system.refuse()
        start = self._start(wanted)
        content = system.content(start)
        kept = self._kept(wanted, system, start, content)
        if before is not None and before.file != kept.file:
            self.uninstall()
        elif before is not None:
            self._stop(before, system)
            self._forget_port(before)
        try:
            written = self._write(wanted, kept, system, content)
            system.begin()
        except (SystemRefused, OSError):
            if before is None:
                self.uninstall()
            raise
        self._wait(kept, patience, runs=True)
        return self.status(written=written)

    def _with_password(self, wanted: Wanted) -> Wanted:
        """Return what is wanted with the password of before where one is needed and none is given."""
        from forklore.web.server import refuse_open_doors  # noqa: PLC0415  # a heavy import that only this needs

        if wanted.password is None and wanted.needs_password:
            wanted = replace(wanted, password=read_password(self._state))
        if wanted.password is not None and "\n" in wanted.password:
            raise BadRequest("password_lines")
        refuse_open_doors(wanted.roots, host=wanted.host, password=wanted.password)
        return wanted

    def _refuse_taken(self, wanted: Wanted, before: Kept | None) -> None:
        """Raise ``PortTaken`` unless the port is free, or the service's own."""
        from forklore.web.server import listen  # noqa: PLC0415  # as above

        is_own = before is not None and is_running(before, find_running(self._state, before.port))
        if before is None or not is_own or before.port != wanted.port:
            listen(wanted.host, wanted.port).close()

    def _start(self, wanted: Wanted) -> Start:
        secret = password_of(self._state) if wanted.password is not None else None
        command = command_of(wanted, program=self._program, log=log_of(self._state), password_file=secret)
        return Start(command, self._environment)

    def _kept(self, wanted: Wanted, system: System, start: Start, content: bytes) -> Kept:
        from forklore.web.server import address_of  # noqa: PLC0415  # as above

        return Kept(
            system=system.name,
            file=str(system.file),
            digest=_digest(content) or "",
            command=start.command,
            data=wanted.data,
            user=wanted.user,
            roots=tuple(str(root.resolve()) for root in wanted.roots),
            host=wanted.host,
            port=wanted.port,
            names=wanted.names,
            origins=wanted.origins,
            poll=wanted.poll,
            address=address_of(wanted.host, wanted.port),
            log=str(log_of(self._state)),
            has_password=wanted.password is not None,
        )

    def _write(self, wanted: Wanted, kept: Kept, system: System, content: bytes) -> tuple[str, ...]:
        """Write the note, the password and what starts the service, in this order; return what is new or other now."""
        make_private(self._state.folder, upto=self._state.folder)
        keep(self._state, kept)
        secret = password_of(self._state)
        if wanted.password is None:
            secret.unlink(missing_ok=True)
        else:
            write_whole(secret, f"{wanted.password}\n".encode("utf-8", "surrogateescape"), private=True)
        if _read(system.file) == content:
            return ()
        system.file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(system.file, content)
        system.file.chmod(system.mode)
        return (str(system.file),)

    # --- removing -----------------------------------------------------------------------------------------------------

    def uninstall(self, *, keep_log: bool = False, forget: bool = False) -> Service:
        """Stop the service and remove everything that was written for it.

        With *forget*, who is logged in or paired is that no more. What neither our note nor a mark in the file says is
        ours is left alone.
        """
        kept = read_kept(self._state)
        name = kept.system if kept else self._machine.system
        if name is None:
            return self.status()
        system = self._system(name)
        file = Path(kept.file) if kept else system.file
        if kept is None and not _is_marked(_read(file)):
            return self.status()
        self._stop(kept, system)
        paths = [file, password_of(self._state), *([] if keep_log else [log_of(self._state)])]
        removed = [str(path) for path in paths if _remove(path)]
        system.forget()
        if kept is not None:
            self._forget_port(kept)
            removed += self._forget_visitors(kept) if forget else []
        forget_kept(self._state)
        return self.status(removed=tuple(removed))

    def _forget_port(self, kept: Kept) -> None:
        """Remove what was said of the service that ran, and the links to it."""
        if find_running(self._state, kept.port) is None:  # else another one has the port now
            forget_running(self._state, kept.port)
        forget_logins(self._state, kept.port)

    def _forget_visitors(self, kept: Kept) -> Iterator[str]:
        for root in kept.roots:
            forget_access(self._state, Path(root))
        sessions = self._state.folder / sessions_of(kept.port)
        if _remove(sessions):
            yield str(sessions)

    def _stop(self, kept: Kept | None, system: System) -> None:
        """Stop the service; a system that does not watch over it, or does not answer, leaves the process to us."""
        running = find_running(self._state, kept.port) if kept else None
        system.end()
        if kept is None or running is None or not is_running(kept, running):
            return
        if not self._wait(kept, _END_SECONDS, runs=False):
            with suppress(OSError):
                os.kill(running.pid, signal.SIGTERM)
            self._wait(kept, _STOP_SECONDS, runs=False)

    # --- both ---------------------------------------------------------------------------------------------------------

    def _wait(self, kept: Kept, seconds: float, *, runs: bool) -> bool:
        """Wait until the service runs, or does not; return whether it came to that."""
        deadline = time.monotonic() + seconds
        while is_running(kept, find_running(self._state, kept.port)) != runs:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        return True

    def _system(self, name: str) -> System:
        for system in SYSTEMS:
            if system.name == name:
                return system(self._machine, self._commands)
        raise Unsupported("unknown", system=name)


def _is_foreign(file: Path, before: Kept | None) -> bool:
    """Whether a file lies there that is not ours."""
    found = _read(file)
    is_known = before is not None and before.file == str(file)
    return found is not None and not is_known and not _is_marked(found)


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _remove(file: Path) -> bool:
    try:
        file.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _is_marked(content: bytes | None) -> bool:
    """Whether it is ours by what it says; a task is written in another encoding than the rest."""
    return content is not None and any(WRITTEN_BY.encode(encoding) in content for encoding in ("utf-8", "utf-16-le"))


def _last_lines(log: Path) -> tuple[str, ...]:
    with suppress(OSError):
        return tuple(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:])
    return ()
