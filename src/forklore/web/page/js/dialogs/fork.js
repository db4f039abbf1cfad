/**
 * Making a checkpoint or a branch: choose, see what would happen, follow it, open or undo it.
 * @module
 */
import { change, look, problemOf } from "../api.js";
import { openDialog } from "../dialog.js";
import { fill, h, name } from "../dom.js";
import { on, onceBack } from "../events.js";
import { chatTitle } from "../format.js";
import { icon } from "../icons.js";
import { startJob, stepList } from "../job.js";
import { problemWords, refused, told } from "../notices.js";
import { button, chatName, emptiness, factList, waiting } from "../parts.js";
import { findingPart, notesPart, reasons, refusalWords } from "../problems.js";
import { BUSY, queueList } from "../queue.js";
import { go } from "../router.js";
import { number, t } from "../strings.js";
import { undo, undoAction } from "../undo.js";
import { forkForm } from "./fork_form.js";
import { HIDDEN, carriedParts, previewPart } from "./preview.js";

/** @typedef {import("../api.js").Problem} Problem */
/** @typedef {import("../types.js").Fork} Fork */
/** @typedef {import("../types.js").Preview} Preview */
/** @typedef {import("../types.js").Queue} Queue */
/** @typedef {import("./fork_form.js").Wish} Wish */

const LONGEST_WAIT = 3600;
const LOOK_EVERY = 1000;

/**
 * @param {{chat: string, kind: "checkpoint" | "branch", at?: number}} start
 */
export function openForkDialog({ chat, kind, at }) {
  /** @type {(() => void) | null} what closing means while something is going on */
  let stop = null;
  const dialog = openDialog({
    title: t(`fork.title.${kind}`),
    class: "dialog-fork",
    body: [waiting()],
    mayClose: () => (stop ? (stop(), false) : true),
  });
  const { signal } = dialog;
  const form = forkForm({ chat, kind, at: at ?? null, signal, changed: () => void preview(), entered: makeWhenSeen });
  const outcome = h("div", { class: "fork-outcome", aria: { live: "polite" } });
  const create = button("", () => void make(null), { class: "primary", icon: "check" });
  const whenReady = button(t("fork.when_ready"), () => void make(LONGEST_WAIT), { icon: "clock", class: "primary" });
  let turn = 0;
  let making = false;
  let wanted = false;

  function drawForm() {
    stop = null;
    making = false;
    dialog.element.classList.add("two");
    fill(dialog.body, form.element, outcome);
    fill(dialog.foot, button(t("cancel"), dialog.close), whenReady, create);
    whenReady.hidden = true;
    void preview();
  }

  /** What is typed may be newer than what is shown: it is looked at first, and made if nothing stands in the way. */
  function makeWhenSeen() {
    wanted = true;
    void preview();
  }

  async function preview() {
    if (making) return;
    const wish = form.wish();
    dialog.retitle(t(`fork.title.${wish.kind}`));
    fill(create, h("span", null, t(`fork.create.${wish.kind}`)));
    turn += 1;
    const mine = turn;
    create.disabled = true;
    if (!outcome.firstChild) fill(outcome, waiting(t("plan.making")));
    try {
      /** @type {Preview} */
      const seen = await look("preview", { ...wish }, { signal });
      if (mine !== turn) return;
      form.seen(seen);
      dialog.element.classList.remove("blocked");
      fill(outcome, previewPart(seen));
      create.disabled = false;
      whenReady.hidden = true;
      create.hidden = false;
      if (wanted) void make(null);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || mine !== turn) return;
      wanted = false;
      fill(outcome, refusal(problem, wish.kind));
      dialog.element.classList.toggle("blocked", blocking(problem).length > 0);
      offerWaiting(problem);
      if (problem.offline) onceBack(() => outcome.isConnected && void preview());
    }
  }

  /** @param {Problem} problem */
  function offerWaiting(problem) {
    const busy = onlyQueue(problem);
    whenReady.hidden = !busy;
    create.hidden = busy;
  }

  /** @param {number | null} wait in seconds, or not at all */
  async function make(wait) {
    if (making) return;
    making = true;
    wanted = false;
    const wish = form.wish();
    const steps = stepList(wish.kind);
    const job = startJob(steps.tell);
    const ended = new AbortController();
    const queuePlace = h("div", { class: "queue-place" });
    stop = () => void job.cancel();
    dialog.element.classList.remove("two", "blocked");
    fill(dialog.body, wait === null ? null : queuePlace, steps.element);
    fill(dialog.foot, button(t(wait === null ? "fork.stop" : "fork.stop_waiting"), () => void job.cancel()));
    if (wait !== null) followQueue(chat, queuePlace, AbortSignal.any([ended.signal, signal]));
    try {
      /** @type {Fork} */
      const made = await change(wish.kind, body(wish, wait), { job: job.id });
      steps.finish();
      stop = null;
      drawDone(made, steps.element);
    } catch (error) {
      const problem = problemOf(error);
      stop = null;
      steps.fail();
      if (problem) drawRefused(problem, wish.kind, steps.element);
    } finally {
      ended.abort();
      job.end.abort();
    }
  }

  /**
   * @param {Fork} made
   * @param {HTMLElement} steps
   */
  function drawDone(made, steps) {
    let undone = false;
    /** @type {string[]} what was done to it here, and has to be undone before it */
    const later = [];
    const tell = () => undone || told(t(`fork.done.${made.kind}`, { name: chatTitle(made.chat) }), "", [undoAction(made.operation, later)]);
    if (signal.aborted) return void tell();
    signal.addEventListener("abort", tell); // as long as the dialog is open it says all that itself
    dialog.retitle(t(`fork.done.title.${made.kind}`));
    const open = button(t("fork.open"), () => {
      dialog.close();
      go("timeline", made.chat);
    }, { class: "primary", icon: "book" });
    fill(
      dialog.body,
      h("div", { class: "verdict verdict-good" }, h("p", null, h("strong", null, chatName(made.chat)), h("br"), t("fork.done.text"))),
      factList([
        [t("details.messages"), number(made.messages)],
        [t("word.lorebook"), made.lorebook ? name(made.lorebook) : t("lane.no_book")],
        [t("details.entries"), made.lorebook ? `${number(made.entries)} · ${t(`source.${made.lorebook_source}`)}` : null],
      ]),
      [...made.warnings, ...made.notes].some(({ code }) => code === HIDDEN) ? hiddenPart(made, later) : null,
      ...made.warnings.filter(({ code }) => code !== HIDDEN).map((warning) => findingPart(warning)),
      notesPart(made.notes.filter(({ code }) => code !== HIDDEN)),
      ...carriedParts(["fork.done.carried", "fork.done.left"], made),
      steps,
    );
    fill(
      dialog.foot,
      button(t("undo"), async () => {
        undone = await undo(made.operation, { later });
        if (undone) dialog.close();
      }, { icon: "undo" }),
      button(t("close"), dialog.close),
      open,
    );
    open.focus();
  }

  /**
   * @param {Problem} problem
   * @param {"checkpoint" | "branch"} kindMade
   * @param {HTMLElement} steps
   */
  function drawRefused(problem, kindMade, steps) {
    making = false;
    if (signal.aborted) return;
    if (problem.code === "CANCELLED") return drawForm();
    fill(dialog.body, refusal(problem, kindMade), steps);
    const busy = onlyQueue(problem);
    fill(dialog.foot, button(t("close"), dialog.close), button(t("fork.change"), drawForm, { icon: "back" }), busy ? whenReady : null);
    whenReady.hidden = !busy;
  }

  form.ready.then(drawForm, (error) => {
    const problem = problemOf(error);
    if (!problem) return;
    const { title, action } = problemWords(problem);
    fill(dialog.body, emptiness("warning", title, h("p", null, action)));
    fill(dialog.foot, button(t("close"), dialog.close));
  });
}

