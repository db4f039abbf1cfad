/**
 * The heights of very many rows: any one can change, and sums and places are still found at once (a Fenwick tree).
 * @module
 */

export class Heights {
  /**
   * @param {number} count
   * @param {number} estimate the height of a row that was not measured yet
   */
  constructor(count, estimate) {
    this.count = count;
    this.estimate = estimate;
    /** @type {Float64Array} */
    this.own = new Float64Array(count).fill(estimate);
    /** @type {Float64Array} */
    this.sums = new Float64Array(count + 1);
    for (let index = 1; index <= count; index += 1) {
      this.sums[index] = (this.sums[index] ?? 0) + estimate;
      const parent = index + (index & -index);
      if (parent <= count) this.sums[parent] = (this.sums[parent] ?? 0) + (this.sums[index] ?? 0);
    }
  }

  /**
   * Makes room for more or fewer rows; the rows that stay keep their heights.
   * @param {number} count
   * @returns {Heights}
   */
  resized(count) {
    const other = new Heights(count, this.estimate);
    const shared = Math.min(count, this.count);
    for (let index = 0; index < shared; index += 1) {
      const own = this.own[index] ?? this.estimate;
      if (own !== this.estimate) other.set(index, own);
    }
    return other;
  }

  /**
   * @param {number} index
   * @param {number} height
   * @returns {number} by how much the row grew
   */
  set(index, height) {
    const grown = height - (this.own[index] ?? 0);
    if (grown === 0 || index < 0 || index >= this.count) return 0;
    this.own[index] = height;
    for (let at = index + 1; at <= this.count; at += at & -at) this.sums[at] = (this.sums[at] ?? 0) + grown;
    return grown;
  }

  /**
   * @param {number} index
   * @returns {number}
   */
  of(index) {
    return this.own[index] ?? 0;
  }

  /**
   * @param {number} index
   * @returns {number} where the row begins
   */
  top(index) {
    let sum = 0;
    for (let at = Math.min(index, this.count); at > 0; at -= at & -at) sum += this.sums[at] ?? 0;
    return sum;
  }

  /** @returns {number} */
  get total() {
    return this.top(this.count);
  }

  /**
   * @param {number} offset
   * @returns {number} the row at a place
   */
  at(offset) {
    let index = 0;
    let left = offset;
    let step = 1;
    while (step * 2 <= this.count) step *= 2;
    for (; step > 0; step >>= 1) {
      const next = index + step;
      if (next > this.count || (this.sums[next] ?? 0) > left) continue;
      index = next;
      left -= this.sums[next] ?? 0;
    }
    return Math.max(0, Math.min(index, this.count - 1));
  }
}
