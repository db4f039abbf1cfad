"""SillyTavern's page in a real browser, driven as a person drives it."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Locator
from playwright.sync_api import Page as BrowserPage
from playwright.sync_api import TimeoutError as TooLate

from tests.e2e_sillytavern.model import Model
from tests.e2e_sillytavern.tavern import Tavern, wait_for

PATIENCE = 60_000
"""Milliseconds: others work on the machine as well."""

_NOTE_NOTICES = """(() => {
    window.noticed = [];
    new MutationObserver((all) => all.forEach(({ addedNodes }) => addedNodes.forEach((node) => {
        const toasts = node.matches?.('.toast') ? [node] : [...(node.querySelectorAll?.('.toast') ?? [])];
        toasts.filter((toast) => !toast.isNoted).forEach((toast) => { // they move along with dialogs
            toast.isNoted = true;
            window.noticed.push(toast.textContent.replace(/\\s+/g, ' '));
        });
    }))).observe(document, { childList: true, subtree: true });
})()"""
"""A notice goes after a few seconds, which a busy machine may take to look at it."""

POPUP = "dialog.popup[open]"
STEPS = "dialog.forklore-steps[open]"


class Page:
    """One tab."""

    def __init__(self, context: BrowserContext, tavern: Tavern, model: Model, shots: Path) -> None:
        """Open a tab; ``load`` goes to SillyTavern."""
        self.tavern = tavern
        self.url = tavern.url
        self.model = model
        self.tab: BrowserPage = context.new_page()
        self.tab.set_default_timeout(PATIENCE)
        self.tab.add_init_script(_NOTE_NOTICES)
        self.shots = shots
        self.errors: list[str] = []
        self.asked: list[str] = []
        """Every request to the service, as method and path."""
        self.logged: list[str] = []
        """What the extension says in the console of what goes on."""
        self.tab.on("console", lambda told: self.logged.append(told.text) if "[Forklore]" in told.text else None)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", lambda request: self._note(request.method, request.url))

    def _note(self, method: str, url: str) -> None:
        address = f"http://127.0.0.1:{self.tavern.service_port}/api/"
        if url.startswith(address) and method != "OPTIONS":
            self.asked.append(f"{method} {url.removeprefix(address)}")

    # --- loading --------------------------------------------------------------------------------------------------

    def load(self, *, connected: bool = True) -> None:
        """Load the page, and wait until it and the extension are ready."""
        self.tab.goto(self.url)
        self.tab.wait_for_function("() => window.SillyTavern && !document.getElementById('preloader')")
        self.tab.wait_for_function("() => SillyTavern.getContext().characters.length > 0")
        self.tab.wait_for_function(
            "() => SillyTavern.getContext().eventSource.autoFireLastArgs?.has('app_ready') ?? true"
        )
        if connected:
            self.wait_for_state("connected")

    def leave(self) -> bool:
        """Close the open chat for whoever has the page next; return whether nothing is left of it."""
        if self.tab.is_closed() or self.tab.locator("dialog[open]").count():
            return False
        self.idle()
        self.tab.unroute_all()
        self.run_with_modules("S.closeCurrentChat()")
        self.tab.wait_for_function("() => SillyTavern.getContext().getCurrentChatId() === undefined")
        self.clear_toasts()
        self.asked.clear()
        self.logged.clear()
        return True

    def open_panel(self) -> Locator:
        """Open our panel in the Extensions drawer."""
        panel = self.tab.locator("#forklore_panel")
        if not panel.locator(".forklore-state").is_visible():
            self.tab.locator("#extensions-settings-button .drawer-toggle").click()
            toggle = panel.locator(".inline-drawer-toggle")
            toggle.scroll_into_view_if_needed()
            toggle.click()
            panel.locator(".forklore-state").wait_for(state="visible")
            drawer = panel.element_handle()
            assert drawer is not None
            drawer.wait_for_element_state("stable")  # it slides
        return panel

    def wait_for_state(self, state: str) -> None:
        """Wait for the connection light."""
        self.tab.wait_for_selector(f".forklore-light[data-state='{state}']", state="attached")

    def run(self, expression: str, argument: Any = None) -> Any:
        """Evaluate JavaScript with ``c``, SillyTavern's context, and ``a``, the argument."""
        return self.tab.evaluate(
            f"async (a) => {{ const c = SillyTavern.getContext(); return ({expression}); }}", argument
        )

    def run_with_modules(self, expression: str, argument: Any = None) -> Any:
        """Evaluate JavaScript with SillyTavern's own modules: S(cript), W(orlds), B(ookmarks), G(roups)."""
        modules = (
            "const S = await import('/script.js'), W = await import('/scripts/world-info.js'),"
            " B = await import('/scripts/bookmarks.js'), G = await import('/scripts/group-chats.js');"
        )
        return self.tab.evaluate(
            f"async (a) => {{ {modules} const c = SillyTavern.getContext(); return ({expression}); }}", argument
        )

    # --- chats ----------------------------------------------------------------------------------------------------

    def open_character(self, avatar: str) -> str:
        """Open a character's chat; return its address."""
        self.run("c.characters.some(x => x.avatar === a) ? null : c.getCharacters()", avatar)
        self.run("c.selectCharacterById(c.characters.findIndex(x => x.avatar === a))", avatar)
        self.tab.wait_for_function(
            "a => { const c = SillyTavern.getContext();"
            " return c.characters[c.characterId]?.avatar === a && c.chat.length > 0; }",
            arg=avatar,
        )
        self.idle()
        return self.address

    def open_group(self, group: str) -> str:
        """Open a group's chat; return its address."""
        self.run("c.getCharacters()")
        self.run_with_modules("G.openGroupById(a)", group)
        self.tab.wait_for_function(
            "a => SillyTavern.getContext().groupId === a && SillyTavern.getContext().chat.length > 0", arg=group
        )
        self.idle()
        return self.address

    def open_chat(self, address: str) -> None:
        """Open another chat of the character or group that is open."""
        name = address.partition("/")[2]
        self.run("c.groupId ? c.openGroupChat(c.groupId, a) : c.openCharacterChat(a)", name)
        self.wait_for_chat(address)

    def wait_for_chat(self, address: str) -> None:
        """Wait until a chat is open and shown."""
        name = address.partition("/")[2]
        self.tab.wait_for_function(
            "a => SillyTavern.getContext().getCurrentChatId() === a && document.querySelector('#chat .mes')",
            arg=name,
        )
        self.idle()

    @property
    def address(self) -> str:
        """The chat that is open."""
        solo = "c.groupId ? `group:${c.groupId}` : c.characters[c.characterId].avatar.replace(/\\.png$/, '')"
        return f"{self.run(solo)}/{self.run('c.getCurrentChatId()')}"

    def wait_until_verified(self) -> None:
        """Wait until the chat that was opened has been looked at, and what there is to say has been said."""
        self.wait_until(lambda: any("[3/3] Told" in text for text in self.logged))

    def outlast(self, milliseconds: int) -> None:
        """Wait until each timer that the page has set, for at most so long, has run: one that is set now is later."""
        self.run("new Promise((done) => setTimeout(done, a))", milliseconds)

    @property
    def messages(self) -> list[str]:
        """The texts of the open chat, as the page has them."""
        texts: list[str] = self.run("c.chat.map(x => x.mes)")
        return texts

    def send(self, text: str) -> str:
        """Send a message and wait for the answer; return the prompt the model was given."""
        count, prompts = self.run("c.chat.length"), len(self.model.prompts)
        self.tab.fill("#send_textarea", text)
        self.tab.click("#send_but")
        self.tab.wait_for_function("n => SillyTavern.getContext().chat.length >= n", arg=count + 2)
        self.idle()
        wait_for(lambda: len(self.model.prompts) > prompts)
        return self.model.last_prompt

    def idle(self) -> None:
        """Wait until nothing is written, neither by the model nor to the disk."""
        self.tab.wait_for_function("() => document.body.dataset.generating !== 'true'")
        self.tab.wait_for_function("async () => !(await import('/script.js')).isChatSaving")

    def saved(self) -> None:
        """Save the open chat as SillyTavern does by itself."""
        self.run_with_modules("S.saveChatConditional()")

    def kept_files(self) -> dict[str, bytes]:
        """Return every chat, lorebook and operation as it is on the disk."""
        user = self.tavern.user
        patterns = ("chats/*/*.jsonl", "group chats/*.jsonl", "worlds/*.json", ".forklore/**/*.json")
        return {str(path): path.read_bytes() for each in patterns for path in user.glob(each)}

    # --- lore -----------------------------------------------------------------------------------------------------

    def attach_book(self, name: str, entries: dict[str, str]) -> None:
        """Make a lorebook and attach it to the open chat; its entries are always told to the model."""
        self.tavern.ask("/api/worldinfo/edit", {"name": name, "data": {"entries": {}}})
        self.run_with_modules("W.updateWorldInfoList()")
        # A chat that was just begun may be read once more, and its metadata with it.
        self.run_with_modules(
            """(async () => {
                const attached = () => SillyTavern.getContext().chatMetadata.world_info === a;
                do {
                    const now = SillyTavern.getContext();
                    now.chatMetadata.world_info = a;
                    await now.saveMetadata();
                } while (!attached() || !(await W.loadWorldInfo(a)));
            })()""",
            name,
        )
        for key, content in entries.items():
            self.learn(key, content)

    def learn(self, key: str, content: str) -> None:
        """Add an entry to the lorebook of the open chat, through SillyTavern."""
        self.run_with_modules(
            """(async () => {
                const name = c.chatMetadata.world_info;
                const book = await W.loadWorldInfo(name);
                const entry = W.createWorldInfoEntry(name, book);
                Object.assign(entry, { key: [a.key], comment: a.key, content: a.content, constant: true });
                await W.saveWorldInfo(name, book, true);
            })()""",
            {"key": key, "content": content},
        )

    @property
    def book(self) -> str:
        """The lorebook of the open chat."""
        return str(self.run("c.chatMetadata.world_info"))

    # --- forks ----------------------------------------------------------------------------------------------------

    def button(self, at: int, kind: str) -> Locator:
        """Return the button of a message; it lies behind three dots."""
        name = {"checkpoint": "mes_create_bookmark", "branch": "mes_create_branch", "flag": "mes_bookmark"}[kind]
        return self.tab.locator(f'#chat .mes[mesid="{at}"] .{name}').first

    def click(self, at: int, kind: str, **event: Any) -> None:
        """Click a button of a message."""
        self.button(at, kind).dispatch_event("click", {"bubbles": True, "cancelable": True, **event})

    def answer_name(self, name: str | None = None) -> str:
        """Answer the question for a checkpoint's name; return the name that was suggested."""
        field = self.tab.locator(f"{POPUP} textarea.popup-input")
        field.wait_for(state="visible")
        suggested = field.input_value()
        if name is not None:
            field.fill(name)
        self.tab.locator(f"{POPUP} .popup-button-ok").click()
        return suggested

    def checkpoint(self, at: int, name: str | None = None) -> str:
        """Make a checkpoint with the flag button; return its address."""
        self.run("window.noticed = []")
        self.click(at, "checkpoint")
        suggested = self.answer_name(name)
        self.wait_for_toast("Checkpoint created")
        self.tab.wait_for_selector(STEPS, state="detached")
        return f"{self.address.partition('/')[0]}/{name or suggested}"

    def branch(self, at: int) -> str:
        """Make a branch with the branch button; return its address."""
        before = self.address
        self.click(at, "branch")
        return self.wait_for_branch(before)

    def wait_for_branch(self, before: str) -> str:
        """Wait until a branch of the chat *before* has opened."""
        self.tab.wait_for_function(
            "a => SillyTavern.getContext().getCurrentChatId() !== a && SillyTavern.getContext().chat.length > 0",
            arg=before.partition("/")[2],
        )
        self.tab.wait_for_selector(STEPS, state="detached")
        self.idle()
        return self.address

    def wait_until(self, what: Callable[[], Any]) -> Any:
        """Return what *what* returns as soon as it is true, while the browser's events are heard."""
        end = time.monotonic() + PATIENCE / 1000
        while not (found := what()):
            assert time.monotonic() < end, "it did not come true in time"
            self.tab.wait_for_timeout(50)
        return found

    # --- what is shown --------------------------------------------------------------------------------------------

    @property
    def noticed(self) -> list[str]:
        """The notices since the page was loaded or they were cleared, also those that are gone again."""
        texts: list[str] = self.run("window.noticed")
        return texts

    def wait_for_toast(self, text: str) -> str:
        """Wait for a notice that has *text*, and return all of it; it may be gone again."""
        try:
            self.tab.wait_for_function("a => window.noticed.some((each) => each.includes(a))", arg=text)
        except TooLate:
            shown = self.tab.locator(POPUP).all_inner_texts()
            raise AssertionError(f"no notice {text!r}: there were {self.noticed}, and {shown} is asked") from None
        with contextlib.suppress(TooLate):  # for the pictures
            self.tab.locator(".toast", has_text=text).first.wait_for(state="visible", timeout=1000)
        return next(each for each in self.noticed if text in each)

    def click_toast(self, text: str) -> None:
        """Click on a notice that is still shown."""
        self.tab.locator(".toast", has_text=text).first.click()

    def popup(self, text: str) -> Locator:
        """Wait for a popup that has *text*."""
        found = self.tab.locator(POPUP, has_text=text).last
        found.wait_for(state="visible")
        return found

    def choose(self, text: str, button: str) -> None:
        """Press a button of a popup."""
        popup = self.popup(text)
        popup.locator(".popup-controls > *", has_text=button).first.click()
        popup.wait_for(state="hidden")

    def clear_toasts(self) -> None:
        """Remove every notice, and forget what was noticed."""
        self.run("(document.querySelectorAll('.toast').forEach(x => x.remove()), window.noticed = [])")

    def shot(self, name: str) -> None:
        """Keep a picture."""
        self.shots.mkdir(parents=True, exist_ok=True)
        self.tab.screenshot(path=self.shots / f"{name}.png", animations="disabled")

    def slash(self, command: str) -> str:
        """Run a slash command; return what it returns."""
        result = self.run("c.executeSlashCommandsWithOptions(a)", command)
        return str(result["pipe"])

    @property
    def integrity_dialogs(self) -> int:
        """How many dialogs about a chat's integrity are shown."""
        return self.tab.locator(POPUP, has_text="integrity check failed").count()


def as_json(text: str) -> Any:
    """Return the JSON in *text*."""
    return json.loads(text)
