/**
 * Scrolling through very many rows: only those in view exist, and nothing jumps when their heights become known.
 * @module
 */
import { h } from "./dom.js";
import { Heights } from "./heights.js";

const BEYOND = 800;
const AT_END = 8;

/** @typedef {"start" | "end" | "center"} Align */

export class Scroller {
  /**
   * @param {HTMLElement} viewport what scrolls
   * @param {{draw: (index: number) => HTMLElement, seen: (first: number, last: number) => void, estimate: number, signal: AbortSignal}} options
   */
  constructor(viewport, { draw, seen, estimate, signal }) {
    this.viewport = viewport;
    this.draw = draw;
    this.seen = seen;
    this.heights = new Heights(0, estimate);
    /** @type {Map<number, HTMLElement>} */
    this.rows = new Map();
    /** @type {{index: number, align: Align} | null} what has to stay in its place until somebody scrolls */
    this.held = null;
    this.frame = 0;
    this.sizer = h("div", { class: "sizer" });
    viewport.append(this.sizer);
    this.watcher = new ResizeObserver((entries) => this.measure(entries));
    this.watcher.observe(viewport);
    viewport.addEventListener("scroll", () => this.soon(), { passive: true, signal });
    for (const event of ["wheel", "touchmove", "pointerdown", "keydown"]) {
      viewport.addEventListener(event, () => (this.held = null), { passive: true, signal });
    }
    signal.addEventListener("abort", () => {
      this.watcher.disconnect();
      cancelAnimationFrame(this.frame);
    });
  }

  /** @returns {number} */
  get count() {
    return this.heights.count;
  }

  /** @returns {boolean} whether the end is in view */
  get atEnd() {
    const { scrollTop, clientHeight } = this.viewport;
    return scrollTop + clientHeight >= this.heights.total - AT_END;
  }

  /** @returns {number} the first row of which the beginning is in view */
  get first() {
    const { scrollTop, clientHeight } = this.viewport;
    const index = this.heights.at(scrollTop);
    const bottom = this.heights.top(index) + this.heights.of(index);
    const cut = this.heights.top(index) < scrollTop - 1 && bottom < scrollTop + clientHeight;
    return cut ? Math.min(index + 1, this.count - 1) : index;
  }

  /**
   * @param {number} index
   * @returns {boolean} whether something of a row is in view
   */
  shows(index) {
    const { scrollTop, clientHeight } = this.viewport;
    const top = this.heights.top(index);
    return top < scrollTop + clientHeight && top + this.heights.of(index) > scrollTop;
  }

  /**
   * Says how many rows there are.
   * @param {number} count
   */
  resize(count) {
    if (count === this.count) return;
    for (const [index, row] of this.rows) if (index >= count) this.drop(index, row);
    this.heights = this.heights.resized(count);
    this.render();
  }

  /**
   * Brings a row into view and keeps it there until somebody scrolls.
   * @param {number} index
   * @param {Align} align
   */
  show(index, align) {
    this.held = { index: Math.max(0, Math.min(index, this.count - 1)), align };
    this.render();
  }

  /**
   * Draws rows again whose content has changed.
   * @param {number} from
   * @param {number} upto
   */
  redraw(from, upto) {
    for (const [index, row] of this.rows) {
      if (index < from || index >= upto) continue;
      const hadFocus = row.contains(document.activeElement);
      this.watcher.unobserve(row);
      const fresh = this.place(index);
      row.replaceWith(fresh);
      if (hadFocus) fresh.focus({ preventScroll: true });
    }
    this.render();
  }

  /** @param {number} index @returns {HTMLElement | undefined} */
  rowOf(index) {
    return this.rows.get(index);
  }

  soon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  render() {
    this.sizer.style.height = `${this.heights.total}px`;
    this.keepHeld();
    if (!this.count) return;
    const top = this.viewport.scrollTop;
    const height = this.viewport.clientHeight || 600;
    const first = this.heights.at(Math.max(0, top - BEYOND));
    const last = this.heights.at(top + height + BEYOND);
    for (const [index, row] of this.rows) if (index < first || index > last) this.drop(index, row);
    let before = this.sizer.firstElementChild;
    for (let index = first; index <= last; index += 1) {
      const known = this.rows.get(index);
      if (known) {
        before = known.nextElementSibling;
        continue;
      }
      this.sizer.insertBefore(this.place(index), before);
    }
    this.arrange();
    this.seen(first, last);
  }

  /**
   * @param {number} index
   * @returns {HTMLElement}
   */
  place(index) {
    const row = this.draw(index);
    row.dataset["index"] = String(index);
    this.rows.set(index, row);
    this.watcher.observe(row);
    return row;
  }

  /**
   * @param {number} index
   * @param {HTMLElement} row
   */
  drop(index, row) {
    if (row.contains(document.activeElement)) this.viewport.focus({ preventScroll: true });
    this.watcher.unobserve(row);
    this.rows.delete(index);
    row.remove();
  }

  arrange() {
    for (const [index, row] of this.rows) row.style.transform = `translateY(${this.heights.top(index)}px)`;
  }

  /** @param {ResizeObserverEntry[]} entries */
  measure(entries) {
    /** @type {Map<number, number>} */
    const measured = new Map();
    let changed = false;
    for (const entry of entries) {
      const row = /** @type {HTMLElement} */ (entry.target);
      const index = Number(row.dataset["index"]);
      const height = entry.borderBoxSize[0]?.blockSize ?? row.offsetHeight;
      if (row === this.viewport) changed = true;
      else if (this.rows.get(index) === row && height !== this.heights.of(index)) measured.set(index, height);
    }
    if (!changed && !measured.size) return;
    const anchor = this.anchor(measured);
    let shift = 0;
    for (const [index, height] of measured) {
      const grown = this.heights.set(index, height);
      if (index < anchor) shift += grown;
    }
    this.sizer.style.height = `${this.heights.total}px`;
    if (!this.held && shift) this.viewport.scrollTop += shift;
    this.render();
  }

  /**
   * The row that has to stay where it is: the first in view of which the height is known already, as somebody may be
   * reading it.
   * @param {Map<number, number>} measured
   * @returns {number}
   */
  anchor(measured) {
    const first = this.first;
    const last = this.heights.at(this.viewport.scrollTop + this.viewport.clientHeight);
    for (let index = first; index <= last; index += 1) if (!measured.has(index)) return index;
    return first;
  }

  keepHeld() {
    if (!this.held || !this.count) return;
    const { index, align } = this.held;
    const top = this.heights.top(index);
    const room = this.viewport.clientHeight - this.heights.of(index);
    const wanted = align === "start" ? top : align === "end" ? top - room : top - Math.max(0, room / 2);
    const end = this.heights.total - this.viewport.clientHeight;
    const place = Math.max(0, Math.min(wanted, end));
    if (Math.abs(this.viewport.scrollTop - place) > 0.5) this.viewport.scrollTop = place;
  }
}
