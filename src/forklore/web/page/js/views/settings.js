/**
 * Settings: of the workspace, kept by the service; of this browser, kept here.
 * @module
 */
import { change, look, problemOf } from "../api.js";
import { fill, freshId, h, name } from "../dom.js";
import { refused, told } from "../notices.js";
import { codeWords, iconButton } from "../parts.js";
import { LANGUAGES, chooseLanguage, chosenLanguage, t } from "../strings.js";

/** @typedef {import("../types.js").Settings} Settings */

const THEMES = ["auto", "light", "dark"];
const EFFECTS = ["block", "warn", "ignore"];
const ALWAYS = ["MESSAGE_NOT_FOUND", "CHAT_DAMAGED", "LOREBOOK_MISSING", "LOREBOOK_UNREADABLE"];
const REQUIREMENTS = [
  "QUEUE_NOT_EMPTY",
  "QUEUE_UNREADABLE",
  "NO_SCENE_BREAK",
  "NO_SCENE_RECAP",
  "NO_LOREBOOK_ENTRY",
  "NO_RUNNING_RECAP",
  "SCENE_NOT_IN_RUNNING_RECAP",
  "RECAP_IN_PROGRESS",
  "HISTORY_HIDDEN",
  "LOREBOOK_ALSO_ACTIVE",
  "LOREBOOK_FROM_PRESENT",
  "REGISTRY_BROKEN",
  "NO_LOREBOOK",
];

/**
 * @param {HTMLElement} place
 * @param {string[]} _
 * @param {AbortSignal} signal
 */
export async function showSettings(place, _, signal) {
  /** @type {Settings} */
  const settings = await look("settings", {}, { signal });
  fill(
    place,
    h(
      "div",
      { class: "page" },
      h("div", { class: "page-head" }, h("div", null, h("h1", null, t("settings.title")))),
      browserPart(),
      policyPart(settings),
      namesPart(settings),
      requirementsPart(settings),
      sharedPart(settings),
    ),
  );
}

/**
 * @param {Partial<Settings>} changed
 * @returns {Promise<boolean>}
 */
async function keep(changed) {
  try {
    await change("settings", changed);
    told(t("settings.kept"));
    return true;
  } catch (error) {
    refused(problemOf(error));
    return false;
  }
}

/** @returns {HTMLElement} */
function browserPart() {
  const languageId = freshId("language");
  const themeId = freshId("theme");
  const language = h(
    "select",
    { id: languageId, on: { change: () => void chooseLanguage(language.value).then(() => document.dispatchEvent(new Event("forklore:redraw"))) } },
    ...["auto", ...LANGUAGES].map((tag) => h("option", { value: tag, selected: tag === chosenLanguage() }, t(`language.${tag}`))),
  );
  const current = localStorage.getItem("forklore.theme") ?? "auto";
  const theme = h("select", { id: themeId, on: { change: () => setTheme(theme.value) } }, ...THEMES.map((each) => h("option", { value: each, selected: each === current }, t(`theme.${each}`))));
  return h(
    "section",
    { class: "card" },
    h("h2", null, t("settings.browser")),
    h("p", { class: "quiet" }, t("settings.browser.text")),
    h("div", { class: "fields" }, h("div", { class: "field" }, h("label", { for: languageId }, t("settings.language")), language), h("div", { class: "field" }, h("label", { for: themeId }, t("settings.theme")), theme)),
  );
}

/** @param {string} theme */
function setTheme(theme) {
  if (theme === "auto") {
    localStorage.removeItem("forklore.theme");
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem("forklore.theme", theme);
    document.documentElement.dataset["theme"] = theme;
  }
}

