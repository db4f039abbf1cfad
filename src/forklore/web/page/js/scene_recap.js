/**
 * The recap of one scene, as ST-Auto-Recap keeps it: plain text, or JSON of the stages that it went through.
 * @module
 */
import { h } from "./dom.js";
import { t } from "./strings.js";

/** What the stages call the same things. */
const SECTIONS = /** @type {const} */ ([
  ["developments", ["developments", "outcomes", "extracted", "plot", "rc", "chronological_items"]],
  ["open", ["open", "threads"]],
  ["state", ["state"]],
  ["resolved", ["resolved"]],
]);

/**
 * @param {string} text
 * @returns {(Node | string)[]} lists with headings, or the text itself where it is not such JSON
 */
export function sceneRecap(text) {
  const recap = latestStage(text);
  /** @type {HTMLElement[]} */
  const told = [];
  for (const [section, keys] of SECTIONS) {
    const lines = keys.flatMap((key) => linesOf(recap?.[key]));
    if (lines.length) told.push(h("h4", null, t(`recap.section.${section}`)), h("ul", null, ...lines.map((line) => h("li", { dir: "auto" }, line))));
  }
  return told.length ? told : [text];
}

/**
 * @param {string} text
 * @returns {Record<string, unknown> | null} what the last stage has made of the scene
 */
function latestStage(text) {
  try {
    const whole = JSON.parse(text);
    return whole.stage3 ?? whole.stage2?.recap ?? whole.stage1 ?? whole;
  } catch {
    return null; // plain text, as older versions write it
  }
}

/** @param {unknown} value @returns {string[]} */
function linesOf(value) {
  if (typeof value === "string") return value.trim() ? [value] : [];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string" && each.trim()) : [];
}
