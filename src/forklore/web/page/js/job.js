/**
 * Long work: its steps as they happen, and a way to stop it.
 * @module
 */
import { Problem, cancel, look, newJob } from "./api.js";
import { fill, h } from "./dom.js";
import { on } from "./events.js";
import { icon } from "./icons.js";
import { factWords, known, number, t } from "./strings.js";

const STEPS = 4;

/** @typedef {import("./types.js").WishedJob} WishedJob */
/** @typedef {import("./strings.js").Fact} Fact */
/** @typedef {{step?: Fact & {number: number}, note?: Fact & {good: boolean | null}, done?: number, total?: number}} Told one thing of the progress */

/**
 * @typedef {Object} Job
 * @property {string} id
 * @property {AbortController} end stops listening
 * @property {() => Promise<void>} cancel
 */

/**
 * A job that listens for its progress.
 * @param {(told: Told) => void} listener
 * @param {string} [id] of one that goes on already
 * @returns {Job}
 */
export function startJob(listener, id = newJob()) {
  const end = new AbortController();
  on("progress", (told) => told.job === id && listener(told), end.signal);
  return {
    id,
    end,
    cancel: async () => {
      await cancel(id).catch(() => undefined);
    },
  };
}

/** @type {Set<string>} */
const watched = new Set();
const unwatched = new EventTarget();

/**
 * Notes that a job is shown until *signal*, so that the page need not tell of it elsewhere.
 * @param {string} id
 * @param {AbortSignal} signal
 */
export function watchJob(id, signal) {
  watched.add(id);
  signal.addEventListener("abort", () => {
    watched.delete(id);
    unwatched.dispatchEvent(new Event("job"));
  });
}

/** @param {() => void} listener called when a job is shown no more */
export function onUnwatched(listener) {
  unwatched.addEventListener("job", listener);
}

/** @returns {Promise<WishedJob[]>} the jobs that go on without their page, or have ended unseen, and are shown nowhere */
export async function unwatchedJobs() {
  /** @type {{jobs: WishedJob[]}} */
  const { jobs } = await look("jobs");
  return jobs.filter(({ job }) => !watched.has(job));
}

/**
 * What came of a job whose answer this page did not get; without the service it waits until that is there again.
 * @param {string} id
 * @param {(told: {done: number, total: number}) => void} tell how far it is
 * @param {AbortSignal} signal
 * @returns {Promise<any>} the answer that its asker got; a problem is thrown
 */
export function outcomeOf(id, tell, signal) {
  return new Promise((resolve, reject) => {
    const end = new AbortController();
    const settle = (/** @type {() => void} */ act) => (end.abort(), act());
    async function ask() {
      try {
        const { ended, answer, problem, ...far } = await look(`jobs/${id}`, {}, { signal });
        if (!ended) tell(far);
        else settle(() => (problem ? reject(new Problem(problem.status, problem)) : resolve(answer)));
      } catch (error) {
        const goesOn = error instanceof Problem && error.code !== "JOB_NOT_FOUND" && !error.loggedOut;
        if (!goesOn) settle(() => reject(error));
      }
    }
    on("job", (told) => told.job === id && told.state === "ended" && void ask(), end.signal);
    on("back", () => void ask(), end.signal);
    void ask();
  });
}

/**
 * The four steps of a fork, as they happen.
 * @param {"checkpoint" | "branch"} kind
 * @returns {{element: HTMLElement, tell: (told: Told) => void, finish: () => void, fail: () => void}}
 */
export function stepList(kind) {
  const spokenPlace = h("p", { class: "spoken", role: "status", aria: { live: "polite" } });
  const steps = Array.from({ length: STEPS }, (_, index) => {
    const mark = h("span", { class: "step-mark", aria: { hidden: true } }, number(index + 1));
    const notes = h("ul", { class: "step-notes" });
    const title = t(known(`step.${index + 1}.${kind}`) ? `step.${index + 1}.${kind}` : `step.${index + 1}`);
    const element = h("li", { class: "step" }, mark, h("div", null, h("p", { class: "step-title" }, title), notes));
    return { element, mark, notes, title };
  });
  let current = -1;
  /** @param {number} upto */
  const tick = (upto) => {
    for (const [index, step] of steps.entries()) {
      const done = index < upto;
      step.element.classList.toggle("done", done);
      step.element.classList.toggle("current", index === upto);
      if (done) fill(step.mark, icon("check"));
    }
  };
  return {
    element: h("div", { class: "steps-place" }, h("ol", { class: "steps" }, ...steps.map((step) => step.element)), spokenPlace),
    tell(told) {
      if (told.step) {
        current = told.step.number - 1;
        tick(current);
        const step = steps[current];
        if (step) spokenPlace.textContent = t("step.spoken", { step: told.step.number, steps: STEPS, title: step.title });
      } else if (told.note) {
        const { good } = told.note;
        const tone = good === true ? "good" : good === false ? "bad" : "plain";
        const sign = good === true ? "✓ " : good === false ? "✗ " : "";
        steps[Math.max(current, 0)]?.notes.append(h("li", { class: `note-${tone}`, dir: "auto" }, sign, factWords(told.note)));
      }
    },
    finish() {
      tick(STEPS);
      spokenPlace.textContent = t(`fork.done.title.${kind}`);
    },
    fail() {
      steps[Math.max(current, 0)]?.element.classList.add("failed");
    },
  };
}

/**
 * A bar with a percentage.
 * @param {string} label
 * @returns {{element: HTMLElement, tell: (told: any) => void}}
 */
export function progressBar(label) {
  const bar = h("progress", { max: 100, aria: { label } });
  const words = h("p", { class: "quiet", role: "status" }, label);
  let last = -1;
  return {
    element: h("div", { class: "progress" }, bar, words),
    tell(told) {
      if (typeof told.total !== "number" || !told.total) return;
      const percent = Math.floor((100 * told.done) / told.total);
      bar.value = percent;
      if (percent === last) return;
      last = percent;
      words.textContent = t("progress.percent", { label, percent });
    },
  };
}