/**
 * @param {Wish} wish
 * @param {number | null} wait
 * @returns {Record<string, unknown>}
 */
function body(wish, wait) {
  /** @type {Record<string, unknown>} */
  const sent = { chat: wish.chat, at: wish.at, show_last_scene: wish.show_last_scene };
  if (wish.name) sent["name"] = wish.name;
  if (wish.swipe !== null) sent["swipe"] = wish.swipe;
  if (wait !== null) sent["wait"] = wait;
  return sent;
}

/** @param {Problem} problem */
function blocking(problem) {
  return problem.findings.filter((finding) => finding.severity === "error");
}

/** @param {Problem} problem @returns {boolean} whether waiting for the queue is all it takes */
function onlyQueue(problem) {
  const reasons = blocking(problem);
  return reasons.length > 0 && reasons.every((finding) => finding.code === "QUEUE_NOT_EMPTY");
}

/**
 * Why no fork can be made: every reason, and what to do about each.
 * @param {Problem} problem
 * @param {"checkpoint" | "branch"} kind
 * @returns {HTMLElement}
 */
function refusal(problem, kind) {
  const blocks = blocking(problem);
  return h(
    "section",
    { class: "refusal" },
    h("h3", null, t(`fork.cannot.${kind}`)),
    blocks.length
      ? [h("p", null, t("fork.requirements")), reasons(blocks), onlyQueue(problem) ? h("p", null, t("fork.when_ready.text")) : null]
      : refusalWords(problem),
  );
}

/**
 * The model sees none of the fork's messages; that can still be changed.
 * @param {Fork} made
 * @param {string[]} later where the operation that changes it is noted
 * @returns {HTMLElement}
 */
function hiddenPart(made, later) {
  const place = h("div", { class: "callout callout-warn" });
  const show = async () => {
    try {
      /** @type {import("../types.js").Repairs} */
      const repaired = await change("repair", { chat: made.chat, code: HIDDEN, with: "show-last-scene" });
      place.remove();
      if (repaired.operation) later.push(repaired.operation);
      told(t("repair.done"), t("repair.show-last-scene")); // the “Undo” of the fork takes this back too
    } catch (error) {
      refused(problemOf(error));
    }
  };
  fill(
    place,
    icon("eye_off"),
    h("div", null, h("p", { class: "callout-title" }, t("code.HISTORY_HIDDEN")), h("p", null, t("fork.hidden")), h("p", { class: "callout-actions" }, button(t("fork.show_last"), () => void show(), { class: "small" }))),
  );
  return place;
}

/**
 * Shows what the queue still has to do, while somebody waits for it.
 * @param {string} chat
 * @param {HTMLElement} place
 * @param {AbortSignal} signal
 */
function followQueue(chat, place, signal) {
  const lookAgain = async () => {
    try {
      /** @type {Queue} */
      const queue = await look("queue", { chat }, { signal });
      const busy = queue.operations.filter((operation) => BUSY.includes(operation.status));
      if (signal.aborted) return;
      fill(place, h("h3", null, t("fork.waiting")), h("p", { class: "quiet" }, t("fork.waiting.text")), queue.idle ? null : queueList(busy));
    } catch (error) {
      problemOf(error); // the fork itself says what is wrong
    }
  };
  void lookAgain();
  const timer = setInterval(() => void lookAgain(), LOOK_EVERY);
  on("changed", () => void lookAgain(), signal);
  signal.addEventListener("abort", () => {
    clearInterval(timer);
    fill(place);
  });
}
