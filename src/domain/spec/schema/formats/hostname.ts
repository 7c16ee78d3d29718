/**
 * `format: hostname` and `idn-hostname`: RFC 1123, and RFC 5890 to 5893 for international
 * names.
 *
 * The latter also apply to names that stand for such ones in ASCII (`xn--...`).
 */

import {
  areValidInContext,
  decodePunycode,
  encodePunycode,
  isBidiName,
  LABEL_CHARACTERS_MAX,
} from "./idn.ts";

/** A whole name as it is sent (RFC 1035, section 2.3.4, without the framing). */
const NAME_CHARACTERS_MAX = 253;
/** No name is longer as written, even if each character takes two code units. */
export const WRITTEN_CHARACTERS_MAX = 2 * NAME_CHARACTERS_MAX;

const ASCII_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/** Dots that separate the labels of internationalized names (RFC 3490, section 3.1). */
const IDN_DOTS = /[.\u3002\uff0e\uff61]/;

/** True if no label needs the tables of Unicode: only ASCII, and no `xn--`. */
export function isPlainName(text: string): boolean {
  return !/[^\0-\x7f]|xn--/i.test(text);
}

export function isHostname(text: string): boolean {
  return text.length <= NAME_CHARACTERS_MAX && isName(text.split("."), false);
}

export function isIdnHostname(text: string): boolean {
  return text.length <= WRITTEN_CHARACTERS_MAX && isName(text.split(IDN_DOTS), true);
}

/** Letters, digits and inner hyphens, whatever they stand for. */
export function isAsciiLabel(label: string): boolean {
  return ASCII_LABEL.test(label);
}

function isName(labels: readonly string[], isIdn: boolean): boolean {
  let length = labels.length - 1;
  if (labels.every(isPlainName)) {
    for (const label of labels) length += label.length;
    return length <= NAME_CHARACTERS_MAX && labels.every(isAsciiLabel);
  }
  const shown: string[][] = [];
  for (const label of labels) {
    const read = readLabel(label, isIdn);
    if (read === undefined) return false;
    shown.push(read.characters);
    length += read.sentCharacters;
  }
  return length <= NAME_CHARACTERS_MAX && isBidiName(shown);
}

interface Label {
  /** The characters of the label as displayed. */
  readonly characters: string[];
  readonly sentCharacters: number;
}

function readLabel(label: string, isIdn: boolean): Label | undefined {
  if (isAsciiLabel(label)) {
    if (!/^xn--/i.test(label)) return { characters: [...label], sentCharacters: label.length };
    return readALabel(label);
  }
  return isIdn && /[^\0-\x7f]/.test(label) ? readULabel(label) : undefined;
}

/** Reads an `xn--` label. It must stand for a valid label and be its only spelling. */
function readALabel(label: string): Label | undefined {
  const codePoints = decodePunycode(label.slice("xn--".length));
  if (codePoints === undefined || codePoints.some(isSurrogate)) return undefined;
  const read = readULabel(String.fromCodePoint(...codePoints));
  return read !== undefined && encodePunycode(codePoints) === label.slice(4).toLowerCase()
    ? read
    : undefined;
}

function isSurrogate(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdfff;
}

function readULabel(label: string): Label | undefined {
  const characters = [...label];
  if (characters.length > LABEL_CHARACTERS_MAX) return undefined;
  if (!/[^\0-\x7f]/.test(label) || label !== label.normalize("NFC")) return undefined;
  if (/^-|-$/.test(label) || (characters[2] === "-" && characters[3] === "-")) return undefined;
  if (/^\p{M}/u.test(label) || !areValidInContext(characters)) return undefined;
  const sent = encodePunycode(characters.map((character) => character.codePointAt(0)!));
  const sentCharacters = "xn--".length + (sent?.length ?? LABEL_CHARACTERS_MAX);
  return sentCharacters <= LABEL_CHARACTERS_MAX ? { characters, sentCharacters } : undefined;
}
