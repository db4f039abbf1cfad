/**
 * The start: words, frame, stream, and the view that the address names.
 * @module
 */
import { onTrouble, problemOf } from "./api.js";
import { closeDialogs } from "./dialog.js";
import { fill, h } from "./dom.js";
import { connect, leave, on } from "./events.js";
import { timelineName } from "./format.js";
import { storedLogin } from "./key.js";
import { mentioned } from "./notices.js";
import { waiting } from "./parts.js";
import { problemPart } from "./problems.js";
import { go, here, onArrival } from "./router.js";
import { drawShell, markPlace } from "./shell.js";
import { readGroups } from "./state.js";
import { loadStrings, t } from "./strings.js";
import { showContamination } from "./views/contamination.js";
import { showDoctor } from "./views/doctor.js";
import { showLog } from "./views/log.js";
import { showLoggedOut } from "./views/logged_out.js";
import { showSettings } from "./views/settings.js";
import { showStories } from "./views/stories.js";
import { showStory } from "./views/story.js";
import { showTimeline } from "./views/timeline.js";
import { showTrash } from "./views/trash.js";
import { readWork } from "./work.js";

/**
 * @typedef {(place: HTMLElement, args: string[], signal: AbortSignal) => Promise<void> | void} View
 *   draws itself into *place*; everything it started ends with *signal*
 */

/** @type {Map<string, View>} */
const VIEWS = new Map([
  ["stories", showStories],
  ["story", showStory],
  ["timeline", showTimeline],
  ["contamination", showContamination],
  ["doctor", showDoctor],
  ["log", showLog],
  ["trash", showTrash],
  ["settings", showSettings],
]);
const PATIENCE = 150;

/** @type {HTMLElement} */
let place;
let running = new AbortController();
let loggedOut = false;

async function arrive() {
  if (loggedOut) return;
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const { view: wanted, args } = here();
  const view = VIEWS.has(wanted) ? wanted : "stories";
  const show = VIEWS.get(view) ?? showStories;
  closeDialogs();
  markPlace(view);
  place.className = `view-${view}`;
  const patience = setTimeout(() => fill(place, h("h1", { class: "spoken" }, "Forklore"), waiting()), PATIENCE);
  signal.addEventListener("abort", () => clearTimeout(patience));
  try {
    await show(place, args, signal);
    clearTimeout(patience);
    if (!signal.aborted) settle();
  } catch (error) {
    clearTimeout(patience);
    const problem = problemOf(error);
    if (!problem || signal.aborted || problem.loggedOut) return;
    fill(place, h("h1", { class: "spoken" }, "Forklore"), problemPart(problem, () => void arrive()));
  }
}

/** Names the page after its heading, and lets a keyboard begin there. */
function settle() {
  const heading = place.querySelector("h1");
  document.title = heading?.textContent ? `${heading.textContent} · Forklore` : "Forklore";
  const focused = document.activeElement;
  if (heading && (focused === null || focused === document.body || focused === place)) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

/** Draws everything again in the language that was chosen. */
export async function redraw() {
  drawShell();
  void readWork();
  await arrive();
}

async function start() {
  if (!storedLogin()) return location.replace(`/login${location.hash}`);
  await loadStrings();
  place = drawShell();
  onTrouble((problem) => {
    if (!problem.loggedOut || loggedOut) return;
    loggedOut = true;
    running.abort();
    leave();
    closeDialogs();
    document.title = `${t("out.title")} · Forklore`;
    showLoggedOut(place);
  });
  on("findings", (data) => {
    if (data.ok) return;
    mentioned(t("findings.new", { name: timelineName(data.chat, null) }), [{ label: t("story.leaks.look"), act: () => go("timeline", data.chat, "health") }]);
  });
  document.addEventListener("forklore:redraw", () => void redraw());
  connect();
  void readWork();
  await readGroups();
  onArrival(() => void arrive()); // not before: a view that is drawn twice loses what was typed into the first
  await arrive();
}

void start();
