/**
 * The findings of a timeline, each with its repairs.
 * @module
 */
import { openIsolateAllDialog } from "./dialogs/isolate_all.js";
import { openRepairDialog } from "./dialogs/repair.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { button, callout, codeWords, more } from "./parts.js";
import { findingPart, notesPart } from "./problems.js";
import { link } from "./router.js";
import { known, t } from "./strings.js";

/** @typedef {import("./types.js").Verified} Verified */
/** @typedef {import("./types.js").Proof} Proof */
/** @typedef {import("./types.js").Finding} Finding */
/** @typedef {import("./types.js").Lane} Lane */

/**
 * @param {Verified} verified
 * @param {Lane | null} lane what the tree says of it, which looks at more than the timeline itself
 * @param {() => void} changed
 * @returns {HTMLElement}
 */
export function findingsPart(verified, lane, changed) {
  const { findings } = verified;
  const good = !findings.length && (!lane || lane.health === "isolated");
  const proofs = proofsOf(verified.facts);
  return h(
    "div",
    { class: "findings" },
    h("h2", null, t("findings.title")),
    findings.length || good || !lane ? null : elsewhere(lane, changed),
    !good ? null : h("div", { class: "verdict verdict-good" }, icon("shield"), h("p", null, h("strong", null, t(`findings.good.${verified.kind === "main" ? "main" : "fork"}`)), h("br"), t("findings.good.text"))),
    findings.length && verified.ok ? h("p", null, t("findings.ok")) : null,
    ...findings.map((finding) => findingWithRepairs(finding, verified.chat, changed)),
    notesPart(verified.notes, (note) => repairsPart(note, verified.chat, changed)),
    proofs.length ? more(t("findings.facts"), h("ul", { class: "plain" }, ...proofs.map(([what, proof]) => h("li", { dir: "auto" }, h("strong", null, what), ": ", proof)))) : null,
  );
}

/**
 * What the record proves, in words.
 * @param {Verified["facts"]} facts
 * @returns {[string, string][]}
 */
function proofsOf({ messages, lorebooks }) {
  if ([messages, ...Object.values(lorebooks ?? {})].every((proof) => !proof || proof.state === "unknown")) return [];
  return [
    .../** @type {[string, string][]} */ (messages ? [[t("timeline.messages"), proofWords("messages", messages)]] : []),
    ...Object.entries(lorebooks ?? {}).map(([book, proof]) => /** @type {[string, string]} */ ([t("proof.lorebook", { name: book }), proofWords("entries", proof)])),
  ];
}

/**
 * @param {"messages" | "entries"} what
 * @param {Proof} proof
 * @returns {string}
 */
function proofWords(what, { state, changed = [] }) {
  return known(`proof.${what}.${state}`) ? t(`proof.${what}.${state}`, { changed, count: changed.length }) : state;
}

/**
 * Nothing is wrong with the timeline itself, but with others that use what it uses.
 * @param {Lane} lane
 * @param {() => void} changed
 * @returns {HTMLElement}
 */
function elsewhere(lane, changed) {
  const leaks = lane.health === "leaks";
  const isolateAll = button(t("isolate.all.button"), () => openIsolateAllDialog(lane.chat, changed), { class: "small", icon: "shield" });
  return callout(
    leaks ? "leak" : "question",
    lane.reason ? codeWords(lane.reason) : t(`health.${lane.health}.means`),
    t(leaks ? "findings.elsewhere.leaks" : "findings.elsewhere.unverified"),
    { bad: leaks },
    leaks ? isolateAll : null,
    " ",
    h("a", { class: "button small", href: link("story", lane.chat) }, t("timeline.tree")),
  );
}

/**
 * @param {Finding} finding
 * @param {string} chat
 * @param {() => void} changed
 * @returns {HTMLElement}
 */
export function findingWithRepairs(finding, chat, changed) {
  return findingPart(finding, repairsPart(finding, chat, changed));
}

/**
 * @param {Finding} finding
 * @param {string} chat
 * @param {() => void} changed
 * @returns {HTMLElement | null}
 */
function repairsPart(finding, chat, changed) {
  if (!finding.repairs.length || !chat) return null;
  return h("p", { class: "finding-repairs" }, button(t("repair.button"), () => void openRepairDialog(chat, finding, changed), { class: "small", icon: "check" }));
}
