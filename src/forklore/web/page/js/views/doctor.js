/**
 * The whole folder examined, with everything that was found.
 * @module
 */
import { change, look, problemOf } from "../api.js";
import { ask } from "../dialog.js";
import { openIsolateAllDialog } from "../dialogs/isolate_all.js";
import { fill, h, name } from "../dom.js";
import { findingWithRepairs } from "../findings.js";
import { timelineName } from "../format.js";
import { icon } from "../icons.js";
import { progressBar, startJob } from "../job.js";
import { told } from "../notices.js";
import { button, callout, codeWords, emptiness, timelineLink } from "../parts.js";
import { findingPart, problemPart, refusalWords } from "../problems.js";
import { known, t } from "../strings.js";

/** @typedef {import("../types.js").Examined} Examined */
/** @typedef {import("../types.js").Finding} Finding */

/** @type {Examined | null} what was found last, so that coming back shows it at once */
let last = null;

/**
 * @param {HTMLElement} place
 * @param {string[]} _
 * @param {AbortSignal} signal
 */
export function showDoctor(place, _, signal) {
  const result = h("div", { class: "doctor-result" });
  const start = button(t("doctor.start"), () => void examine(), { icon: "pulse", class: "primary" });
  fill(
    place,
    h(
      "div",
      { class: "page" },
      h("div", { class: "page-head" }, h("div", null, h("h1", null, t("doctor.title")), h("p", { class: "quiet" }, t("doctor.text"))), h("div", { class: "head-actions" }, start)),
      result,
    ),
  );
  if (last) draw(last);

  /** @param {string} label @param {(job: string) => Promise<Examined>} run */
  async function work(label, run) {
    const bar = progressBar(label);
    const job = startJob(bar.tell);
    const abandon = () => void job.cancel();
    signal.addEventListener("abort", abandon);
    start.disabled = true;
    fill(result, h("div", { class: "card" }, bar.element, button(t("cancel"), abandon)));
    try {
      last = await run(job.id);
      if (signal.aborted) return null;
      draw(last);
      return last;
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || signal.aborted) return null;
      if (problem.code !== "CANCELLED") fill(result, problemPart(problem, () => void examine()));
      else if (problem.params?.["case"]) fill(result, ...refusalWords(problem)); // some of it was done
      else if (last) draw(last);
      else fill(result, h("p", { class: "quiet" }, t("doctor.cancelled")));
      return null;
    } finally {
      start.disabled = false;
      job.end.abort();
      signal.removeEventListener("abort", abandon);
    }
  }

  async function examine() {
    await work(t("doctor.working"), (job) => look("doctor", {}, { job }));
  }

  async function mend() {
    const sure = await ask({ title: t("doctor.fix"), body: [h("p", null, t("doctor.fix.text")), h("p", null, t("doctor.fix.undo"))], action: t("doctor.fix") });
    if (!sure) return;
    const mended = await work(t("doctor.fixing"), (job) => change("doctor", { fix: true }, { job }));
    if (mended) told(mended.fixed.length ? t("doctor.fixed", { count: mended.fixed.length }) : t("doctor.fixed.none"));
  }

  /** @param {Examined} examined */
  function draw(examined) {
    const groups = grouped(examined.findings);
    fill(
      result,
      examined.fixed.length ? fixedPart(examined) : null,
      examined.findings.length
        ? h("div", { class: "doctor-sum" }, h("p", { role: "status" }, h("strong", null, t("doctor.found", { count: examined.findings.length })), " ", t("doctor.places", { count: groups.size })), examined.findings.some((finding) => finding.safe) ? button(t("doctor.fix"), () => void mend(), { icon: "check" }) : h("p", { class: "quiet" }, t("doctor.fixed.none")))
        : emptiness("shield", t("doctor.good"), h("p", null, t("doctor.good.text"))),
      leaksPart(examined.findings),
      ...[...groups].map(([where, findings]) => group(where, findings)),
    );
  }

  /**
   * Most findings of a folder with old forks have one remedy.
   * @param {Finding[]} findings
   * @returns {HTMLElement | null}
   */
  function leaksPart(findings) {
    const leaks = findings.filter((finding) => finding.code === "SHARED_LOREBOOK");
    if (!leaks.length) return null;
    const isolateAll = button(t("isolate.all.button"), () => openIsolateAllDialog(null, () => void examine()), { class: "small", icon: "shield" });
    return callout("leak", t("doctor.leaks", { count: leaks.length }), t("doctor.leaks.text"), { bad: true }, isolateAll);
  }

  /**
   * @param {string} where
   * @param {Finding[]} findings
   * @returns {HTMLElement}
   */
  function group(where, findings) {
    const chat = findings[0]?.chat;
    return h(
      "section",
      { class: "card" },
      h("h2", { class: "group-title" }, chat ? timelineLink(chat, timelineName(chat, null)) : h("code", { class: "path" }, name(where))),
      chat ? h("p", { class: "quiet path" }, name(chat)) : null,
      ...findings.map((finding) => (chat || hasOwnRepairs(finding) ? findingWithRepairs(finding, where, () => void examine()) : findingPart(finding))),
    );
  }
}

/** @param {Finding} finding @returns {boolean} whether somebody has to choose: what is safe is mended with all the others */
function hasOwnRepairs(finding) {
  return finding.repairs.length > 0 && !finding.safe;
}

/** @param {Finding[]} findings @returns {Map<string, Finding[]>} */
function grouped(findings) {
  /** @type {Map<string, Finding[]>} */
  const groups = new Map();
  for (const finding of findings) {
    const where = finding.chat ?? finding.path ?? "";
    const group = groups.get(where);
    if (group) group.push(finding);
    else groups.set(where, [finding]);
  }
  return groups;
}

/** @param {Examined} examined @returns {HTMLElement} */
function fixedPart(examined) {
  return h(
    "section",
    { class: "card" },
    h("h2", { class: "group-title" }, icon("check"), " ", t("doctor.fixed", { count: examined.fixed.length })),
    h(
      "ul",
      { class: "plain" },
      ...examined.fixed.map((each) => h("li", null, codeWords(each.code), " → ", known(`repair.${each.repair}`) ? t(`repair.${each.repair}`) : each.repair, " ", h("span", { class: "quiet path" }, name(each.where ?? "")))),
    ),
    h("p", { class: "quiet" }, t("doctor.fixed.undo"), " ", h("a", { href: "#/log" }, t("nav.log"))),
  );
}

