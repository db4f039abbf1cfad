/**
 * The findings of a timeline, each with its repairs.
 * @module
 */
import { openRepairDialog } from "./dialogs/repair.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { button, codeWords, more } from "./parts.js";
import { findingPart } from "./problems.js";
import { known, t } from "./strings.js";

/** @typedef {import("./types.js").Verified} Verified */
/** @typedef {import("./types.js").Finding} Finding */

/**
 * @param {Verified} verified
 * @param {() => void} changed
 * @returns {HTMLElement}
 */
export function findingsPart(verified, changed) {
  const { findings } = verified;
  const facts = Object.entries(verified.facts);
  return h(
    "div",
    { class: "findings" },
    h("h2", null, t("findings.title")),
    findings.length ? null : h("div", { class: "verdict verdict-good" }, icon("shield"), h("p", null, h("strong", null, t(`findings.good.${verified.kind === "main" ? "main" : "fork"}`)), h("br"), t("findings.good.text"))),
    findings.length && verified.ok ? h("p", null, t("findings.ok")) : null,
    ...findings.map((finding) => findingWithRepairs(finding, verified.chat, changed)),
    facts.length ? more(t("findings.facts"), h("ul", { class: "plain" }, ...facts.map(([key, fact]) => h("li", { dir: "auto" }, h("strong", null, known(`fact.${key}`) ? t(`fact.${key}`) : codeWords(key)), ": ", fact)))) : null,
  );
}

/**
 * @param {Finding} finding
 * @param {string} chat
 * @param {() => void} changed
 * @returns {HTMLElement}
 */
export function findingWithRepairs(finding, chat, changed) {
  const offers = finding.repairs.length && chat;
  return findingPart(
    finding,
    offers ? h("p", { class: "finding-repairs" }, button(t("repair.button"), () => void openRepairDialog(chat, finding, changed), { class: "small", icon: "check" })) : null,
  );
}
