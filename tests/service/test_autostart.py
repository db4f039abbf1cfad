"""The service that runs by itself, under the real thing where there is one: systemd, and a shell for Termux."""

import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from forklore.autostart.start import Start
from forklore.autostart.systemd import unit
from tests.conftest import SAMPLES
from tests.edges.running import MAREN
from tests.service.managing import managed, wait_for
from tests.service.serving import log_in

pytestmark = [pytest.mark.timeout(240), pytest.mark.slow]

ODD = "Élan “a” 'b' \"c\" 100% $HOME %h \\ 漢字 ;"


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return str(listening.getsockname()[1])


def stories_at(folder: Path) -> Path:
    shutil.copytree(SAMPLES / "hollow_quay_clean", folder)
    return folder


def use(link: str) -> int:
    """Follow a login link, and return how a look at the stories is answered."""
    address = link.partition("/login")[0]
    with httpx.Client(base_url=address, headers={"origin": address}, timeout=30) as client:
        log_in(client, link)
        answer = client.get("/api/stories")
        assert answer.json()["stories"][0]["main"] == MAREN
        return answer.status_code


def files_in(home: Path) -> set[str]:
    return {path.relative_to(home).as_posix() for path in home.rglob("*") if not path.is_dir()}


def test_under_a_real_systemd_it_runs_until_it_is_removed(tmp_path: Path) -> None:
    home, root, port = tmp_path / "home", stories_at(tmp_path / ODD / "default-user"), free_port()
    home.mkdir()
    with managed(home) as systemd:
        made = systemd.forklore("--data", root, "service", "install", "--port", port)
        assert made.code == 0, made
        unit = home / ".config/systemd/user/forklore.service"
        assert made.json["running"]
        assert made.json["file"] == str(unit)
        assert made.json["written"] == [str(unit)]
        assert made.json["address"] == f"http://127.0.0.1:{port}"
        link = made.json["workspaces"][0]["login"]
        assert use(link) == 200
        with pytest.raises(AssertionError):
            use(link)  # it works once

        found = systemd.forklore("service", "status")
        codes = {finding["code"] for finding in found.json["findings"]}
        assert (found.code, codes - {"SERVICE_PROGRAM_FLEETING"}) == (0, set())  # true of a clone in a temporary folder
        assert found.json["data"] == str(root)
        assert found.json["workspaces"] == []
        assert systemd.systemctl("is-enabled", "forklore.service").out == "enabled\n"
        told = Path(found.json["log"]).read_text(encoding="utf-8")
        assert "/login" not in told
        assert stat.S_IMODE(os.stat(found.json["log"]).st_mode) == 0o600

        opened = systemd.forklore("service", "open")
        assert use(opened.json["workspaces"][0]["login"]) == 200

        again = systemd.forklore("service", "install")  # what is left out stays as it is
        assert (again.code, again.json["written"], again.json["running"]) == (0, [], True)

    with managed(home) as systemd:  # the computer was started again
        wait_for(lambda: systemd.forklore("service", "status").json["running"])
        assert use(systemd.forklore("service", "open").json["workspaces"][0]["login"]) == 200

        gone = systemd.forklore("service", "uninstall")
        assert (gone.code, gone.json["installed"], gone.json["running"]) == (0, False, False)
        assert str(unit) in gone.json["removed"]
        assert systemd.systemctl("is-active", "forklore.service").out == "inactive\n"
        assert "forklore" not in systemd.systemctl("list-unit-files", "--no-legend").out
        left = {name for name in files_in(home) if name.startswith((".config", ".local"))}
        assert left == {f".local/state/forklore/sessions-{port}.json"}  # logins stay, unless asked for
    assert (root / "chats").is_dir()


def test_a_real_systemd_hands_every_word_over_as_it_is(tmp_path: Path) -> None:
    odd = tmp_path / ODD
    odd.mkdir()
    program, out = odd / "it's $python", odd / "out"
    program.symlink_to("/bin/sh")
    words = (
        ODD,
        "",
        " ",
        "\t\n\r\x1b\x7f\x85",
        "-",
        ";",
        "$$",
        "${PATH}",
        "%%",
        "%n",
        "\\x41",
        "a\udcffb",
        "\\",
        '"',
        "'",
    )
    script = 'printf "%s\\0" "$TOLD" "$@" > "$0.new"; mv "$0.new" "$0"'
    start = Start((str(program), "-c", script, str(out), *words), (("TOLD", ODD),))
    home = tmp_path / "home"
    folder = home / ".config/systemd/user"
    folder.mkdir(parents=True)
    (folder / "odd.service").write_bytes(unit(start))
    with managed(home) as systemd:
        assert systemd.systemctl("start", "odd.service").code == 0
        wait_for(out.exists)

    assert out.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1] == [ODD, *words]


def test_systemd_itself_has_nothing_to_say_against_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not there")
    file = tmp_path / "forklore.service"
    file.write_bytes(unit(Start((sys.executable, "-P", "-m", "forklore", ODD), (("FORKLORE_STATE", ODD),))))

    ran = subprocess.run(
        ["systemd-analyze", "--user", "verify", file],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_where_systemd_does_not_look_after_the_user_nothing_is_written(tmp_path: Path) -> None:
    home, root = tmp_path / "home", stories_at(tmp_path / "default-user")
    home.mkdir()
    with managed(home) as systemd:
        systemd.systemctl("exit")
        wait_for(lambda: systemd.systemctl("show-environment").code != 0)
        ran = systemd.forklore("--data", root, "service", "install", "--port", free_port())

        assert (ran.code, ran.error["code"]) == (5, "SERVICE_UNREACHABLE")
        assert "loginctl enable-linger" in ran.error["action"]
        assert not {name for name in files_in(home) if name.endswith((".service", "service.json"))}
