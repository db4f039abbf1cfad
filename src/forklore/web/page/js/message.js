/**
 * One message of a timeline, and the scene that ends with it.
 * @module
 */
import { h, name, spoken } from "./dom.js";
import { moment, timelineName } from "./format.js";
import { icon } from "./icons.js";
import { codeWords, iconButton, kindIcon } from "./parts.js";
import { prose } from "./prose.js";
import { link } from "./router.js";
import { number, t } from "./strings.js";

/** @typedef {import("./types.js").Message} Message */
/**
 * @typedef {Object} Acts what can be done with a message
 * @property {(message: Message) => void} fork
 * @property {(message: Message) => void} recap
 */

/**
 * @param {number} index
 * @param {number} total
 * @param {Message | null} message null while it is on its way
 * @param {{chat: string, chosen: number | null, acts: Acts}} around
 * @returns {HTMLElement}
 */
export function messagePart(index, total, message, { chat, chosen, acts }) {
  const article = h("article", {
    class: "message",
    tabindex: -1,
    aria: { posinset: index + 1, setsize: total, label: t("message.label", { number: index, name: message?.name ?? "" }) },
  });
  if (!message) {
    article.classList.add("message-away");
    article.setAttribute("aria-busy", "true");
    article.append(h("p", { class: "message-head" }, h("span", { class: "message-number" }, `#${number(index)}`)), h("p", { class: "ghost" }), h("p", { class: "ghost short" }));
    return article;
  }
  if (message.is_user) article.classList.add("by-user");
  if (message.hidden) article.classList.add("is-hidden");
  if (index === chosen) article.classList.add("chosen");
  article.append(head(message, acts), body(message));
  if (message.links.length) article.append(links(message, chat));
  if (message.scene) article.append(sceneRule(message.scene));
  return article;
}

/**
 * @param {Message} message
 * @param {Acts} acts
 * @returns {HTMLElement}
 */
function head(message, acts) {
  const { ready, codes } = message.fork;
  const label = ready ? t("fork.ready") : t("fork.blocked", { codes: codes.map((code) => `${codeWords(code)} (${code})`).join(", ") });
  return h(
    "div",
    { class: "message-head" },
    h("span", { class: "message-number" }, `#${number(message.number)}`),
    h("span", { class: "message-name" }, name(message.name)),
    message.sent ? h("span", { class: "message-sent" }, moment(message.sent)) : null,
    message.swipes > 1 ? h("span", { class: "message-swipe", title: t("message.swipes") }, spoken(t("message.swipes")), `${number(message.swipe + 1)}/${number(message.swipes)}`) : null,
    message.hidden ? h("span", { class: "message-hidden", title: t("message.hidden.means") }, icon("eye_off"), t("message.hidden")) : null,
    h(
      "span",
      { class: "message-acts" },
      iconButton(t("recap.at", { number: message.number }), "list", () => acts.recap(message)),
      iconButton(label, "bookmark", () => acts.fork(message), ready ? "fork-ready" : "fork-blocked"),
    ),
  );
}

/** @param {Message} message @returns {HTMLElement} */
function body(message) {
  if (message.damaged) return h("p", { class: "message-damaged" }, icon("warning"), t("message.damaged"));
  return h("div", { class: "message-text", dir: "auto" }, ...prose(message.text));
}

/**
 * @param {Message} message
 * @param {string} chat
 * @returns {HTMLElement}
 */
function links(message, chat) {
  return h(
    "p",
    { class: "message-links" },
    ...message.links.map((each) =>
      h("a", { class: `chip kind-${each.kind}`, href: link("timeline", each.chat) }, kindIcon(each.kind), spoken(`${t(`kind.${each.kind}`)}: `), name(timelineName(each.chat, chat))),
    ),
  );
}

/** @param {NonNullable<Message["scene"]>} scene @returns {HTMLElement} */
function sceneRule(scene) {
  const state = scene.ready ? t("scene.ready") : scene.codes.map(codeWords).join(", ");
  return h(
    "div",
    { class: `scene ${scene.ready ? "scene-ready" : "scene-open"}` },
    icon("scene"),
    h("span", { class: "scene-name" }, spoken(t("scene.ends")), name(scene.name || t("scene.unnamed"))),
    h("span", { class: "scene-state" }, state),
  );
}
