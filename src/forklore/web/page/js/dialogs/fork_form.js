/**
 * What a fork is to be: its kind, its message, its name, its swipe.
 * @module
 */
import { look } from "../api.js";
import { fill, freshId, h, name, spoken, whenQuiet } from "../dom.js";
import { parts } from "../format.js";
import { chatName, kindIcon } from "../parts.js";
import { number, t } from "../strings.js";
import { HIDDEN } from "./preview.js";

/** @typedef {import("../types.js").Timeline} Timeline */
/** @typedef {import("../types.js").Page} Page */
/** @typedef {import("../types.js").Message} Message */
/** @typedef {import("../types.js").Preview} Preview */
/**
 * @typedef {Object} Wish
 * @property {"checkpoint" | "branch"} kind
 * @property {string} chat
 * @property {number} at
 * @property {string} name
 * @property {number | null} swipe
 * @property {boolean} show_last_scene
 */

const EXCERPT = 160;
const SCENES_SHOWN = 2;
const KINDS = /** @type {const} */ (["checkpoint", "branch"]);

/**
 * @param {{chat: string, kind: "checkpoint" | "branch", at: number | null, signal: AbortSignal, changed: () => void, entered: () => void}} options
 *   *entered* is called when the name is typed and sent off
 */
export function forkForm({ chat, kind, at, signal, changed, entered }) {
  const group = freshId("kind");
  /** @type {Message | null} */
  let message = null;
  let last = 0;

  const kinds = KINDS.map((each) => h("input", { type: "radio", name: group, value: each, checked: each === kind, on: { change: () => (settle(), changed()) } }));
  const where = h("input", { type: "number", min: 0, required: true, inputmode: "numeric", id: freshId("at"), on: { input: () => moved() } });
  const quick = h("span", { class: "quick" });
  const excerpt = h("blockquote", { class: "excerpt", dir: "auto" });
  const called = h("input", { type: "text", maxlength: 200, autocomplete: "off", id: freshId("name"), dir: "auto", on: { input: () => soon(), keydown: enter } });
  const swipe = h("select", { id: freshId("swipe"), on: { change: () => changed() } });
  const show = h("input", { type: "checkbox", on: { change: () => changed() } });
  const nameField = h("div", { class: "field" }, h("label", { for: called.id }, t("fork.name")), called);
  const swipeField = h("div", { class: "field", hidden: true }, h("label", { for: swipe.id }, t("fork.swipe")), swipe);
  const showField = h("label", { class: "check callout callout-warn", hidden: true }, show, h("span", null, h("strong", null, t("fork.show_last")), h("br"), t("fork.show_last.text")));
  const soon = whenQuiet(changed, 250, signal);
  const readSoon = whenQuiet(() => void readMessage().then(changed, () => changed()), 200, signal);

  /** @param {KeyboardEvent} event */
  function enter(event) {
    if (event.key !== "Enter" || event.isComposing) return; // while composing, Enter chooses a character
    event.preventDefault();
    entered();
  }

  function chosenKind() {
    return kinds.find((each) => each.checked)?.value === "branch" ? "branch" : "checkpoint";
  }

  function place() {
    return where.value === "" ? last : Number(where.value);
  }

  function moved() {
    message = null;
    show.checked = false;
    showField.hidden = true;
    readSoon();
  }

  /** @param {number} index */
  function moveTo(index) {
    where.value = String(index);
    moved();
  }

  async function readMessage() {
    const index = place();
    if (!(index >= 0 && index <= last)) {
      fill(excerpt);
      return;
    }
    /** @type {Page} */
    const page = await look("messages", { chat, start: index, count: 1 }, { signal });
    if (index !== place()) return;
    message = page.messages[0] ?? null;
    drawExcerpt();
    settle();
  }

  function drawExcerpt() {
    if (!message) return fill(excerpt);
    const text = message.text.length > EXCERPT ? `${message.text.slice(0, EXCERPT)}…` : message.text;
    fill(excerpt, h("strong", null, name(message.name)), " ", text);
  }

  function settle() {
    const branch = chosenKind() === "branch";
    const swipes = message?.swipes ?? 0;
    nameField.hidden = branch;
    swipeField.hidden = !branch || swipes < 2;
    if (swipe.options.length === swipes && swipe.dataset["at"] === String(place())) return;
    swipe.dataset["at"] = String(place());
    fill(swipe, ...Array.from({ length: swipes }, (_, index) => h("option", { value: index, selected: index === message?.swipe }, index === message?.swipe ? t("fork.swipe.shown", { number: index + 1 }) : t("fork.swipe.other", { number: index + 1 }))));
  }

  async function read() {
    /** @type {[Timeline | null, Page]} */
    const [timeline, page] = await Promise.all([look("show", { chat }, { signal }).catch(() => null), look("messages", { chat, start: 0, count: 1 }, { signal })]);
    last = Math.max(page.total - 1, 0);
    where.max = String(last);
    where.value = String(at ?? last);
    const scenes = (timeline?.scene_breaks ?? []).filter((scene) => scene.ready).slice(-SCENES_SHOWN).reverse();
    fill(
      quick,
      quickButton(t("fork.at.last"), last),
      ...scenes.map((scene) => quickButton(scene.name || t("scene.unnamed"), scene.message, true)),
    );
    await readMessage();
  }

  /**
   * @param {string} text
   * @param {number} index
   * @param {boolean} [scene]
   */
  function quickButton(text, index, scene = false) {
    return h("button", { type: "button", class: "chip chip-button", on: { click: () => moveTo(index) } }, scene ? spoken(t("scene.ends")) : null, name(text), h("span", { class: "quiet" }, `#${number(index)}`));
  }

  const element = h(
    "form",
    { class: "fork-form", on: { submit: (/** @type {Event} */ event) => event.preventDefault() } },
    h(
      "fieldset",
      { class: "kind-choice" },
      h("legend", { class: "spoken" }, t("fork.kind")),
      ...KINDS.map((each, index) =>
        h("label", { class: `kind-card kind-${each}` }, kinds[index], kindIcon(each), h("span", null, h("strong", null, t(`kind.${each}`)), h("span", { class: "kind-means" }, t(`fork.means.${each}`)))),
      ),
    ),
    h("p", { class: "fork-parent quiet" }, t("fork.of"), " ", chatName(chat)),
    h("div", { class: "field" }, h("label", { for: where.id }, t("fork.at")), h("div", { class: "at-place" }, where, quick), excerpt),
    nameField,
    swipeField,
    showField,
  );

  return {
    element,
    ready: read(),
    /** @returns {Wish} */
    wish() {
      const branch = chosenKind() === "branch";
      const other = branch && !swipeField.hidden && Number(swipe.value) !== message?.swipe;
      return {
        kind: branch ? "branch" : "checkpoint",
        chat,
        at: place(),
        name: branch ? "" : called.value.trim(),
        swipe: other ? Number(swipe.value) : null,
        show_last_scene: show.checked,
      };
    },
    /** @param {Preview} preview */
    seen(preview) {
      if (!called.value) called.placeholder = parts(preview.chat).name;
      const hidden = [...preview.warnings, ...preview.notes].some(({ code }) => code === HIDDEN);
      if (hidden || !show.checked) showField.hidden = !hidden;
    },
  };
}
