"""From a phone: SillyTavern and the service are both reached by the machine's own address, with a password."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e_sillytavern.model import Model
from tests.e2e_sillytavern.page import Page
from tests.e2e_sillytavern.tavern import Door, Service, Tavern, network_address, wait_for
from tests.e2e_sillytavern.telling import begin, lore_in

PASSWORD = "nine quiet lanterns"  # of a service that lives for one test


@pytest.fixture
def phone(browser: Browser, tavern: Tavern, service: Service, model: Model, shots: Path) -> Iterator[Page]:
    """A page on a small screen that came by the machine's address, while the service is open to the network."""
    address = network_address()
    if address is None:
        pytest.skip("this machine is in no network")
    tavern.install_extension()
    (tavern.user / "extensions/forklore/pairing.json").unlink()
    service.stop()
    service.start("--host", "0.0.0.0", password=PASSWORD)  # with a password
    door = Door(address, tavern.port)
    context = browser.new_context(viewport={"width": 412, "height": 900}, has_touch=True, is_mobile=True)
    page = Page(context, tavern, model, shots)
    page.url = door.url
    yield page
    context.close()
    door.close()
    service.stop()


def saved_address(tavern: Tavern) -> str:
    """Return the address of the service as SillyTavern has stored it."""
    try:
        settings = json.loads((tavern.user / "settings.json").read_bytes())
    except ValueError:
        return ""  # it is being written
    return str(settings["extension_settings"]["forklore"]["address"])


def test_paired_by_password_it_does_what_it_does_at_home(phone: Page, tavern: Tavern, character: str) -> None:
    phone.load(connected=False)
    assert phone.run("window.isSecureContext") is False
    panel = phone.open_panel()
    fields = panel.locator("input")
    fields.nth(0).fill(str(tavern.service_port))  # of the host the page came from
    fields.nth(0).press("Tab")
    phone.wait_for_state("unpaired")
    phone.clear_toasts()

    fields.nth(1).fill("a wrong password")
    panel.locator(".forklore-pair").click()
    phone.wait_for_toast("The password is wrong")
    phone.shot("phone-wrong-password")
    fields.nth(1).fill(PASSWORD)
    panel.locator(".forklore-pair").click()
    phone.wait_for_state("connected")
    phone.shot("phone-panel")

    # SillyTavern saves settings a moment after they were changed; a page that is left before that forgets the address.
    wait_for(lambda: saved_address(tavern) == str(tavern.service_port), why="the address was not saved")
    phone.load()  # the token stays in the browser

    main = begin(phone, character)
    checkpoint = phone.checkpoint(2)
    phone.shot("phone-made")
    branch = phone.branch(2)
    phone.learn("cellar", "LORE-BRANCH")
    assert lore_in(phone.send("Go on.")) == {"LORE-COMMON", "LORE-BRANCH"}
    for address in (main, checkpoint, branch):
        assert tavern.forklore().verify(address).to_json()["findings"] == []
    with phone.tab.context.expect_page() as opened:
        phone.tab.locator("#forklore_option_tree").dispatch_event("click")
    opened.value.wait_for_url(f"http://{network_address()}:{tavern.service_port}/**")
    opened.value.get_by_text(character.removesuffix(".png")).first.wait_for()
    opened.value.close()
    assert phone.errors == []
