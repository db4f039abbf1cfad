/**
 * How problems and findings look: what it is, why, what to do.
 * @module
 */
import { h, name } from "./dom.js";
import { onceBack } from "./events.js";
import { icon } from "./icons.js";
import { problemWords } from "./notices.js";
import { button, more, queueWords } from "./parts.js";
import { link } from "./router.js";
import { t, toldOf } from "./strings.js";

/** @typedef {import("./api.js").Problem} Problem */
/** @typedef {import("./types.js").Finding} Finding */
/** @typedef {import("./types.js").Params} Params */
/** @typedef {import("./dom.js").Child} Child */

/**
 * @param {Params} params
 * @returns {Params} the same with words for the types of the queue's operations
 */
function withTypes(params) {
  const { operations } = params;
  if (!Array.isArray(operations)) return params;
  return { ...params, operations: operations.map((each) => ({ ...each, params: { ...each.params, operation: queueWords(each.params.operation) } })) };
}

/**
 * @param {Finding} finding
 * @returns {(HTMLElement | null)[]}
 */
function paragraphs(finding) {
  const { message, why, details, action, steps } = toldOf(`finding.${finding.code}`, { ...finding, params: finding.params && withTypes(finding.params) });
  return [
    h("p", { class: "finding-title" }, message, " ", h("code", { class: "code" }, finding.code)),
    why ? h("p", { class: "finding-why", dir: "auto" }, why) : null,
    details ? h("p", { class: "finding-details", dir: "auto" }, details) : null,
    actionPart(action),
    steps.length ? h("ol", { class: "finding-steps" }, ...steps.map((step) => h("li", null, step))) : null,
  ];
}

/**
 * What to do.
 * @param {string} action
 * @returns {HTMLElement | null}
 */
export function actionPart(action) {
  return action ? h("p", { class: "finding-action" }, h("span", { aria: { hidden: true } }, "→ "), action) : null;
}

/**
 * One finding.
 * @param {Finding} finding
 * @param {...Child} more what belongs below it
 * @returns {HTMLElement}
 */
export function findingPart(finding, ...more) {
  return h(
    "div",
    { class: `finding finding-${finding.severity}`, data: { code: finding.code } },
    icon(finding.severity === "error" ? "leak" : "warning"),
    h("div", { class: "finding-words" }, ...paragraphs(finding), ...more),
  );
}

/**
 * What is good to know and nothing to worry about, behind a word.
 * @param {Finding[]} notes
 * @param {(note: Finding) => Child} [below] what belongs below each
 * @returns {HTMLElement | null}
 */
export function notesPart(notes, below = () => null) {
  if (!notes.length) return null;
  return more(t("notes", { count: notes.length }), h("ul", { class: "plain notes" }, ...notes.map((note) => h("li", { data: { code: note.code } }, ...paragraphs(note), below(note)))));
}

/**
 * Reasons, numbered, each with what to do.
 * @param {Finding[]} findings
 * @returns {HTMLElement}
 */
export function reasons(findings) {
  return h("ol", { class: "reasons" }, ...findings.map((finding) => h("li", { data: { code: finding.code } }, ...paragraphs(finding))));
}

/**
 * Why something was refused, with what there is to choose from and what to do.
 * @param {Problem} problem
 * @returns {(HTMLElement | null)[]}
 */
export function refusalWords(problem) {
  const { title, choices, action } = problemWords(problem);
  return [h("p", { class: "finding-title", dir: "auto" }, title), choicesPart(choices), actionPart(action)];
}

/** @param {string[]} choices @returns {HTMLElement | null} */
function choicesPart(choices) {
  return choices.length ? h("ul", { class: "plain" }, ...choices.map((each) => h("li", null, name(each)))) : null;
}

/**
 * A view that could not be shown. Where only the service was missing, it is tried again by itself.
 * @param {Problem} problem
 * @param {() => void} again
 * @returns {HTMLElement}
 */
export function problemPart(problem, again) {
  const { title, choices, action } = problemWords(problem);
  const part = h(
    "div",
    { class: "emptiness trouble", role: "alert" },
    icon("warning"),
    h("h2", null, title),
    choicesPart(choices),
    action ? h("p", null, action) : null,
    problem.findings.length ? reasons(problem.findings) : null,
    problem.code && !problem.offline ? h("p", null, h("code", { class: "code" }, problem.code)) : null,
    h(
      "p",
      { class: "head-actions" },
      problem.status === 404 ? h("a", { class: "button primary", href: link("stories") }, t("stories.title")) : null,
      button(t("again"), again, { icon: "refresh" }),
    ),
  );
  if (problem.offline) onceBack(() => part.isConnected && again());
  return part;
}
