"""The words of the page are served to whoever may see the page, logged in or not."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from forklore import texts
from tests.service.serving import served


def test_the_catalogues_and_their_scripts_are_served_and_nothing_else(sample: Callable[[str], Path]) -> None:
    with served(sample("hollow_quay_clean")) as running, httpx.Client(base_url=running.address) as client:
        for language in texts.LANGUAGES:
            answer = client.get(f"/texts/{language}.json")
            assert answer.json() == texts.catalogue(language)
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["cache-control"] == "no-cache"
        for name in ("printable.js", "template.js", "words.js"):
            answer = client.get(f"/texts/{name}")
            assert answer.content == (texts.FOLDER / name).read_bytes()
            assert answer.headers["content-type"].partition(";")[0] == "text/javascript"
            assert answer.headers["x-content-type-options"] == "nosniff"
        for name in ("__init__.py", "template.py", "constructor", "fr.json", "..%2ferrors.py"):
            assert client.get(f"/texts/{name}").status_code in {401, 404}, name


@pytest.mark.parametrize("name", ["en.json", "words.js"])
def test_a_page_of_another_site_gets_no_words(sample: Callable[[str], Path], name: str) -> None:
    with served(sample("hollow_quay_clean")) as running:
        answer = httpx.get(f"{running.address}/texts/{name}", headers={"Origin": "http://elsewhere.example"})

    assert answer.status_code == 403
