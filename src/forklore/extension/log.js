/** What goes on, in the browser's console: for whoever looks for a fault, shown there with the level “verbose”. */

/** @param {...unknown} told */
export const log = (...told) => console.debug('[Forklore] CHECKPOINT', ...told);
