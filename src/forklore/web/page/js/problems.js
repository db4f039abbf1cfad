/**
 * How problems and findings look: what it is, why, what to do.
 * @module
 */
import { h } from "./dom.js";
import { onceBack } from "./events.js";
import { icon } from "./icons.js";
import { problemWords } from "./notices.js";
import { button, codeWords, queueWords } from "./parts.js";
import { link } from "./router.js";
import { said, translated } from "./said.js";
import { known, language, t } from "./strings.js";

/** @typedef {import("./api.js").Problem} Problem */
/** @typedef {import("./types.js").Finding} Finding */
/** @typedef {import("./dom.js").Child} Child */

/**
 * The sentence of a finding: the service speaks English, the page has its own words for every code.
 * @param {Finding} finding
 * @returns {string}
 */
export function findingTitle(finding) {
  return translated(finding.message) ?? (language() === "en" || !known(`code.${finding.code}`) ? finding.message : codeWords(finding.code));
}

/**
 * What to do about a finding.
 * @param {Finding} finding
 * @returns {string}
 */
export function findingAction(finding) {
  return known(`action.${finding.code}`) ? t(`action.${finding.code}`) : said(finding.action);
}

/**
 * What else there is to say; what is not in the phrase book stays in the words of the service.
 * @param {Finding} finding
 * @returns {string}
 */
function findingDetails(finding) {
  const told = findingTitle(finding) === finding.message || translated(finding.message) !== null;
  const details = finding.code === "QUEUE_NOT_EMPTY" ? finding.details.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, queueWords) : said(finding.details);
  return [told ? "" : finding.message, details].filter(Boolean).join("\n");
}

/**
 * One finding.
 * @param {Finding} finding
 * @param {...Child} more what belongs below it
 * @returns {HTMLElement}
 */
export function findingPart(finding, ...more) {
  const details = findingDetails(finding);
  const action = findingAction(finding);
  return h(
    "div",
    { class: `finding finding-${finding.severity}`, data: { code: finding.code } },
    icon(finding.severity === "error" ? "leak" : "warning"),
    h(
      "div",
      { class: "finding-words" },
      h("p", { class: "finding-title" }, findingTitle(finding), " ", h("code", { class: "code" }, finding.code)),
      details ? h("p", { class: "finding-details", dir: "auto" }, details) : null,
      action ? h("p", { class: "finding-action" }, h("span", { aria: { hidden: true } }, "→ "), action) : null,
      ...more,
    ),
  );
}

/**
 * Reasons, numbered, each with what to do.
 * @param {Finding[]} findings
 * @returns {HTMLElement}
 */
export function reasons(findings) {
  return h(
    "ol",
    { class: "reasons" },
    ...findings.map((finding) => {
      const details = findingDetails(finding);
      const action = findingAction(finding);
      return h(
        "li",
        { data: { code: finding.code } },
        h("p", { class: "finding-title" }, findingTitle(finding), " ", h("code", { class: "code" }, finding.code)),
        details ? h("p", { class: "finding-details", dir: "auto" }, details) : null,
        action ? h("p", { class: "finding-action" }, h("span", { aria: { hidden: true } }, "→ "), action) : null,
      );
    }),
  );
}

/**
 * A view that could not be shown. Where only the service was missing, it is tried again by itself.
 * @param {Problem} problem
 * @param {() => void} again
 * @returns {HTMLElement}
 */
export function problemPart(problem, again) {
  const [title, action] = problemWords(problem);
  const part = h(
    "div",
    { class: "emptiness trouble", role: "alert" },
    icon("warning"),
    h("h2", null, title),
    problem.detail && said(problem.detail) !== title ? h("p", { class: "finding-details", dir: "auto" }, problem.detail) : null,
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
