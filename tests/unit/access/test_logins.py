"""Login links of the command line, and the service that says that it runs."""

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from forklore.access.logins import forget_logins, logins_of, offer_login, redeem_login
from forklore.access.running import Running, announced, find_running, forget_running
from forklore.disk.state import State
from forklore.web.access import Access, LoginNeeded

RUNNING = Running("http://127.0.0.1:7788", ("/st/anna",), 4711, "1.0", "/log")


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state")


def test_a_link_opens_once_and_only_the_workspace_it_is_for(state: State, tmp_path: Path) -> None:
    anna, boris = tmp_path / "anna", tmp_path / "boris"
    code = offer_login(state, 7788, str(anna), now=1000.0)

    assert redeem_login(state, logins_of(7788), "guessed", [anna, boris], now=1000.0) is None
    assert redeem_login(state, logins_of(7788), code, [boris], now=1000.0) is None
    assert redeem_login(state, logins_of(7789), code, [anna], now=1000.0) is None
    assert redeem_login(state, logins_of(7788), code, [anna, boris], now=1000.0) == anna
    assert redeem_login(state, logins_of(7788), code, [anna, boris], now=1000.0) is None


@pytest.mark.parametrize("later", [-1.0, 15 * 60 + 1.0])
def test_a_link_that_is_too_old_opens_nothing(state: State, tmp_path: Path, later: float) -> None:
    code = offer_login(state, 7788, str(tmp_path), now=1000.0)

    assert redeem_login(state, logins_of(7788), code, [tmp_path], now=1000.0 + later) is None


def test_only_the_digest_is_kept_and_only_for_this_user(state: State, tmp_path: Path) -> None:
    code = offer_login(state, 7788, str(tmp_path), now=1000.0)
    file = state.folder / logins_of(7788)

    assert code not in file.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(state.folder.stat().st_mode) == 0o700
    forget_logins(state, 7788)
    assert list(state.folder.iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", '{"logins": 1}', '{"logins": [1, {}, {"made": "x"}]}', '{"format": 99}'])
def test_what_cannot_be_read_opens_nothing(state: State, tmp_path: Path, content: str) -> None:
    state.folder.mkdir()
    (state.folder / logins_of(7788)).write_text(content)

    assert redeem_login(state, logins_of(7788), "code", [tmp_path], now=1000.0) is None


def test_the_service_takes_the_link_of_the_command_line(state: State, tmp_path: Path) -> None:
    access = Access([tmp_path], state, logins=logins_of(7788), now=lambda: 1000.0)
    told: list[Path] = []
    access.on_login = told.append
    code = offer_login(state, 7788, str(tmp_path), now=1000.0)

    with pytest.raises(LoginNeeded):
        access.log_in("somebody else", code)
    login = access.log_in(tmp_path.name, code)
    assert login.root == tmp_path
    assert access.of_session(login.cookie, login.key) is not None
    assert told == []  # nobody has to be told of another link
    with pytest.raises(LoginNeeded):
        access.log_in(tmp_path.name, code)


def test_a_service_is_there_for_as_long_as_it_says_so(state: State) -> None:
    assert find_running(state, 7788) is None
    with announced(state, 7788, RUNNING):
        assert find_running(state, 7788) == RUNNING
        assert find_running(state, 7789) is None
    assert find_running(state, 7788) is None
    forget_running(state, 7788)
    assert list(state.folder.iterdir()) == []


def _die(folder: str) -> None:
    with announced(State(Path(folder)), 7788, RUNNING):
        os._exit(1)


def test_a_service_that_died_is_not_there(state: State) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_die, args=(str(state.folder),))
    process.start()
    process.join(60)

    assert (state.folder / "serving-7788.json").exists()
    assert find_running(state, 7788) is None


def test_where_it_cannot_be_said_it_is_served_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    nowhere = State(tmp_path / "file" / "state")

    with announced(nowhere, 7788, RUNNING):
        assert find_running(nowhere, 7788) is None


def test_of_two_on_one_port_the_first_one_is_told(state: State) -> None:
    with announced(state, 7788, RUNNING):
        with announced(state, 7788, Running("http://[::1]:7788", (), 1, "1.0")):
            assert find_running(state, 7788) == RUNNING
        assert find_running(state, 7788) == RUNNING
