/**
 * Work that goes on without a page that shows it: how far it is, and what came of it, on top of every view.
 * @module
 */
import { cancel, problemOf } from "./api.js";
import { openIsolateAllDialog } from "./dialogs/isolate_all.js";
import { fill, h } from "./dom.js";
import { on } from "./events.js";
import { icon } from "./icons.js";
import { onUnwatched, progressBar, startJob, unwatchedJobs } from "./job.js";
import { button, iconButton } from "./parts.js";
import { t } from "./strings.js";

/** @typedef {import("./types.js").WishedJob} WishedJob */

/** @type {Map<string, (job: WishedJob) => void>} what shows a job, by its command */
const SHOW = new Map([["isolate", ({ job, chat }) => openIsolateAllDialog(chat, () => undefined, job)]]);

/** @type {import("./job.js").Job[]} */
let followed = [];

/** @returns {HTMLElement} the place of the work; call readWork() when somebody is logged in */
export const workPlace = h("div", { class: "work-place" });

/** Asks what goes on. */
export async function readWork() {
  try {
    const jobs = await unwatchedJobs();
    for (const each of followed) each.end.abort();
    followed = [];
    fill(workPlace, ...jobs.filter(({ command }) => SHOW.has(command)).map(strip));
  } catch (error) {
    problemOf(error); // it is asked again when the service is back
  }
}

/** @param {WishedJob} job @returns {HTMLElement} */
function strip(job) {
  const show = button(t("work.show"), () => SHOW.get(job.command)?.(job), { class: "small" });
  if (job.ended) {
    const seen = iconButton(t("close"), "close", () => void cancel(job.job).catch(() => undefined));
    return h("div", { class: "banner work", data: { job: job.job } }, icon("shield"), h("p", { role: "status" }, t("work.isolate.ended")), show, seen);
  }
  const bar = progressBar(t("isolate.all.working"));
  bar.tell(job);
  followed.push(startJob(bar.tell, job.job));
  return h("div", { class: "banner work", data: { job: job.job } }, icon("shield"), bar.element, show);
}

on("job", () => void readWork());
on("back", () => void readWork());
onUnwatched(() => void readWork());
