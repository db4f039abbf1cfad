/**
 * Small pieces that several views share.
 * @module
 */
import { fill, h, name, spoken } from "./dom.js";
import { chatTitle, parts } from "./format.js";
import { icon } from "./icons.js";
import { printable } from "/texts/printable.js";
import { link } from "./router.js";
import { known, t } from "./strings.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {import("./types.js").Health} Health */
/** @typedef {import("./types.js").Kind} Kind */
/** @typedef {import("./types.js").PlannedChange} PlannedChange */

/** @type {Map<Health, string>} */
const HEALTH_ICON = new Map([["isolated", "shield"], ["leaks", "leak"], ["unverified", "question"]]);
/** @type {Map<Kind, string>} */
const KIND_ICON = new Map([["main", "main"], ["checkpoint", "bookmark"], ["branch", "branch"]]);

/**
 * What the reader should know before anything else, with what can be done about it.
 * @param {string} which
 * @param {string} title
 * @param {Child} text
 * @param {{bad: boolean}} how
 * @param {...Child} actions
 * @returns {HTMLElement}
 */
export function callout(which, title, text, how, ...actions) {
  return h(
    "div",
    { class: `callout ${how.bad ? "callout-bad" : "callout-warn"}` },
    icon(which),
    h("div", null, h("p", { class: "callout-title" }, title), h("p", null, text), h("p", { class: "callout-actions" }, ...actions)),
  );
}

/**
 * The words for a code, or the code itself.
 * @param {string} code
 * @returns {string}
 */
export function codeWords(code) {
  return known(`code.${code}`) ? t(`code.${code}`) : code;
}

/**
 * The words for what an operation of the queue does, or its type itself.
 * @param {string} type
 * @returns {string}
 */
export function queueWords(type) {
  return known(`queue.type.${type}`) ? t(`queue.type.${type}`) : type;
}

/**
 * Whether a timeline is isolated, and why not.
 * @param {Health} health
 * @param {string | null} reason
 * @returns {HTMLElement}
 */
export function healthBadge(health, reason) {
  const why = reason ? codeWords(reason) : t(`health.${health}.means`);
  return h(
    "span",
    { class: `badge health-${health}`, title: why, data: { health } },
    icon(HEALTH_ICON.get(health) ?? "question"),
    h("span", null, t(`health.${health}`)),
    spoken(`: ${why}`),
  );
}

/**
 * @param {Kind} kind
 * @returns {HTMLElement}
 */
export function kindBadge(kind) {
  return h("span", { class: `badge kind-${kind}` }, icon(KIND_ICON.get(kind) ?? "main"), h("span", null, t(`kind.${kind}`)));
}

/** @param {Kind} kind @returns {SVGSVGElement} */
export function kindIcon(kind) {
  return icon(KIND_ICON.get(kind) ?? "main");
}

/** @returns {HTMLElement} */
export function openBadge() {
  return h("span", { class: "badge is-open" }, icon("open"), h("span", null, t("open.here")));
}

/**
 * @param {string} label
 * @param {() => void} act
 * @param {{icon?: string, class?: string, type?: string}} [options]
 * @returns {HTMLButtonElement}
 */
export function button(label, act, options = {}) {
  return h(
    "button",
    { type: options.type ?? "button", class: `button ${options.class ?? ""}`.trim(), on: { click: act } },
    options.icon ? icon(options.icon) : null,
    h("span", null, label),
  );
}

/**
 * @param {string} label told by screen readers and shown as a tooltip
 * @param {string} which
 * @param {() => void} act
 * @param {string} [className]
 * @returns {HTMLButtonElement}
 */
export function iconButton(label, which, act, className = "") {
  return h(
    "button",
    { type: "button", class: `icon-button ${className}`.trim(), title: label, aria: { label }, on: { click: act } },
    icon(which),
  );
}

/**
 * The way back: the places above this one.
 * @param {{text: string, href: string}[]} places
 * @returns {HTMLElement}
 */
