/**
 * Internationalized labels of host names: the characters that they may contain (RFC 5892), those
 * that are written from right to left (RFC 5893), and their form in ASCII, Punycode (RFC 3492).
 *
 * The rules are derived from the engine's Unicode data. Viramas and joining types, which the
 * engine does not expose, are listed here.
 *
 * Bounded: a label has at most {@link LABEL_CHARACTERS_MAX} characters; longer ones are refused
 * before they get here.
 */

/** Exceptions that apply whatever the category (RFC 5892, section 2.6). */
const VALID = /[\u{df}\u{3c2}\u{6fd}\u{6fe}\u{f0b}\u{3007}]/u;
const DISALLOWED = /[\u{640}\u{7fa}\u{302e}\u{302f}\u{3031}-\u{3035}\u{303b}]/u;
const OLD_JAMO = /[\u{1100}-\u{11ff}\u{a960}-\u{a97f}\u{d7b0}-\u{d7ff}]/u;
const IGNORED = /[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Noncharacter_Code_Point}]/u;
const IGNORED_BLOCKS = /[\u{20d0}-\u{20ff}\u{1d100}-\u{1d24f}]/u;
const LETTER_OR_DIGIT = /[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]/u;

/** True for characters that are allowed anywhere in a label. */
export function isValidAnywhere(character: string): boolean {
  if (/^[-a-z0-9]$/.test(character)) return true;
  if (VALID.test(character)) return true;
  if (DISALLOWED.test(character) || OLD_JAMO.test(character)) return false;
  if (IGNORED.test(character) || IGNORED_BLOCKS.test(character)) return false;
  const folded = character.normalize("NFKC").toLowerCase().normalize("NFKC");
  return folded === character && LETTER_OR_DIGIT.test(character);
}

type Rule = (characters: readonly string[], index: number) => boolean;

/** Characters that depend on their neighbours (RFC 5892, appendix A). */
const CONTEXT: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["\u200c", (all, index) => isAfterVirama(all, index) || isBetweenJoined(all, index)],
  ["\u200d", isAfterVirama],
  ["\u00b7", (all, index) => all[index - 1] === "l" && all[index + 1] === "l"],
  ["\u0375", (all, index) => /\p{sc=Greek}/u.test(all[index + 1] ?? "")],
  ["\u05f3", (all, index) => /\p{sc=Hebrew}/u.test(all[index - 1] ?? "")],
  ["\u05f4", (all, index) => /\p{sc=Hebrew}/u.test(all[index - 1] ?? "")],
  ["\u30fb", (all) => /[\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Han}]/u.test(all.join(""))],
]);

const ARABIC_DIGIT = /[\u0660-\u0669]/;
const EXTENDED_ARABIC_DIGIT = /[\u06f0-\u06f9]/;

/** True if every character of a label is allowed where it is. */
export function areValidInContext(characters: readonly string[]): boolean {
  const label = characters.join("");
  // A label may use only one kind of Arabic digits.
  if (ARABIC_DIGIT.test(label) && EXTENDED_ARABIC_DIGIT.test(label)) return false;
  return characters.every((character, index) => {
    if (ARABIC_DIGIT.test(character) || EXTENDED_ARABIC_DIGIT.test(character)) return true;
    const rule = CONTEXT.get(character);
    return rule === undefined ? isValidAnywhere(character) : rule(characters, index);
  });
}

const VIRAMA =
  /[\u{94d}\u{9cd}\u{a4d}\u{acd}\u{b4d}\u{bcd}\u{c4d}\u{ccd}\u{d3b}\u{d3c}\u{d4d}\u{dca}\u{e3a}\u{eba}\u{f84}\u{1039}\u{103a}\u{1714}\u{1715}\u{1734}\u{17d2}\u{1a60}\u{1b44}\u{1baa}\u{1bab}\u{1bf2}\u{1bf3}\u{2d7f}\u{a806}\u{a82c}\u{a8c4}\u{a953}\u{a9c0}\u{aaf6}\u{abed}\u{10a3f}\u{11046}\u{11070}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{11442}\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}\u{1193e}\u{119e0}\u{11a34}\u{11a47}\u{11a99}\u{11c3f}\u{11d44}\u{11d45}\u{11d97}]/u;

function isAfterVirama(characters: readonly string[], index: number): boolean {
  return VIRAMA.test(characters[index - 1] ?? "");
}

