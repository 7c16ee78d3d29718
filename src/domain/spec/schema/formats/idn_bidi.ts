/**
 * Right-to-left labels of host names, and the labels next to them: RFC 5893.
 *
 * The characters of a label are already restricted by RFC 5892, so few bidi classes remain.
 */

/** Blocks with right-to-left letters, and the digits and marks among them. */
const RIGHT_BLOCKS =
  /[\u{590}-\u{8ff}\u{fb1d}-\u{fdff}\u{fe70}-\u{feff}\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ARABIC_NUMBER = /[\u{660}-\u{669}\u{66b}\u{66c}\u{10d30}-\u{10d39}]/u;
const EUROPEAN_NUMBER = /[0-9\u{6f0}-\u{6f9}]/u;
const MARK = /\p{Mn}/u;
const LETTER = /[\p{L}\p{Mc}\p{Nd}]/u;

type Direction = "left" | "right" | "arabic number" | "number" | "mark" | "neutral";

function directionOf(character: string): Direction {
  if (MARK.test(character)) return "mark";
  if (EUROPEAN_NUMBER.test(character)) return "number";
  if (ARABIC_NUMBER.test(character)) return "arabic number";
  if (RIGHT_BLOCKS.test(character)) return "right";
  return LETTER.test(character) ? "left" : "neutral";
}

/** True if all labels of a name, each given as its characters, may occur together. */
export function isBidiName(labels: readonly (readonly string[])[]): boolean {
  const directions = labels.map((label) => label.map(directionOf));
  const isBidi = directions.some((label) =>
    label.some((direction) => direction === "right" || direction === "arabic number")
  );
  return !isBidi || directions.every(isBidiLabel);
}

function isBidiLabel(directions: readonly Direction[]): boolean {
  const has = (direction: Direction) => directions.includes(direction);
  const last = directions.findLast((direction) => direction !== "mark");
  if (directions[0] === "left") {
    return !has("right") && !has("arabic number") && (last === "left" || last === "number");
  }
  if (directions[0] !== "right" || has("left")) return false;
  if (has("number") && has("arabic number")) return false;
  return last === "right" || last === "number" || last === "arabic number";
}
