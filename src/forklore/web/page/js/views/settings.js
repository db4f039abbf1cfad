/**
 * Settings: of the workspace, kept by the service; of this browser, kept here.
 * @module
 */
import { change, look, problemOf } from "../api.js";
import { fill, freshId, h, name } from "../dom.js";
import { refused, told } from "../notices.js";
import { codeWords, iconButton } from "../parts.js";
import { keepFresh } from "../refresh.js";
import { LANGUAGES, chooseLanguage, chosenLanguage, t } from "../strings.js";
import { undoAction } from "../undo.js";

/** @typedef {import("../types.js").Settings} Settings */

const THEMES = ["auto", "light", "dark"];
const EFFECTS = ["block", "warn", "note", "ignore"];

/**
 * @param {HTMLElement} place
 * @param {string[]} _
 * @param {AbortSignal} signal
 */
export async function showSettings(place, _, signal) {
  /** @type {Settings} */
  let settings = await look("settings", {}, { signal });
  const theirs = h("div", { class: "settings" });
  const rows = h("div");
  const drawRows = () => fill(rows, requirementsPart(settings));
  const draw = () => {
    drawRows();
    fill(theirs, policyPart(settings, (kept) => ((settings = kept), drawRows())), namesPart(settings), rows, sharedPart(settings));
  };
  fill(
    place,
    h(
      "div",
      { class: "page" },
      h("div", { class: "page-head" }, h("div", null, h("h1", null, t("settings.title")))),
      browserPart(),
      theirs,
    ),
  );
  draw();
  keepFresh(async () => {
    settings = await look("settings", {}, { signal });
    if (!theirs.contains(document.activeElement)) draw(); // nobody's typing is taken away
  }, signal);
}

/**
 * Changes some settings; what is not named stays.
 * @param {Record<string, unknown>} changed
 * @returns {Promise<Settings | null>} the settings as they are now, null when that was refused
 */
async function keep(changed) {
  try {
    /** @type {Settings} */
    const kept = await change("settings", changed);
    told(t("settings.kept"), "", kept.operation ? [undoAction(kept.operation)] : []);
    return kept;
  } catch (error) {
    refused(problemOf(error));
    return null;
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
  if (theme === "auto") localStorage.removeItem("forklore.theme");
  else localStorage.setItem("forklore.theme", theme);
  dispatchEvent(new Event("forklore-theme"));
}

/**
 * @param {Settings} settings
 * @param {(kept: Settings) => void} changed
 * @returns {HTMLElement}
 */
function policyPart(settings, changed) {
  const group = freshId("policy");
  const choose = async (/** @type {string} */ policy) => {
    const kept = await keep({ policy });
    if (kept) changed(kept);
  };
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
          h("input", { type: "radio", name: group, value: policy, checked: settings.policy === policy, on: { change: () => void choose(policy) } }),
          h("span", null, h("strong", null, t(`policy.${policy}`)), h("br"), t(`policy.${policy}.text`)),
        ),
      ),
    ),
  );
}

/** @param {Settings} settings @returns {HTMLElement} */
function namesPart(settings) {
  const fields = /** @type {const} */ (["checkpoint", "branch"]).map((kind) => ({ kind, input: h("input", { type: "text", id: freshId("template"), value: settings.names[kind], dir: "auto" }) }));
  const save = async () => {
    const kept = await keep({ names: Object.fromEntries(fields.map(({ kind, input }) => [kind, input.value.trim() || null])) });
    if (kept) for (const { kind, input } of fields) input.value = kept.names[kind];
  };
  return h(
    "section",
    { class: "card" },
    h("h2", null, t("settings.names")),
    h("p", { class: "quiet" }, t("settings.names.text")),
    h(
      "form",
      {
        on: {
          submit: (/** @type {Event} */ event) => {
            event.preventDefault();
            void save();
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
  const rows = settings.rows.filter((row) => !row.fixed).map((row) => requirementRow(row, settings));
  return h(
    "section",
    { class: "card" },
    h("h2", null, t("settings.requirements")),
    h("p", { class: "quiet" }, t("settings.requirements.text")),
    h("ul", { class: "rows" }, ...rows),
    h(
      "p",
      { class: "quiet" },
      t("settings.requirements.always"),
      " ",
      settings.rows.filter((row) => row.fixed).map((row) => codeWords(row.code)).join(" · "),
    ),
  );
}

/**
 * @param {Settings["rows"][number]} row
 * @param {Settings} settings
 * @returns {HTMLElement}
 */
function requirementRow(row, settings) {
  const id = freshId("requirement");
  const chosen = Object.hasOwn(settings.requirements, row.code) ? (settings.requirements[row.code] ?? "") : "";
  const usual = settings.policy === "strict" ? row.strict : row.standard;
  const select = h(
    "select",
    { id, on: { change: () => void keep({ requirements: { [row.code]: select.value || null } }) } },
    h("option", { value: "", selected: !chosen }, t("effect.policy", { effect: t(`effect.${usual}`) })),
    ...EFFECTS.map((effect) => h("option", { value: effect, selected: chosen === effect }, t(`effect.${effect}`))),
  );
  return h("li", { class: "row" }, h("div", { class: "row-words" }, h("label", { for: id }, codeWords(row.code)), h("p", { class: "quiet" }, h("code", null, row.code))), select);
}

/** @param {Settings} settings @returns {HTMLElement} */
function sharedPart(settings) {
  let books = [...settings.shared_books];
  const list = h("ul", { class: "rows" });
  const known = h("datalist", { id: freshId("books") }, ...settings.books.map((book) => h("option", { value: book })));
  const input = h("input", { type: "text", id: freshId("book"), dir: "auto", required: true, list: known.id, autocomplete: "off" });

  /** @param {string[]} next */
  async function set(next) {
    const kept = await keep({ shared_books: next });
    if (!kept) return;
    books = kept.shared_books;
    input.value = "";
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
            void set([...books, book]);
          },
        },
      },
      h("label", { for: input.id }, t("settings.shared.add")),
      input,
      known,
      h("button", { type: "submit", class: "button" }, t("add")),
    ),
  );
}