const JOINED = /^(?=\p{L})[\p{sc=Arab}\p{sc=Syrc}\p{sc=Nkoo}\p{sc=Mong}\p{sc=Mand}\p{sc=Adlm}]$/u;
/** Letters that join on neither side, and letters that join only to the preceding one. */
const NOT_JOINED = /[\u0621\u0674\u06d5\u08ad]/;
const JOINED_BEFORE_ONLY =
  /[\u0622-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0673\u0675-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06ee\u06ef\u0710\u0715-\u0719\u071e\u0728\u072a\u072c\u072f]/;

/** Between two letters that would be joined in writing; marks on them are ignored. */
function isBetweenJoined(characters: readonly string[], index: number): boolean {
  const before = characters.findLast((other, at) => at < index && !isMark(other)) ?? "";
  const after = characters.find((other, at) => at > index && !isMark(other)) ?? "";
  return isJoined(before) && isJoined(after) && !JOINED_BEFORE_ONLY.test(before);
}

function isMark(character: string): boolean {
  return /\p{Mn}/u.test(character);
}

function isJoined(character: string): boolean {
  return JOINED.test(character) && !NOT_JOINED.test(character);
}

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

/** One label of a host name, as it is sent (RFC 1035, section 2.3.4). */
export const LABEL_CHARACTERS_MAX = 63;

const BASE = 36;
const THRESHOLD_MIN = 1;
const THRESHOLD_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const FIRST_BIAS = 72;
const FIRST_CODE_POINT = 0x80;
const CODE_POINT_MAX = 0x10ffff;

const DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789";

/** Decodes the text after `xn--` to code points; undefined if it is not Punycode. */
export function decodePunycode(text: string): number[] | undefined {
  if (text.length > LABEL_CHARACTERS_MAX) return undefined;
  const delimiter = text.lastIndexOf("-");
  const output = [...text.slice(0, Math.max(0, delimiter))].map((letter) => letter.charCodeAt(0));
  let at = delimiter <= 0 ? (delimiter === 0 ? 1 : 0) : delimiter + 1;
  let codePoint = FIRST_CODE_POINT;
  let bias = FIRST_BIAS;
  let index = 0;
  while (at < text.length) {
    const before = index;
    let weight = 1;
    for (let k = BASE;; k += BASE) {
      const digit = at < text.length ? DIGITS.indexOf(text[at++]!.toLowerCase()) : -1;
      if (digit < 0) return undefined;
      index += digit * weight;
      const threshold = thresholdAt(k, bias);
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const length = output.length + 1;
    bias = adapt(index - before, length, before === 0);
    codePoint += Math.floor(index / length);
    if (codePoint > CODE_POINT_MAX) return undefined;
    index %= length;
    output.splice(index++, 0, codePoint);
  }
  return output;
}

/** Encodes code points; undefined if the result would be longer than a label may be. */
export function encodePunycode(codePoints: readonly number[]): string | undefined {
  if (codePoints.length > LABEL_CHARACTERS_MAX) return undefined;
  const basic = codePoints.filter((codePoint) => codePoint < FIRST_CODE_POINT);
  let output = String.fromCodePoint(...basic) + (basic.length > 0 ? "-" : "");
  let handled = basic.length;
  let codePoint = FIRST_CODE_POINT;
  let delta = 0;
  let bias = FIRST_BIAS;
  while (handled < codePoints.length) {
    const next = Math.min(...codePoints.filter((other) => other >= codePoint));
    delta += (next - codePoint) * (handled + 1);
    codePoint = next;
    for (const other of codePoints) {
      if (other < codePoint) delta++;
      if (other !== codePoint) continue;
      output += digitsOf(delta, bias);
      bias = adapt(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled++;
    }
    delta++;
    codePoint++;
  }
  return output.length > LABEL_CHARACTERS_MAX ? undefined : output;
}

/** Encodes a number as digits of varying weight, lowest first. */
function digitsOf(number: number, bias: number): string {
  let output = "";
  let rest = number;
  for (let k = BASE;; k += BASE) {
    const threshold = thresholdAt(k, bias);
    if (rest < threshold) return output + DIGITS[rest];
    output += DIGITS[threshold + (rest - threshold) % (BASE - threshold)];
    rest = Math.floor((rest - threshold) / (BASE - threshold));
  }
}

function thresholdAt(k: number, bias: number): number {
  return Math.min(THRESHOLD_MAX, Math.max(THRESHOLD_MIN, k - bias));
}

function adapt(delta: number, length: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? DAMP : 2));
  rest += Math.floor(rest / length);
  let k = 0;
  for (; rest > ((BASE - THRESHOLD_MIN) * THRESHOLD_MAX) / 2; k += BASE) {
    rest = Math.floor(rest / (BASE - THRESHOLD_MIN));
  }
  return k + Math.floor(((BASE - THRESHOLD_MIN + 1) * rest) / (rest + SKEW));
}
