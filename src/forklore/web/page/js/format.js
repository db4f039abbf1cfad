/**
 * Names, times and sizes as people read them.
 * @module
 */
import { printable } from "/texts/printable.js";
import { language, t } from "./strings.js";

const STAMP = /(\d{4})-(\d{1,2})-(\d{1,2})\s?@\s?(\d{1,2})h\s?(\d{1,2})m\s?(\d{1,2})s(?:\s?\d+ms)?/;
const MINUTE = 60_000;

/** @typedef {{folder: string, name: string, group: boolean}} Parts */

/**
 * Takes an address apart.
 * @param {string} address
 * @returns {Parts}
 */
export function parts(address) {
  const slash = address.indexOf("/");
  const folder = slash < 0 ? "" : address.slice(0, slash);
  const group = folder.startsWith("group:");
  return { folder: group ? folder.slice(6) : folder, name: address.slice(slash + 1), group };
}

/** @type {Map<string, string>} */
let groups = new Map();

/** @param {{id: string, name: string}[]} list what the groups are called, whose ids are in addresses */
export function nameGroups(list) {
  groups = new Map(list.map((group) => [group.id, group.name]));
}

/**
 * What a story is called: SillyTavern names a chat after its character and the moment it began.
 * @param {string} address of the main chat
 * @returns {{title: string, note: string}}
 */
export function storyName(address) {
  const { folder, name, group } = parts(address);
  const began = stampIn(name);
  const owner = group ? (groups.get(folder) ?? t("story.group")) : folder;
  if (!began) return { title: printable(name), note: printable(owner) };
  const rest = name.replace(began.text, "").replace(/^[\s-]+|[\s-]+$/g, "");
  const note = t("story.began", { when: moment(began.time) });
  return { title: printable(rest || owner), note };
}

/**
 * What a timeline is called beside its parent: without the parent's name in front, and with the moment that
 * SillyTavern writes behind its own forks as people write one.
 * @param {string} address
 * @param {string | null} parent
 * @returns {string}
 */
export function timelineName(address, parent) {
  const { name } = parts(address);
  if (parent === null) {
    const { title } = storyName(address);
    return title;
  }
  const front = `${parts(parent).name} - `;
  const own = name.startsWith(front) && name.length > front.length ? name.slice(front.length) : name;
  return printable(dated(own));
}

/**
 * A name with the moment that SillyTavern writes into it as people write one.
 * @param {string} text
 * @returns {string}
 */
export function dated(text) {
  const made = stampIn(text);
  return made ? text.replace(made.text, () => moment(made.time)) : text;
}

/**
 * What a chat is called when it stands alone: its whole name, in the reader's way to write a date.
 * @param {string} address
 * @returns {string}
 */
export function chatTitle(address) {
  return printable(dated(parts(address).name));
}

/** @param {string} name @returns {{text: string, time: number} | null} the moment that SillyTavern wrote into it */
function stampIn(name) {
  const found = STAMP.exec(name);
  if (!found) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number);
  const date = new Date(year, month - 1, day, hour, minute, second);
  const isOne = date.getMonth() === month - 1 && date.getDate() === day && hour < 24 && minute < 60 && second < 60;
  return isOne ? { text: found[0], time: date.getTime() } : null;
}

/**
 * A moment in words.
 * @param {number | string | null} when
 * @returns {string}
 */
export function moment(when) {
  const date = dateOf(when);
  if (!date) return typeof when === "string" ? when : "";
  return new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(date);
}

/** @param {number | string | null} when @returns {string} the day alone */
export function day(when) {
  const date = dateOf(when);
  return date ? new Intl.DateTimeFormat(language(), { dateStyle: "full" }).format(date) : "";
}

/** @param {number | string | null} when @returns {string} the time of day alone */
export function clock(when) {
  const date = dateOf(when);
  return date ? new Intl.DateTimeFormat(language(), { timeStyle: "short" }).format(date) : "";
}

/** @param {number | string | null} when @returns {Date | null} */
function dateOf(when) {
  if (when === null || when === "") return null;
  // SillyTavern writes "November 2, 2025 8:15pm"
  const date = new Date(typeof when === "string" ? when.replace(/(\d)(am|pm)$/i, "$1 $2") : when);
  return Number.isNaN(date.getTime()) ? null : date;
}

/**
 * How long ago something was.
 * @param {number} when in milliseconds since 1970
 * @returns {string}
 */
export function ago(when) {
  if (!when) return "";
  const minutes = Math.round((Date.now() - when) / MINUTE);
  const words = new Intl.RelativeTimeFormat(language(), { numeric: "auto" });
  if (minutes < 1) return t("time.now");
  if (minutes < 60) return words.format(-minutes, "minute");
  if (minutes < 60 * 24) return words.format(-Math.round(minutes / 60), "hour");
  if (minutes < 60 * 24 * 30) return words.format(-Math.round(minutes / 60 / 24), "day");
  return new Intl.DateTimeFormat(language(), { dateStyle: "medium" }).format(new Date(when));
}

/** @param {number} bytes @returns {string} */
export function size(bytes) {
  if (bytes < 1000) return t("size.bytes", { count: bytes });
  if (bytes < 1_000_000) return t("size.kilobytes", { count: Math.round(bytes / 1000) });
  return t("size.megabytes", { count: Math.round(bytes / 100_000) / 10 });
}

/**
 * A hue that always is the same for the same name.
 * @param {string} text
 * @returns {number}
 */
export function hue(text) {
  let hash = 7;
  for (const sign of text) hash = (hash * 31 + (sign.codePointAt(0) ?? 0)) % 3600;
  return hash % 360;
}
