/**
 * Giving every timeline that shares a lorebook one of its own: what each gets first, then one after the other.
 * @module
 */
import { Problem, change, problemOf } from "../api.js";
import { openDialog } from "../dialog.js";
import { fill, h, name } from "../dom.js";
import { storyName, timelineName } from "../format.js";
import { icon } from "../icons.js";
import { outcomeOf, progressBar, startJob, unwatchedJobs, watchJob } from "../job.js";
import { refused as refusedNotice } from "../notices.js";
import { button, chatName, emptiness, more, planList, waiting } from "../parts.js";
import { findingPart, notesPart, problemPart, reasons, refusalWords } from "../problems.js";
import { t } from "../strings.js";
import { undo } from "../undo.js";

/** @typedef {import("../types.js").IsolatedFork} IsolatedFork */
/** @typedef {import("../types.js").RefusedFork} RefusedFork */
/** @typedef {import("../types.js").IsolatedAll} IsolatedAll */

/**
 * What is being done goes on when the dialog, or the page, is closed; until then it is shown here.
 * @param {string | null} chat a chat of the story; without it, those of every story
 * @param {() => void} [changed]
 * @param {string} [job] one that was started before; without it, one that is running is shown, or a new one is planned
 */
export function openIsolateAllDialog(chat, changed = () => undefined, job = "") {
  const dialog = openDialog({ title: t("isolate.all.title"), class: "dialog-all", body: [waiting(t("plan.making"))] });
  const wish = chat === null ? { all: true } : { all: true, chat };

  async function begin() {
    const running = job || (await runningJob());
    await (running ? work([], { id: running, ask: (id, tell) => outcomeOf(id, tell, dialog.signal) }) : plan());
  }

  async function plan() {
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
    const yes = button(t("isolate.all.do", { count }), () => void apply(planned), { class: "primary", icon: "shield" });
    fill(dialog.foot, button(t("cancel"), dialog.close), count ? yes : null);
    yes.focus();
  }

  /** @param {IsolatedAll} planned */
  async function apply(planned) {
    const rows = planned.forks.map((fork) => row(fork));
    await work(rows, {
      ask: (id, tell) =>
        change("isolate", wish, { job: id }).catch((error) => {
          if (!(error instanceof Problem && error.offline)) throw error;
          return outcomeOf(id, tell, dialog.signal); // it goes on without us
        }),
    });
  }

  /**
   * Shows how far it is, then what came of it.
   * @param {HTMLElement[]} rows
   * @param {{id?: string, ask: (id: string, tell: (told: any) => void) => Promise<IsolatedAll>}} how *id* is that of a job that was started before
   */
  async function work(rows, { id, ask }) {
    const bar = progressBar(t("isolate.all.working"));
    const started = startJob(bar.tell, id);
    watchJob(started.id, dialog.signal);
    fill(dialog.body, bar.element, rows.length ? h("ol", { class: "rows forks" }, ...rows) : null);
    fill(dialog.foot, button(t("isolate.all.stop"), () => void started.cancel()), button(t("close"), dialog.close));
    try {
      const done = await ask(started.id, bar.tell);
      changed();
      drawDone(done);
    } catch (error) {
      changed();
      trouble(error);
    } finally {
      started.end.abort();
      if (!dialog.signal.aborted) void started.cancel(); // it was seen
    }
  }

  /** @param {IsolatedAll} done */
  function drawDone(done) {
    if (dialog.signal.aborted) return;
    const close = button(t("close"), dialog.close, { class: "primary" });
    dialog.retitle(t("isolate.all.done", { count: done.forks.length }));
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
    back.setAttribute("aria-label", t("log.undo", { what: timelineName(fork.chat, fork.parent) }));
    const item = row(fork, ...fork.warnings.map((warning) => findingPart(warning)), notesPart(fork.notes));
    item.append(state, back);
    return item;
  }

  /** @param {unknown} error */
  function trouble(error) {
    const problem = problemOf(error);
    if (!problem) return;
    if (dialog.signal.aborted) return refusedNotice(problem);
    if (problem.code === "CANCELLED" || problem.code === "JOB_NOT_FOUND") return void plan(); // what is left to do
    fill(dialog.body, problemPart(problem, () => void plan()));
    fill(dialog.foot, button(t("close"), dialog.close));
  }

  begin().catch(trouble);
}

/** @returns {Promise<string>} the isolating that goes on without a page that shows it, if there is one */
async function runningJob() {
  const running = (await unwatchedJobs()).find(({ command, ended }) => command === "isolate" && !ended);
  return running?.job ?? "";
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
    h("p", null, fork.outcome === "adopted" ? t("isolate.all.adopts") : fork.lorebook ? t("isolate.all.gets", { count: fork.entries }) : t("preview.no_book")),
    left.length ? more(t("isolate.all.leaves", { count: left.length }), h("ul", { class: "plain" }, ...left.map((each) => h("li", null, name(each))))) : null,
    ...fork.warnings.map((warning) => findingPart(warning)),
    notesPart(fork.notes),
    fork.plan ? more(t("preview.files", { count: fork.plan.length }), planList(fork.plan)) : null,
  );
}

/** @param {RefusedFork[]} refused @returns {HTMLElement | null} */
function refusedPart(refused) {
  if (!refused.length) return null;
  return h(
    "section",
    { class: "refusal" },
    h("h3", null, t("isolate.all.refused", { count: refused.length })),
    ...refused.map(({ chat, error }) =>
      h(
        "div",
        { data: { chat } },
        h("p", null, chatName(chat, "name strong")),
        error.findings.length ? reasons(error.findings) : refusalWords(new Problem(409, { ...error, detail: error.message })),
      ),
    ),
  );
}
