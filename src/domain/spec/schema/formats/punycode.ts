/**
 * Punycode (RFC 3492), which writes a label of a host name in ASCII.
 *
 * Bounded: a label has at most {@link LABEL_CHARACTERS_MAX} characters; longer ones are refused
 * before they get here.
 */

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
