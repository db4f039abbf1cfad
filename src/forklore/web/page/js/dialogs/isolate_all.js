/**
 * Giving every timeline that shares a lorebook one of its own: what each gets first, then one after the other.
 * @module
 */
import { Problem, change, problemOf } from "../api.js";
import { openDialog } from "../dialog.js";
import { fill, h, name } from "../dom.js";
import { parts, storyName, timelineName } from "../format.js";
import { icon } from "../icons.js";
import { progressBar, startJob } from "../job.js";
import { problemWords, refused as refusedNotice } from "../notices.js";
import { button, emptiness, more, planList, waiting } from "../parts.js";
import { findingPart, problemPart, reasons } from "../problems.js";
import { many, t } from "../strings.js";
import { undo } from "../undo.js";

/** @typedef {import("../types.js").IsolatedFork} IsolatedFork */
/** @typedef {import("../types.js").RefusedFork} RefusedFork */
/** @typedef {import("../types.js").IsolatedAll} IsolatedAll */

/**
 * @param {string | null} chat a chat of the story; without it, those of every story
 * @param {() => void} [changed]
 */
export function openIsolateAllDialog(chat, changed = () => undefined) {
  /** @type {(() => void) | null} what closing means while something is going on */
  let stop = null;
  const dialog = openDialog({ title: t("isolate.all.title"), class: "dialog-all", body: [waiting(t("plan.making"))], mayClose: () => (stop ? (stop(), false) : true) });
  const wish = chat === null ? { all: true } : { all: true, chat };

  async function plan() {
    stop = null;
    const bar = progressBar(t("plan.making"));
    const job = startJob(bar.tell);
    fill(dialog.body, bar.element);
    fill(dialog.foot, button(t("cancel"), dialog.close));
    try {
      /** @type {IsolatedAll} */
      const planned = await change("isolate", { ...wish, dry_run: true }, { signal: dialog.signal, job: job.id });
      drawPlan(planned);
    } catch (error) {
      trouble(error);
    } finally {
      job.end.abort();
    }
  }

  /** @param {IsolatedAll} planned */
  function drawPlan(planned) {
    const count = planned.forks.length;
    if (!count && !planned.refused.length) {
      fill(dialog.body, emptiness("shield", t("isolate.all.none")));
      return fill(dialog.foot, button(t("close"), dialog.close));
    }
    fill(
      dialog.body,
      count ? h("p", null, t("isolate.all.text")) : null,
      count ? h("ol", { class: "rows forks" }, ...planned.forks.map((fork) => row(fork, comes(fork)))) : null,
      refusedPart(planned.refused),
    );
    const yes = button(many("isolate.all.do", count), () => void apply(planned), { class: "primary", icon: "shield" });
    fill(dialog.foot, button(t("cancel"), dialog.close), count ? yes : null);
    yes.focus();
  }

  /** @param {IsolatedAll} planned */
  async function apply(planned) {
    const rows = planned.forks.map((fork) => row(fork));
    const bar = progressBar(t("isolate.all.working"));
    const job = startJob(bar.tell);
    const halt = () => void job.cancel();
    stop = halt;
    fill(dialog.body, bar.element, h("ol", { class: "rows forks" }, ...rows));
    fill(dialog.foot, button(t("isolate.all.stop"), halt));
    try {
      /** @type {IsolatedAll} */
      const done = await change("isolate", wish, { job: job.id });
      stop = null;
      changed();
      drawDone(done);
    } catch (error) {
      stop = null;
      changed();
      trouble(error);
    } finally {
      job.end.abort();
    }
  }

  /** @param {IsolatedAll} done */
  function drawDone(done) {
    if (dialog.signal.aborted) return;
    const close = button(t("close"), dialog.close, { class: "primary" });
    dialog.retitle(many("isolate.all.done", done.forks.length));
    fill(
      dialog.body,
      done.forks.length ? h("p", null, t("isolate.all.after")) : null,
      done.forks.length ? h("ol", { class: "rows forks" }, ...done.forks.map((fork) => doneRow(fork))) : null,
      refusedPart(done.refused),
    );
    fill(dialog.foot, close);
    close.focus();
  }

  /** @param {IsolatedFork} fork @returns {HTMLElement} */
  function doneRow(fork) {
    const state = h("span", { class: "badge health-isolated" }, icon("shield"), h("span", null, t("health.isolated")));
    const back = button(t("undo"), async () => {
      if (!fork.operation || !(await undo(fork.operation))) return;
      fill(state, icon("undo"), h("span", null, t("log.undone")));
      state.className = "badge";
      back.remove();
      changed();
    }, { class: "small", icon: "undo" });
    back.setAttribute("aria-label", t("log.undo", { what: parts(fork.chat).name }));
    const item = row(fork, ...fork.warnings.map((warning) => findingPart(warning)));
    item.append(state, back);
    return item;
  }

  /** @param {unknown} error */
  function trouble(error) {
    const problem = problemOf(error);
    if (!problem) return;
    if (dialog.signal.aborted) return refusedNotice(problem);
    if (problem.code === "CANCELLED") return void plan(); // what is left to do
    fill(dialog.body, problemPart(problem, () => void plan()));
    fill(dialog.foot, button(t("close"), dialog.close));
  }

  void plan();
}

/**
 * @param {IsolatedFork} fork
 * @param {...import("../dom.js").Child} rest
 * @returns {HTMLElement}
 */
function row(fork, ...rest) {
  return h(
    "li",
    { class: "row", data: { chat: fork.chat } },
    icon("shield"),
    h("div", { class: "row-words" }, h("p", null, name(timelineName(fork.chat, fork.parent), "name strong"), " ", h("span", { class: "quiet" }, name(storyName(fork.parent ?? fork.chat).title))), ...rest),
  );
}

/**
 * What a timeline will have, in words; the files for those who want to know.
 * @param {IsolatedFork} fork
 * @returns {HTMLElement}
 */
function comes(fork) {
  const left = fork.left_out_entries;
  return h(
    "div",
    { class: "fork-comes" },
    h("p", null, fork.outcome === "adopted" ? t("isolate.all.adopts") : fork.lorebook ? many("isolate.all.gets", fork.entries) : t("preview.no_book")),
    left.length ? more(many("isolate.all.leaves", left.length), h("ul", { class: "plain" }, ...left.map((each) => h("li", null, name(each))))) : null,
    ...fork.warnings.map((warning) => findingPart(warning)),
    more(many("preview.files", fork.plan.length), planList(fork.plan)),
  );
}

/** @param {RefusedFork[]} refused @returns {HTMLElement | null} */
function refusedPart(refused) {
  if (!refused.length) return null;
  return h(
    "section",
    { class: "refusal" },
    h("h3", null, many("isolate.all.refused", refused.length)),
    ...refused.map(({ chat, error }) => {
      const [title, action] = problemWords(new Problem(409, { ...error, detail: error.message }));
      return h(
        "div",
        { data: { chat } },
        h("p", null, name(parts(chat).name, "name strong")),
        error.findings.length ? reasons(error.findings) : [h("p", null, title), h("p", { class: "finding-action" }, h("span", { aria: { hidden: true } }, "→ "), action)],
      );
    }),
  );
}
