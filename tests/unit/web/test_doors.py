"""The doors let in who should come in, and nobody else."""

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forklore.access.keys import offer_code, read_tokens
from forklore.disk.state import State
from forklore.disk.system import IS_WINDOWS
from forklore.web.access import Access, Bucket, Holder, Login, LoginNeeded, NotPaired, TooManyRequests
from forklore.web.addresses import client_at
from forklore.web.doors import LARGEST_BODY, Doors, House, Refusal, Visitor

HOST = "127.0.0.1:7788"
TAVERN = "http://127.0.0.1:8000"
HOUSE = House(7788, frozenset({"127.0.0.1", "localhost", "::1"}))


class Clock:
    """A time of day that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


async def nowhere(*_: object) -> None:
    raise AssertionError("a request came in")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "default-user"
    (root / "chats").mkdir(parents=True)
    (root / "extensions" / "forklore").mkdir(parents=True)
    return root


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def access(root: Path, state: State, clock: Clock) -> Access:
    return Access([root], state, password="correct horse", now=clock)


@pytest.fixture
def code(root: Path, state: State, clock: Clock) -> str:
    """A code that the extension was installed with."""
    offer_code(state, root, now=clock())
    return code_in(root)


def code_in(root: Path) -> str:
    return str(json.loads((root / "extensions/forklore/pairing.json").read_bytes())["code"])


def asked(
    access: Access,
    path: str,
    method: str = "GET",
    *,
    house: House = HOUSE,
    client: str = "me",
    page: dict[str, str] | None = None,
    **headers: str,
) -> Visitor | Refusal:
    given = {"host": HOST} | (page or {}) | {name.replace("_", "-"): value for name, value in headers.items()}
    return Doors(nowhere, house, access).judge(method, path, given, client)


def preflight(access: Access, origin: str = TAVERN) -> Visitor | Refusal:
    return asked(access, "/api/undo", "OPTIONS", origin=origin, access_control_request_method="POST")


def logged_in(access: Access, root: Path) -> dict[str, str]:
    """Return the headers of a page that has just logged in."""
    login = access.log_in(root.name, access.new_login(root))
    return {"cookie": f"other=1; {HOUSE.cookie}={login.cookie}", "x-forklore-page": login.key}


def root_of(verdict: Visitor | Refusal) -> Path | None:
    assert isinstance(verdict, Visitor), verdict
    return verdict.holder.root if verdict.holder else None


def opened(holder: Holder | None) -> Path | None:
    return holder.root if holder else None


def refused(verdict: Visitor | Refusal) -> str:
    assert isinstance(verdict, Refusal)
    return verdict.error.code


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "evil.example:7788", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:7788@evil.example",
        "evil.example#127.0.0.1:7788", "127.0.0.1:77880000", "localhost.evil.example:7788", "192.168.0.7:7788",
        "[::1", "127.0.0.1:x", "local\thost:7788", "localhost\n:7788", "localhost:7788 ", "localhost:7788/",
        "@localhost:7788", "localhost:+7788", "localhost:\u0667\u0667\u0668\u0668", "[localhost]:7788", "[]:7788",
        "::1:7788", "localhost:",
    ],
)  # fmt: skip
def test_a_foreign_name_is_refused_even_for_what_anybody_may_ask(access: Access, host: str) -> None:
    for path in ("/", "/login", "/api/health", "/api/stories"):
        assert refused(asked(access, path, host=host)) == "FOREIGN_HOST"


def test_a_page_of_the_same_name_learns_that_the_service_does_not_know_it(access: Access) -> None:
    for origin, told in (("http://tower.lan:8000", "http://tower.lan:8000"), ("http://evil.example:8000", None)):
        verdict = asked(access, "/api/health", host="tower.lan:7788", origin=origin)
        assert isinstance(verdict, Refusal)
        assert (verdict.error.code, verdict.cors_origin) == ("FOREIGN_HOST", told)
        assert verdict.error.params == {"host": "tower.lan"}
        assert "“tower.lan”" in verdict.error.message
        assert "--name" in verdict.error.action


@pytest.mark.parametrize("host", ["127.0.0.1:7788", "localhost:7788", "LOCALHOST:7788", "[::1]:7788"])
def test_its_own_names_are_known(access: Access, host: str) -> None:
    assert isinstance(asked(access, "/api/health", host=host), Visitor)


def test_open_to_the_network_every_plain_address_will_do_but_no_foreign_name(access: Access) -> None:
    house = House(7788, HOUSE.names, open_to_network=True)
    assert isinstance(asked(access, "/api/health", house=house, host="192.168.0.7:7788"), Visitor)
    assert refused(asked(access, "/api/health", house=house, host="evil.example:7788")) == "FOREIGN_HOST"


@pytest.mark.parametrize("path", ["/api/stories", "/api/schema/openapi.json", "/api/events", "/api/nothing", "/api"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS"])
def test_without_a_key_nothing_of_a_story_is_asked(access: Access, path: str, method: str) -> None:
    assert refused(asked(access, path, method)) == "LOGIN_NEEDED"


@pytest.mark.parametrize(
    "origin",
    [
        "chrome-extension://localhost", "file://localhost", "ftp://127.0.0.1", "http://evil@127.0.0.1",
        "http://127.0.0.1:8000@evil.example", "http://127.0.0.1:8000/", "http://127.0.0.1?x", "http://127.0.0.1#x",
        "http://local\thost", "http:127.0.0.1", "//127.0.0.1", "127.0.0.1", "http://", "http://[::1", "null", "",
        "http://127.0.0.1:", "http://127.0.0.1:8000, http://evil.example",
    ],
)  # fmt: skip
def test_what_is_no_web_page_of_this_machine_may_not_try_to_pair(access: Access, origin: str) -> None:
    for verdict in (asked(access, "/api/pair", "POST", origin=origin), preflight(access, origin)):
        assert isinstance(verdict, Refusal)
        assert (verdict.error.code, verdict.cors_origin) == ("FOREIGN_ORIGIN", None)


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1", "https://localhost:8000", "http://[::1]:8000", "http://LOCALHOST"]
)
def test_a_page_of_this_machine_may_try_to_pair(access: Access, origin: str) -> None:
    assert asked(access, "/api/pair", "POST", origin=origin) == Visitor(None, origin)


@pytest.mark.parametrize("path", ["/page/" + "x" * 5000, "/page/" + "é" * 200, "/page/" + "x/" * 2500, "/x" * 70_000])
def test_a_path_longer_than_any_leads_nowhere(access: Access, path: str) -> None:
    assert refused(asked(access, path)) == "NOT_FOUND"


ODD_PATHS = (
    "//api/overview", "///api/stories", "/./api/log", "/page/../api/stories", "/page//x", "/page/../server.py",
    "/api//stories", "/login/../api/log", "/page\\x", "/page/\0", "//", "/api", "/anything", "/page",
    "/loginx", "/API/log",
)  # fmt: skip


@pytest.mark.parametrize("path", ODD_PATHS)
def test_no_other_spelling_of_a_path_comes_in_without_a_key(access: Access, path: str) -> None:
    assert refused(asked(access, path)) in {"NOT_FOUND", "LOGIN_NEEDED"}


def test_a_page_that_may_be_paired_learns_why_it_is_refused(access: Access) -> None:
    verdict = asked(access, "/api/stories", authorization="Bearer old", origin=TAVERN)
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.cors_origin) == (401, TAVERN)
    verdict = asked(access, "/api/stories", authorization="Bearer old", origin="http://evil.example")
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.cors_origin) == (403, None)


def test_a_foreign_page_cannot_embed_anything_nor_use_up_the_tries_of_this_machine(access: Access, root: Path) -> None:
    for path in ("/login", "/", "/page/icon.svg", "/api/health"):
        embedded = asked(access, path, sec_fetch_site="cross-site", sec_fetch_mode="no-cors")
        assert refused(embedded) == "FOREIGN_ORIGIN"
    followed = asked(access, "/login", sec_fetch_site="cross-site", sec_fetch_mode="navigate")
    assert isinstance(followed, Visitor)
    for _ in range(50):
        with pytest.raises(LoginNeeded):
            access.log_in(root.name, "guess")
    assert access.log_in(root.name, access.new_login(root)).root == root


def test_odd_cookies_of_other_programs_do_no_harm(access: Access, root: Path) -> None:
    page = logged_in(access, root)
    page["cookie"] = f'a={{"x": 1}}; foo[bar]=1; k=a b; {page["cookie"]}; é=1'
    assert root_of(asked(access, "/api/stories", page=page)) == root


class TestSession:
    """A page that is logged in, while services come and go."""

    KEPT = "sessions-7788.json"

    @pytest.fixture
    def login(self, root: Path, state: State, clock: Clock) -> Login:
        access = Access([root], state, sessions=self.KEPT, now=clock)
        return access.log_in(root.name, access.new_login(root))

    def test_it_lasts_when_the_service_is_started_again(self, root: Path, state: State, login: Login) -> None:
        kept = state.folder / self.KEPT
        assert login.cookie not in kept.read_text()
        assert login.key not in kept.read_text()
        for place in (kept, kept.parent) if not IS_WINDOWS else ():  # a user's folders are private there
            assert place.stat().st_mode & 0o077 == 0
        now = Clock()
        assert opened(Access([root], state, sessions=self.KEPT, now=now).of_session(login.cookie, login.key)) == root

    def test_a_changed_password_ends_it(self, root: Path, state: State, login: Login, clock: Clock) -> None:
        access = Access([root], state, password="a new password", sessions=self.KEPT, now=clock)
        assert access.of_session(login.cookie, login.key) is None

    def test_it_ends_after_thirty_days(self, root: Path, state: State, login: Login, clock: Clock) -> None:
        access = Access([root], state, sessions=self.KEPT, now=clock)
        clock.time += 30 * 24 * 3600 - 1
        assert opened(access.of_session(login.cookie, login.key)) == root
        clock.time += 1
        assert access.of_session(login.cookie, login.key) is None
        access.log_in(root.name, access.new_login(root))
        assert len(json.loads((state.folder / self.KEPT).read_bytes())["sessions"]) == 1

    def test_it_opens_no_other_workspace(self, tmp_path: Path, state: State, login: Login, clock: Clock) -> None:
        access = Access([tmp_path / "another"], state, sessions=self.KEPT, now=clock)
        assert access.of_session(login.cookie, login.key) is None

    def test_logging_out_ends_it(self, root: Path, state: State, login: Login, clock: Clock) -> None:
        Access([root], state, sessions=self.KEPT, now=clock).log_out(login.cookie, login.key)
        assert Access([root], state, sessions=self.KEPT, now=clock).of_session(login.cookie, login.key) is None

    @pytest.mark.parametrize("content", ["[]", "", '{"sessions": 1}', '{"sessions": {"x": 1}}', '{"x": "/root"}'])
    def test_a_garbled_list_lets_nobody_in(self, root: Path, state: State, login: Login, content: str) -> None:
        (state.folder / self.KEPT).write_text(content)
        now = Clock()
        assert Access([root], state, sessions=self.KEPT, now=now).of_session(login.cookie, login.key) is None


def test_a_login_link_works_once(access: Access, root: Path) -> None:
    code = access.new_login(root)
    access.log_in(root.name, code)
    with pytest.raises(LoginNeeded):
        access.log_in(root.name, code)


def test_a_login_link_is_for_the_user_it_names(access: Access, root: Path) -> None:
    code = access.new_login(root)
    with pytest.raises(LoginNeeded):
        access.log_in("somebody-else", code)
    assert access.log_in(root.name, code).root == root


def test_a_link_for_the_extension_works_for_a_minute(access: Access, root: Path, clock: Clock) -> None:
    printed, brief = access.new_login(root), access.new_login(root, brief=True)
    clock.time += 61
    with pytest.raises(LoginNeeded):
        access.log_in(root.name, brief)
    assert access.log_in(root.name, printed).root == root


def test_cookie_and_key_open_their_workspace_to_our_own_page(access: Access, root: Path) -> None:
    page = logged_in(access, root)
    assert root_of(asked(access, "/api/stories", page=page)) == root
    assert root_of(asked(access, "/api/undo", "POST", origin=f"http://{HOST}", page=page)) == root


def test_the_cookie_alone_opens_nothing_nor_does_the_key(access: Access, root: Path) -> None:
    page, other = logged_in(access, root), logged_in(access, root)
    own = f"http://{HOST}"
    for headers in (
        {"cookie": page["cookie"]},
        {"x-forklore-page": page["x-forklore-page"]},
        {"cookie": page["cookie"], "x-forklore-page": ""},
        {"cookie": page["cookie"], "x-forklore-page": other["x-forklore-page"]},
        {"cookie": page["cookie"], "authorization": f"Bearer {page['x-forklore-page']}"},
    ):
        for method in ("GET", "POST", "DELETE"):
            assert refused(asked(access, "/api/stories", method, origin=own, page=headers)) in {
                "LOGIN_NEEDED",
                "NOT_PAIRED",
            }


def test_the_cookie_is_worth_nothing_to_a_page_of_somebody_else(access: Access, root: Path) -> None:
    page = logged_in(access, root)
    for origin in ("http://evil.example", "null", "http://[", "https://127.0.0.1.evil.example"):
        assert refused(asked(access, "/api/stories", origin=origin, page=page)) == "FOREIGN_ORIGIN"
    for origin in ("http://127.0.0.1:8000", "https://127.0.0.1:7788"):  # they may be paired, but are not
        assert refused(asked(access, "/api/stories", origin=origin, page=page)) == "LOGIN_NEEDED"
    for site in ("cross-site", "same-site"):
        verdict = asked(access, "/api/stories", sec_fetch_site=site, page=page)
        assert refused(verdict) == "FOREIGN_ORIGIN"
    assert refused(asked(access, "/api/undo", "POST", page=page)) == "FOREIGN_ORIGIN"  # browsers always say


def test_a_cookie_of_nobody_opens_nothing(access: Access) -> None:
    assert refused(asked(access, "/api/stories", cookie=f"{HOUSE.cookie}=guessed")) == "LOGIN_NEEDED"
    assert refused(asked(access, "/api/stories", cookie="\x00=;;;=")) == "LOGIN_NEEDED"


class TestPairing:
    """The extension and its code."""

    def test_the_code_in_its_folder_pairs_once(self, access: Access, root: Path, state: State, code: str) -> None:
        token, opened = access.pair(code=code, password=None, origin=TAVERN, client="me")
        assert opened == root
        assert not (root / "extensions/forklore/pairing.json").exists()
        kept = state.of_workspace(root, "access.json").read_text()
        assert token not in kept
        assert code not in kept
        assert root_of(asked(access, "/api/stories", authorization=f"Bearer {token}", origin=TAVERN)) == root
        with pytest.raises(NotPaired):
            access.pair(code=code, password=None, origin=TAVERN, client="me")

    def test_a_code_works_for_fifteen_minutes(self, access: Access, code: str, clock: Clock) -> None:
        clock.time += 15 * 60 + 1
        with pytest.raises(NotPaired, match="15 minutes"):
            access.pair(code=code, password=None, origin=TAVERN, client="me")

    def test_only_the_newest_code_works(self, access: Access, root: Path, state: State, code: str) -> None:
        offer_code(state, root, now=Clock()())
        with pytest.raises(NotPaired):
            access.pair(code=code, password=None, origin=TAVERN, client="me")
        assert access.pair(code=code_in(root), password=None, origin=TAVERN, client="me")[1] == root

    def test_a_code_that_somebody_put_into_the_folder_opens_nothing(self, access: Access, root: Path) -> None:
        (root / "extensions/forklore/pairing.json").write_text('{"code": "open-sesame"}')
        for tried in ("open-sesame", "", None):
            with pytest.raises(NotPaired):
                access.pair(code=tried, password=None, origin=TAVERN, client="me")

    def test_a_list_of_tokens_that_somebody_put_into_the_folder_opens_nothing(self, access: Access, root: Path) -> None:
        known = hashlib.sha256(b"mine").hexdigest()
        (root / ".forklore").mkdir()
        made = {"hash": known, "origin": TAVERN, "made": "2026-11-15T18:36:13Z"}
        (root / ".forklore/access.json").write_text(json.dumps({"tokens": [made]}))
        assert refused(asked(access, "/api/stories", authorization="Bearer mine", origin=TAVERN)) == "NOT_PAIRED"

    def test_open_to_the_network_a_code_never_stands_in_for_the_password(
        self, root: Path, state: State, code: str, clock: Clock
    ) -> None:
        access = Access([root], state, password="correct horse", open_to_network=True, now=clock)
        with pytest.raises(NotPaired, match="only be paired with the password"):
            access.pair(code=code, password=None, origin=TAVERN, client="me")
        assert access.pair(code=None, password="correct horse", origin=TAVERN, client="me")[1] == root

    def test_a_changed_password_ends_what_the_old_one_has_paired(
        self, access: Access, root: Path, state: State, code: str, clock: Clock
    ) -> None:
        by_password, _ = access.pair(code=None, password="correct horse", origin=TAVERN, client="me")
        by_code, _ = access.pair(code=code, password=None, origin=TAVERN, client="me")
        later = Access([root], state, password="another password", now=clock)
        assert later.of_token(by_password, TAVERN) is None
        assert opened(later.of_token(by_code, TAVERN)) == root

    def test_a_token_is_worth_nothing_to_a_page_of_somebody_else(self, access: Access, code: str) -> None:
        token, _ = access.pair(code=code, password=None, origin=TAVERN, client="me")
        bearer = f"Bearer {token}"
        assert (
            refused(asked(access, "/api/stories", authorization=bearer, origin="http://evil.example"))
            == "FOREIGN_ORIGIN"
        )
        access.pair(code=None, password="correct horse", origin="http://127.0.0.1:9000", client="me")
        verdict = asked(access, "/api/stories", authorization=bearer, origin="http://127.0.0.1:9000")
        assert refused(verdict) == "NOT_PAIRED"
        assert refused(asked(access, "/api/stories", authorization="Bearer guessed")) == "NOT_PAIRED"

    def test_a_paired_page_may_not_use_the_cookie_of_ours(self, access: Access, root: Path, code: str) -> None:
        access.pair(code=code, password=None, origin=TAVERN, client="me")
        verdict = asked(access, "/api/stories", origin=TAVERN, page=logged_in(access, root))
        assert refused(verdict) == "LOGIN_NEEDED"

    def test_a_token_opens_one_workspace(self, root: Path, tmp_path: Path, state: State, code: str) -> None:
        other = tmp_path / "another"
        (other / "chats").mkdir(parents=True)
        access = Access([other, root], state, now=Clock())
        token, paired = access.pair(code=code, password=None, origin=TAVERN, client="me")
        assert paired == root
        assert opened(access.of_token(token, TAVERN)) == root
        assert read_tokens(state, other) == ()

    @pytest.mark.parametrize("content", ["", "[]", '{"tokens": 1}', '{"tokens": [1]}', '{"code": 1}', '{"format": 99}'])
    def test_a_garbled_list_opens_nothing(self, access: Access, root: Path, state: State, content: str) -> None:
        token, _ = access.pair(code=None, password="correct horse", origin=TAVERN, client="me")
        state.of_workspace(root, "access.json").write_text(content)
        assert access.of_token(token, None) is None
        assert not access.is_paired(TAVERN)


def test_before_it_is_paired_a_page_may_only_ask_to_be(access: Access) -> None:
    assert asked(access, "/api/health", origin=TAVERN) == Visitor(None, TAVERN)
    assert asked(access, "/api/pair", "POST", origin=TAVERN) == Visitor(None, TAVERN)
    assert refused(asked(access, "/api/stories", origin=TAVERN)) == "LOGIN_NEEDED"
    assert refused(asked(access, "/", origin=TAVERN)) == "LOGIN_NEEDED"
    assert refused(asked(access, "/api/pair", "POST", origin="http://evil.example")) == "FOREIGN_ORIGIN"
    house = House(7788, HOUSE.names, origins=frozenset({"https://my.tavern"}))
    assert asked(access, "/api/pair", "POST", house=house, origin="https://my.tavern") == Visitor(
        None, "https://my.tavern"
    )


def test_a_browser_may_ask_whether_it_may_ask(access: Access) -> None:
    assert preflight(access) == Visitor(None, TAVERN)  # so that it can learn that it is not paired
    assert refused(preflight(access, "http://evil.example")) == "FOREIGN_ORIGIN"


@pytest.mark.parametrize("length", [str(LARGEST_BODY + 1), "-1", "many", "1e9"])
def test_a_large_body_is_refused_before_it_is_read(access: Access, length: str) -> None:
    assert refused(asked(access, "/api/pair", "POST", content_length=length)) == "TOO_LARGE"


def test_codes_and_passwords_cannot_be_guessed_by_trying(access: Access) -> None:
    for _ in range(10):
        with pytest.raises(NotPaired):
            access.pair(code=None, password="guess", origin=TAVERN, client="somebody")
    with pytest.raises(TooManyRequests):
        access.pair(code=None, password="guess", origin=TAVERN, client="somebody")
    assert access.log_in_with_password("correct horse", "me").key  # others are not shut out


def test_tries_at_the_same_moment_count_as_well(access: Access) -> None:
    together = threading.Barrier(40)

    def guess(number: int) -> type[Exception] | None:
        together.wait(30)
        try:
            access.log_in_with_password(f"guess {number}", "somebody")
        except (NotPaired, TooManyRequests) as error:
            return type(error)
        return None

    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(guess, range(40)))

    assert answers.count(NotPaired) == 10
    assert answers.count(TooManyRequests) == 30


def test_the_right_password_uses_up_no_tries(access: Access) -> None:
    for _ in range(30):
        access.log_in_with_password("correct horse", "me")


@pytest.mark.parametrize(
    "address, client",
    [
        ("127.0.0.1", "this machine"),
        ("127.3.2.1", "this machine"),
        ("::1", "this machine"),
        ("::ffff:127.0.0.9", "this machine"),
        ("192.168.0.7", "192.168.0.7"),
        ("::ffff:192.168.0.7", "192.168.0.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:ffff:ffff:ffff", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_a_client_is_one_whichever_of_its_addresses_it_uses(address: str, client: str) -> None:
    assert client_at(address) == client


def test_too_many_requests_are_refused_and_forgiven() -> None:
    now = 0.0
    bucket = Bucket(2, 1, clock=lambda: now)
    assert [bucket.take("a") for _ in range(3)] == [True, True, False]
    assert bucket.take("b")
    now = 1.0
    assert bucket.take("a")


def test_who_asks_without_end_is_refused(access: Access) -> None:
    doors = Doors(nowhere, HOUSE, access)
    verdicts = [doors.judge("GET", "/api/health", {"host": HOST}, "flood") for _ in range(2_000)]
    codes = {verdict.error.code for verdict in verdicts if isinstance(verdict, Refusal)}
    assert codes == {"TOO_MANY_REQUESTS"}
    assert isinstance(doors.judge("GET", "/api/health", {"host": HOST}, "somebody else"), Visitor)


def test_without_a_password_none_opens(root: Path, state: State) -> None:
    with pytest.raises(NotPaired):
        Access([root], state).log_in_with_password("", "me")