export function trail(places) {
  return h(
    "nav",
    { class: "trail", aria: { label: t("trail") } },
    h("ol", null, ...places.map((place) => h("li", null, h("a", { href: place.href }, name(place.text))))),
  );
}

/**
 * What a view shows when there is nothing, or nothing yet.
 * @param {string} which icon
 * @param {string} title
 * @param {Child[]} rest
 * @returns {HTMLElement}
 */
export function emptiness(which, title, ...rest) {
  return h("div", { class: "emptiness" }, icon(which), h("h2", null, title), ...rest);
}

/**
 * Shown while something loads, after a moment, so that quick answers do not flicker.
 * @param {string} [text]
 * @returns {HTMLElement}
 */
export function waiting(text) {
  return h("div", { class: "waiting", role: "status" }, h("span", { class: "spinner", aria: { hidden: true } }), text ?? t("loading"));
}

/**
 * The files that a plan touches.
 * @param {PlannedChange[]} plan
 * @returns {HTMLElement}
 */
export function planList(plan) {
  if (!plan.length) return h("p", { class: "quiet" }, t("plan.nothing"));
  return h(
    "ul",
    { class: "plan" },
    ...plan.map((change) =>
      h(
        "li",
        { class: `plan-${change.action}` },
        h("span", { class: "plan-verb" }, known(`plan.${change.action}`) ? t(`plan.${change.action}`) : change.action),
        h("code", { class: "path" }, name(change.path)),
      ),
    ),
  );
}

/**
 * A link to a timeline.
 * @param {string} chat
 * @param {string} text
 * @param {number} [message]
 * @returns {HTMLAnchorElement}
 */
export function timelineLink(chat, text, message) {
  return h("a", { href: message === undefined ? link("timeline", chat) : link("timeline", chat, message), title: printable(parts(chat).name) }, name(text));
}

/**
 * What a chat is called, as people read it; its real name for who asks.
 * @param {string} address
 * @param {string} [className]
 * @returns {HTMLElement}
 */
export function chatName(address, className) {
  const element = name(chatTitle(address), className);
  element.title = printable(parts(address).name);
  return element;
}

/**
 * A line of facts, each with its word.
 * @param {[string, Child][]} facts
 * @returns {HTMLElement}
 */
export function factList(facts) {
  return h(
    "dl",
    { class: "facts" },
    ...facts.filter(([, fact]) => fact !== null && fact !== undefined && fact !== "").map(([word, fact]) =>
      h("div", null, h("dt", null, word), h("dd", null, fact)),
    ),
  );
}

/**
 * Something that opens when asked.
 * @param {string} title
 * @param {...Child} body
 * @returns {HTMLDetailsElement}
 */
export function more(title, ...body) {
  return h("details", { class: "more" }, h("summary", null, title), h("div", { class: "more-body" }, ...body));
}

/**
 * A menu of actions behind one button; its items can change while it is open.
 * @param {string} label
 * @param {AbortSignal} signal
 * @returns {{element: HTMLElement, set: (items: (HTMLElement | null)[]) => void}}
 */
export function menu(label, signal) {
  const list = h("div", { class: "menu-list" });
  const details = h(
    "details",
    { class: "menu" },
    h("summary", { class: "button", aria: { label } }, icon("more"), h("span", { class: "menu-word" }, label)),
    list,
  );
  const close = () => details.removeAttribute("open");
  const closeHere = () => {
    close();
    details.querySelector("summary")?.focus(); // what is chosen is hidden now, and could not get the focus back
  };
  details.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest(".menu-list button, .menu-list a")) closeHere();
  });
  details.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && details.open) closeHere();
  });
  document.addEventListener(
    "pointerdown",
    (event) => {
      if (event.target instanceof Node && !details.contains(event.target)) close();
    },
    { signal },
  );
  return { element: details, set: (items) => fill(list, ...items) };
}
