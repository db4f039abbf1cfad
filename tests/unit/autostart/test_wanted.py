"""The command that is started, and for whom it is refused."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from forklore.autostart.commands import Commands, SystemRefused
from forklore.autostart.machine import AsRoot, Machine, Unsupported, this_machine
from forklore.autostart.wanted import Wanted, command_of, environment_of, program_of

MACHINE = Machine("systemd", Path("/home/a"), Path("/home/a/.config"), Path("/state"), "a", uid=1000)


def test_the_command_says_everything_and_no_password() -> None:
    wanted = Wanted(
        data="/st",
        user="-a",
        roots=(Path("/st"),),
        host="0.0.0.0",
        names=("box",),
        origins=("http://b",),
        poll=True,
        password="secret!!",
    )

    assert command_of(wanted, program="/py", log=Path("/l"), password_file=Path("/p")) == (
        *("/py", "-P", "-m", "forklore", "--data=/st", "--user=-a", "serve", "--host=0.0.0.0", "--port=7788"),
        *("--name=box", "--origin=http://b", "--poll", f"--password-file={Path('/p')}", f"--log={Path('/l')}"),
    )


def test_on_windows_no_window_is_opened() -> None:
    windows = str(Path("/venv/Scripts/python.exe"))

    assert program_of(windows, exists=lambda _: True) == str(Path("/venv/Scripts/pythonw.exe"))
    assert program_of(windows, exists=lambda _: False) == windows
    assert program_of("/venv/bin/python3", exists=lambda _: True) == "/venv/bin/python3"


def test_only_what_the_service_needs_of_the_environment_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    told = environment_of({"FORKLORE_STATE": "state", "FORKLORE_PASSWORD": "secret!!", "HOME": "/x", "PYTHONPATH": ""})

    assert told == (("FORKLORE_STATE", str(Path("/state").absolute())),)


@pytest.mark.parametrize(
    "machine, owners",
    [
        (replace(MACHINE, uid=0), {1000}),
        (replace(MACHINE, uid=0), {0, 1000}),
        (replace(MACHINE, uid=0, by_sudo=True), {0}),
    ],
)
def test_root_serves_nobody_else_s_stories(machine: Machine, owners: set[int]) -> None:
    with pytest.raises(AsRoot):
        machine.refuse_root(owners)


def test_root_may_serve_its_own_stories_and_anybody_his() -> None:
    replace(MACHINE, uid=0).refuse_root({0})
    MACHINE.refuse_root({1000, 1001})
    replace(MACHINE, uid=None, by_sudo=True).refuse_root({0})


def test_where_nothing_starts_programs_it_is_said_what_to_do() -> None:
    assert MACHINE.refuse_nothing_known() == "systemd"
    with pytest.raises(Unsupported) as told:
        replace(MACHINE, system=None).refuse_nothing_known()
    with pytest.raises(Unsupported) as contained:
        replace(MACHINE, system=None, is_container=True).refuse_nothing_known()
    assert "forklore serve" in told.value.action
    assert "container" in contained.value.action


def test_this_machine_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMUX_VERSION", "0.118")
    monkeypatch.delenv("USER", raising=False)
    monkeypatch.delenv("USERNAME", raising=False)
    found = this_machine(tmp_path)

    assert found.user
    assert found.state == tmp_path
    if sys.platform == "linux":
        assert found.system == "termux"


def test_what_a_program_says_is_told_on_one_line() -> None:
    ran = Commands().run(sys.executable, "-c", "import sys; print('a\\nb'); sys.exit('c')")

    assert ran == (1, "a b c", None)
    with pytest.raises(SystemRefused) as refused:
        Commands().must(sys.executable, "-c", "raise SystemExit('a')")
    assert refused.value.params == {"command": f"{sys.executable} -c", "reason": "a"}
    assert Commands().run("no such program").code == 127


def test_a_program_that_says_nothing_failed_for_a_reason_all_the_same() -> None:
    for command, reason in (
        (("no such program",), "The program no such program was not found."),
        ((sys.executable, "-c", "raise SystemExit(3)"), "It ended with exit code 3."),
    ):
        with pytest.raises(SystemRefused) as refused:
            Commands().must(*command)
        assert refused.value.message.endswith(f" failed. {reason}")