/** @param {Settings} settings @returns {HTMLElement} */
function policyPart(settings) {
  const group = freshId("policy");
  return h(
    "section",
    { class: "card" },
    h("h2", null, t("settings.policy")),
    h(
      "fieldset",
      { class: "choices" },
      h("legend", { class: "spoken" }, t("settings.policy")),
      ...(/** @type {const} */ (["standard", "strict"])).map((policy) =>
        h(
          "label",
          { class: "choice choice-head" },
          h("input", { type: "radio", name: group, value: policy, checked: settings.policy === policy, on: { change: () => void keep({ policy }) } }),
          h("span", null, h("strong", null, t(`policy.${policy}`)), h("br"), t(`policy.${policy}.text`)),
        ),
      ),
    ),
  );
}

/** @param {Settings} settings @returns {HTMLElement} */
function namesPart(settings) {
  const fields = /** @type {const} */ (["checkpoint", "branch"]).map((kind) => ({ kind, input: h("input", { type: "text", id: freshId("template"), value: settings.names[kind], dir: "auto", required: true }) }));
  return h(
    "section",
    { class: "card" },
    h("h2", null, t("settings.names")),
    h("p", { class: "quiet" }, t("settings.names.text", { parent: "{parent}", n: "{n}" })),
    h(
      "form",
      {
        on: {
          submit: (/** @type {Event} */ event) => {
            event.preventDefault();
            void keep({ names: { checkpoint: fields[0]?.input.value ?? "", branch: fields[1]?.input.value ?? "" } });
          },
        },
      },
      h("div", { class: "fields" }, ...fields.map(({ kind, input }) => h("div", { class: "field" }, h("label", { for: input.id }, t(`kind.${kind}`)), input))),
      h("p", null, h("button", { type: "submit", class: "button" }, t("settings.keep"))),
    ),
  );
}

/** @param {Settings} settings @returns {HTMLElement} */
function requirementsPart(settings) {
  const chosen = { ...settings.requirements };
  const rows = REQUIREMENTS.map((code) => {
    const id = freshId("requirement");
    const select = h(
      "select",
      {
        id,
        on: {
          change: () => {
            if (select.value) chosen[code] = select.value;
            else delete chosen[code];
            void keep({ requirements: chosen });
          },
        },
      },
      h("option", { value: "", selected: !chosen[code] }, t("effect.policy")),
      ...EFFECTS.map((effect) => h("option", { value: effect, selected: chosen[code] === effect }, t(`effect.${effect}`))),
    );
    return h("li", { class: "row" }, h("div", { class: "row-words" }, h("label", { for: id }, codeWords(code)), h("p", { class: "quiet" }, h("code", null, code))), select);
  });
  return h(
    "section",
    { class: "card" },
    h("h2", null, t("settings.requirements")),
    h("p", { class: "quiet" }, t("settings.requirements.text")),
    h("ul", { class: "rows" }, ...rows),
    h("p", { class: "quiet" }, t("settings.requirements.always"), " ", ALWAYS.map(codeWords).join(" · ")),
  );
}

/** @param {Settings} settings @returns {HTMLElement} */
function sharedPart(settings) {
  let books = [...settings.shared_books];
  const list = h("ul", { class: "rows" });
  const input = h("input", { type: "text", id: freshId("book"), dir: "auto", required: true });

  /** @param {string[]} next */
  async function set(next) {
    if (!(await keep({ shared_books: next }))) return;
    books = next;
    draw();
  }
  function draw() {
    fill(
      list,
      ...books.map((book) =>
        h("li", { class: "row" }, h("div", { class: "row-words" }, name(book)), iconButton(t("settings.shared.remove", { name: book }), "close", () => void set(books.filter((each) => each !== book)))),
      ),
    );
  }
  draw();
  return h(
    "section",
    { class: "card" },
    h("h2", null, t("settings.shared")),
    h("p", { class: "quiet" }, t("settings.shared.text")),
    list,
    h(
      "form",
      {
        class: "inline-form",
        on: {
          submit: (/** @type {Event} */ event) => {
            event.preventDefault();
            const book = input.value.trim();
            if (!book || books.includes(book)) return;
            void set([...books, book]).then(() => (input.value = ""));
          },
        },
      },
      h("label", { for: input.id }, t("settings.shared.add")),
      input,
      h("button", { type: "submit", class: "button" }, t("add")),
    ),
  );
}
