/**
 * What a fork would be, before it is made.
 * @module
 */
import { h, name } from "../dom.js";
import { chatName, factList, more, planList } from "../parts.js";
import { findingPart, notesPart } from "../problems.js";
import { known, t } from "../strings.js";

/** @typedef {import("../types.js").Preview} Preview */

/** The model sees none of the fork's messages; a warning, or a note. */
export const HIDDEN = "HISTORY_HIDDEN";

/** @param {Preview} preview @returns {HTMLElement} */
export function previewPart(preview) {
  // The form offers the remedy for what is hidden itself.
  const shown = preview.warnings.filter(({ code }) => code !== HIDDEN);
  const notes = preview.notes.filter(({ code }) => code !== HIDDEN);
  return h(
    "section",
    { class: "preview" },
    h("h3", null, t("preview.title")),
    factList([
      [t("preview.chat"), chatName(preview.chat)],
      [t("details.messages"), t("count.messages", { count: preview.messages })],
      [t("word.lorebook"), preview.lorebook ? name(preview.lorebook) : t("preview.no_book")],
      [t("details.entries"), preview.lorebook ? `${t("count.entries", { count: preview.entries })} · ${t(`source.${preview.lorebook_source}`)}` : null],
      [t("preview.versions.kept"), preview.versions_kept.join(", ")],
      [t("preview.versions.left"), preview.versions_left_out.join(", ")],
    ]),
    shown.length ? h("p", { class: "quiet" }, t("preview.warned")) : null,
    ...shown.map((warning) => findingPart(warning)),
    notesPart(notes),
    ...carriedParts(["preview.carried", "preview.left"], preview),
    more(t("preview.files", { count: preview.plan.length }), planList(preview.plan)),
  );
}

/**
 * What is taken from the present and what is left out, of a fork that would be made or was made.
 * @param {[string, string]} words for how many there are
 * @param {{carried_from_present: string[], left_out: string[]}} fork
 * @returns {(HTMLElement | null)[]}
 */
export function carriedParts([carriedWords, leftWords], { carried_from_present: carried, left_out: left }) {
  return [
    carried.length ? more(t(carriedWords, { count: carried.length }), h("p", { class: "quiet" }, t("preview.carried.text")), keys(carried)) : null,
    left.length ? more(t(leftWords, { count: left.length }), h("p", { class: "quiet" }, t("preview.left.text")), keys(left)) : null,
  ];
}

/** @param {string[]} list @returns {HTMLElement} */
function keys(list) {
  return h("ul", { class: "plain" }, ...list.map((key) => h("li", null, known(`channel.${key}`) ? `${t(`channel.${key}`)} ` : null, h("code", null, name(key)))));
}
