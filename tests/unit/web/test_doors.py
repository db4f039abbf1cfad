"""The doors let in who should come in, and nobody else."""

from pathlib import Path

import pytest

from forklore.disk.access import read_tokens
from forklore.web.access import Access, Bucket, NotPaired, TooManyRequests
from forklore.web.doors import LARGEST_BODY, Doors, House, Refusal, Visitor

HOST = "127.0.0.1:7788"
TAVERN = "http://127.0.0.1:8000"
HOUSE = House(7788, frozenset({"127.0.0.1", "localhost", "::1"}))


async def nowhere(*_: object) -> None:
    raise AssertionError("a request came in")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "default-user"
    (root / "chats").mkdir(parents=True)
    folder = root / "extensions" / "forklore"
    folder.mkdir(parents=True)
    (folder / "pairing.json").write_text('{"code": "open-sesame"}')
    return root


@pytest.fixture
def access(root: Path) -> Access:
    return Access([root], "correct horse")


def asked(
    access: Access, path: str, method: str = "GET", house: House = HOUSE, client: str = "me", **headers: str
) -> Visitor | Refusal:
    given = {"host": HOST} | {name.replace("_", "-"): value for name, value in headers.items()}
    return Doors(nowhere, house, access).judge(method, path, given, client)


def preflight(access: Access, origin: str = TAVERN) -> Visitor | Refusal:
    return asked(access, "/api/undo", "OPTIONS", origin=origin, access_control_request_method="POST")


def session(access: Access, root: Path) -> str:
    cookie = access.log_in(access.new_login(root))
    assert cookie is not None
    return f"other=1; {HOUSE.cookie}={cookie}"


def refused(verdict: Visitor | Refusal) -> str:
    assert isinstance(verdict, Refusal)
    return verdict.code


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "evil.example:7788", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:7788@evil.example",
        "evil.example#127.0.0.1:7788", "127.0.0.1:77880000", "localhost.evil.example:7788", "192.168.0.7:7788",
        "[::1", "127.0.0.1:x",
    ],
)  # fmt: skip
def test_a_foreign_name_is_refused_even_for_what_anybody_may_ask(access: Access, host: str) -> None:
    for path in ("/", "/login", "/api/health", "/api/stories"):
        assert refused(asked(access, path, host=host)) == "FOREIGN_HOST"


def test_a_page_of_the_same_name_learns_that_the_service_does_not_know_it(access: Access) -> None:
    for origin, told in (("http://tower.lan:8000", "http://tower.lan:8000"), ("http://evil.example:8000", None)):
        verdict = asked(access, "/api/health", host="tower.lan:7788", origin=origin)
        assert isinstance(verdict, Refusal)
        assert (verdict.code, verdict.cors_origin) == ("FOREIGN_HOST", told)
        assert "'tower.lan'" in verdict.detail
        assert "--name" in verdict.action


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
        assert access.log_in("guess") is None
    assert access.log_in(access.new_login(root)) is not None


def test_odd_cookies_of_other_programs_do_no_harm(access: Access, root: Path) -> None:
    cookie = f'a={{"x": 1}}; foo[bar]=1; k=a b; {session(access, root)}; é=1'
    assert asked(access, "/api/stories", cookie=cookie) == Visitor(root)


def test_a_page_stays_logged_in_when_the_service_is_started_again(root: Path, tmp_path: Path) -> None:
    kept = tmp_path / "state" / "sessions.json"
    before = Access([root], kept=kept)
    cookie = before.log_in(before.new_login(root))
    assert cookie is not None
    assert cookie not in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    assert Access([root], kept=kept).of_session(cookie) == root
    assert Access([root], "a new password", kept=kept).of_session(cookie) is None
    assert Access([tmp_path / "another"], kept=kept).of_session(cookie) is None
    Access([root], kept=kept).log_out(cookie)
    assert Access([root], kept=kept).of_session(cookie) is None
    kept.write_text("[]")
    assert Access([root], kept=kept).of_session(cookie) is None


def test_a_login_link_works_once(access: Access, root: Path) -> None:
    code = access.new_login(root)
    assert access.log_in(code) is not None
    assert access.log_in(code) is None


def test_the_cookie_opens_its_workspace_to_our_own_page(access: Access, root: Path) -> None:
    cookie = session(access, root)
    assert asked(access, "/api/stories", cookie=cookie) == Visitor(root)
    assert asked(access, "/api/undo", "POST", cookie=cookie, origin=f"http://{HOST}") == Visitor(root)


