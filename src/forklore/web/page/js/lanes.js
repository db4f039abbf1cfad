/**
 * The lanes of a story: where each column lies, and the lines that are drawn there.
 * @module
 */
import { svg } from "./dom.js";
import { number } from "./strings.js";

/** @typedef {import("./types.js").Layout} Layout */
/** @typedef {import("./types.js").Lane} Lane */

const EDGE = 14;
const ROUND = 9;
const LABEL_ROOM = 46;

/**
 * The horizontal place of every column. A straight run is as wide as a step, a little wider when it is long.
 * @param {Layout["columns"]} columns
 * @param {number} width
 * @returns {number[]}
 */
export function columnPlaces(columns, width) {
  const weights = columns.map((column, index) => (index === 0 ? 0 : 1 + Math.log10(1 + column.collapsed) * 0.6));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const scale = sum ? (width - 2 * EDGE) / sum : 0;
  let x = EDGE;
  return weights.map((weight) => (x += weight * scale));
}

/**
 * How wide the drawing should be.
 * @param {number} columns
 * @param {number} room
 * @returns {number}
 */
export function drawingWidth(columns, room) {
  const narrow = room < 640;
  const most = narrow ? Math.min(112, room * 0.28) : room * 0.42;
  const least = narrow ? 56 : 120;
  return Math.round(Math.max(least, Math.min(most, EDGE * 2 + columns * (narrow ? 12 : 44))));
}

/**
 * Draws the lanes.
 * @param {SVGSVGElement} drawing
 * @param {Layout} layout
 * @param {(number | null)[]} middles the vertical middle of each row, null for one that is not shown
 * @param {{width: number, height: number}} room
 * @param {string | null} open
 */
export function drawLanes(drawing, layout, middles, { width, height }, open) {
  const places = columnPlaces(layout.columns, width);
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawing.setAttribute("width", String(width));
  drawing.setAttribute("height", String(height));
  const shapes = document.createDocumentFragment();
  // Deep lanes first, so that a parent's line lies above the ends of its forks.
  for (let index = layout.lanes.length - 1; index >= 0; index -= 1) {
    const lane = layout.lanes[index];
    const y = lane && middles[lane.row];
    if (!lane || y === null || y === undefined) continue;
    shapes.append(...laneShapes(lane, layout, places, y, middles, lane.chat === open));
  }
  drawing.replaceChildren(shapes);
}

/**
 * @param {Lane} lane
 * @param {Layout} layout
 * @param {number[]} places
 * @param {number} y
 * @param {(number | null)[]} middles
 * @param {boolean} open
 * @returns {SVGElement[]}
 */
function laneShapes(lane, layout, places, y, middles, open) {
  const from = places[lane.start] ?? EDGE;
  const to = Math.max(places[lane.end] ?? from, from);
  const parentY = lane.parent_row === null ? null : (middles[lane.parent_row] ?? null);
  const grows = parentY !== null;
  const bend = grows ? Math.min(ROUND, Math.max(to - from, 6)) : 0;
  const start = grows ? `M${from} ${parentY}V${y - ROUND}Q${from} ${y} ${from + bend} ${y}` : `M${from} ${y}`;
  const end = Math.max(to, from + bend);
  /** @type {SVGElement[]} */
  const shapes = [svg("path", { class: `lane kind-${lane.kind}`, d: `${start}H${end}`, "data-row": lane.row })];
  if (grows) shapes.push(svg("circle", { class: `knot kind-${lane.kind}`, cx: from, cy: /** @type {number} */ (parentY), r: 3, "data-row": lane.row }));
  shapes.push(endShape(lane, end, y));
  if (open) shapes.push(svg("circle", { class: "open-ring", cx: end, cy: y, r: 10, "data-row": lane.row }));
  shapes.push(...runLabels(lane, layout, places, y));
  return shapes;
}

/**
 * How a timeline ends: a bookmark, a bud, or the tip of the trunk.
 * @param {Lane} lane
 * @param {number} x
 * @param {number} y
 * @returns {SVGElement}
 */
function endShape(lane, x, y) {
  const common = { class: `tip kind-${lane.kind} health-${lane.health}`, "data-row": lane.row };
  if (lane.kind === "checkpoint") return svg("path", { ...common, d: `M${x - 4} ${y - 6}h8v12l-4-3.5-4 3.5z` });
  if (lane.kind === "branch") return svg("path", { ...common, d: `M${x - 5} ${y}C${x - 3} ${y - 7} ${x + 4} ${y - 7} ${x + 7} ${y}C${x + 4} ${y + 7} ${x - 3} ${y + 7} ${x - 5} ${y}z` });
  return svg("circle", { ...common, cx: x, cy: y, r: 5.5 });
}

/**
 * How many messages a straight run stands for, where there is room to say it.
 * @param {Lane} lane
 * @param {Layout} layout
 * @param {number[]} places
 * @param {number} y
 * @returns {SVGElement[]}
 */
function runLabels(lane, layout, places, y) {
  const labels = [];
  for (let column = lane.start + 1; column <= lane.end; column += 1) {
    const left = places[column - 1] ?? 0;
    const right = places[column] ?? 0;
    const collapsed = layout.columns[column]?.collapsed ?? 0;
    if (collapsed < 2 || right - left < LABEL_ROOM) continue;
    const label = svg("text", { class: "run", x: (left + right) / 2 + (column === lane.start + 1 && lane.parent_row !== null ? 4 : 0), y: y - 5, "data-row": lane.row });
    label.textContent = number(collapsed);
    labels.push(label);
  }
  return labels;
}

/**
 * A timeline and everything it grew from.
 * @param {Layout} layout
 * @param {number} row
 * @returns {Set<number>}
 */
export function lineage(layout, row) {
  const byRow = new Map(layout.lanes.map((lane) => [lane.row, lane]));
  const rows = new Set([row]);
  let lane = byRow.get(row);
  while (lane && lane.parent_row !== null && !rows.has(lane.parent_row)) {
    rows.add(lane.parent_row);
    lane = byRow.get(lane.parent_row);
  }
  return rows;
}
