/**
 * Names of members as text. They are data of events: a name may look like several, be very long, or
 * turn the direction of writing.
 */

/** So much of a name is shown. */
const CHARACTERS_SHOWN = 100;
/** Of longer paths the middle is left out. */
const FIRST_SHOWN = 4;
const LAST_SHOWN = 8;

const WORD = /^\w+$/;
/** Marks that turn the direction of writing, also of the names beside theirs. */
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A word stands for itself; everything else is quoted, and cut if it is long. */
export function shownName(name: string | number): string {
  const whole = String(name);
  const start = whole.slice(0, CHARACTERS_SHOWN);
  const text = WORD.test(start) ? start : JSON.stringify(start).replace(TURNS, escaped);
  return whole.length > CHARACTERS_SHOWN ? `${text}…` : text;
}

/** Where a value is in a state, with dots between the names. */
export function shownPath(path: readonly (string | number)[]): string {
  if (path.length === 0) return "the state";
  if (path.length <= FIRST_SHOWN + LAST_SHOWN) return path.map(shownName).join(".");
  const [first, last] = [path.slice(0, FIRST_SHOWN), path.slice(-LAST_SHOWN)];
  return [...first.map(shownName), "…", ...last.map(shownName)].join(".");
}

function escaped(mark: string): string {
  return `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