def test_the_cookie_is_worth_nothing_to_a_page_of_somebody_else(access: Access, root: Path) -> None:
    cookie = session(access, root)
    for origin in ("http://evil.example", "null", "http://[", "https://127.0.0.1.evil.example"):
        assert refused(asked(access, "/api/stories", cookie=cookie, origin=origin)) == "FOREIGN_ORIGIN"
    for origin in ("http://127.0.0.1:8000", "https://127.0.0.1:7788"):  # they may be paired, but are not
        assert refused(asked(access, "/api/stories", cookie=cookie, origin=origin)) == "LOGIN_NEEDED"
    for site in ("cross-site", "same-site"):
        verdict = asked(access, "/api/stories", cookie=cookie, sec_fetch_site=site)
        assert refused(verdict) == "FOREIGN_ORIGIN"
    assert refused(asked(access, "/api/undo", "POST", cookie=cookie)) == "FOREIGN_ORIGIN"  # browsers always say


def test_a_cookie_of_nobody_opens_nothing(access: Access) -> None:
    assert refused(asked(access, "/api/stories", cookie=f"{HOUSE.cookie}=guessed")) == "LOGIN_NEEDED"
    assert refused(asked(access, "/api/stories", cookie="\x00=;;;=")) == "LOGIN_NEEDED"


def test_the_extension_is_paired_once_by_the_code_in_its_folder(access: Access, root: Path) -> None:
    token, opened = access.pair(code="open-sesame", password=None, origin=TAVERN, client="me")
    assert opened == root
    assert not (root / "extensions/forklore/pairing.json").exists()
    assert token not in (root / ".forklore/access.json").read_text()
    assert asked(access, "/api/stories", authorization=f"Bearer {token}", origin=TAVERN) == Visitor(root, TAVERN)
    with pytest.raises(NotPaired):
        access.pair(code="open-sesame", password=None, origin=TAVERN, client="me")


def test_a_token_is_worth_nothing_to_a_page_of_somebody_else(access: Access) -> None:
    token, _ = access.pair(code="open-sesame", password=None, origin=TAVERN, client="me")
    bearer = f"Bearer {token}"
    assert (
        refused(asked(access, "/api/stories", authorization=bearer, origin="http://evil.example")) == "FOREIGN_ORIGIN"
    )
    access.pair(code=None, password="correct horse", origin="http://127.0.0.1:9000", client="me")
    verdict = asked(access, "/api/stories", authorization=bearer, origin="http://127.0.0.1:9000")
    assert refused(verdict) == "NOT_PAIRED"
    assert refused(asked(access, "/api/stories", authorization="Bearer guessed")) == "NOT_PAIRED"


def test_a_paired_page_may_not_use_the_cookie_of_ours(access: Access, root: Path) -> None:
    access.pair(code="open-sesame", password=None, origin=TAVERN, client="me")
    verdict = asked(access, "/api/stories", cookie=session(access, root), origin=TAVERN)
    assert refused(verdict) == "LOGIN_NEEDED"


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
    assert access.log_in_with_password("correct horse", "me")  # others are not shut out


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
    codes = {verdict.code for verdict in verdicts if isinstance(verdict, Refusal)}
    assert codes == {"TOO_MANY_REQUESTS"}
    assert isinstance(doors.judge("GET", "/api/health", {"host": HOST}, "somebody else"), Visitor)


def test_without_a_password_none_opens(root: Path) -> None:
    with pytest.raises(NotPaired):
        Access([root]).log_in_with_password("", "me")


def test_a_token_opens_one_workspace(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "another"
    (other / "chats").mkdir(parents=True)
    access = Access([other, root])
    token, opened = access.pair(code="open-sesame", password=None, origin=TAVERN, client="me")
    assert opened == root
    assert access.of_token(token, TAVERN) == root
    assert read_tokens(other) == ()


def test_a_damaged_list_of_tokens_opens_nothing_and_is_written_anew(access: Access, root: Path) -> None:
    (root / ".forklore").mkdir()
    (root / ".forklore/access.json").write_text('{"tokens": [{"hash": 1}]')
    assert read_tokens(root) == ()
    token, _ = access.pair(code="open-sesame", password=None, origin=TAVERN, client="me")
    assert access.of_token(token, None) == root
