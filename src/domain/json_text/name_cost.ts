/**
 * Parses JSON whose keys may have been chosen to be slow.
 *
 * The runtime keeps all keys, and all other texts of up to ten characters, in one hash table. Its
 * hash function has the same seed in every process, so a client can send keys that all have one
 * hash, and each of them then takes as long to find as there are others. Only the clock shows it.
 *
 * So few names are parsed at a time, and the clock is looked at. After some were slow, and until
 * they have probably left the table, nothing enters it unseen: names are looked up in a way that
 * does not add them, and refused if that is slow; short texts are written so that the runtime does
 * not keep them, also those of stored events. See docs/reference/basics.md.
 */

import type { Clock } from "../budget.ts";
import { countKeys, type JsonValue } from "../json.ts";
import { CLOSE_BRACE, CLOSE_BRACKET, closingQuote, COMMA, isSpace } from "./json_characters.ts";
import { parseJson } from "./parse_json.ts";

/** Longer texts are not kept unless they are keys. */
export const NAME_CHARACTERS_MAX = 10;
/** Names that are parsed at once. */
const NAMES_AT_ONCE = 64;
const WARY_MS = 60_000;
/** How many milliseconds a parse, or the look-up of some names, may take: ten times the usual. */
const MS_PER_PARSE = 0.02;
const MS_PER_NAME = 0.003;
const MS_PER_CHARACTER = 0.000_05;
/** It may also be slow because of other work on the machine, so it is tried again. */
const TRIES = 6;

/** Behind this, a text is too long to be kept. */
const LONG = "more than ten";
const NOTHING = {};
const LOOKED_UP_AT_ONCE = 16;
/** The table has at least so many. */
const BUCKETS = 32_768;
/** As many as the powers of two that are short texts, and some more. */
const IN_BUCKET_MAX = 20;
const NUMBER = /^(?:0|[1-9][0-9]*)$/;

const SPACE = 0x20;
const BACKSLASH = 0x5c;

export interface NameCost {
  /** How many names may be parsed at once. */
  readonly namesAtOnce: number;
  /**
   * The value of the text. Undefined: its names take too long to look up.
   * @param names how many it has; its keys are counted if this is absent.
   * @throws SyntaxError
   */
  parse(text: string, names?: number): JsonValue | undefined;
  /** Something was slow, and names may be the reason. */
  beWary(): void;
}

/** For callers that answer for their input: any names, at once. */
export const ANY_NAMES: NameCost = {
  namesAtOnce: Infinity,
  parse: (text) => parseJson(text),
  beWary: () => {},
};

/** Whether stored texts are read with care. There is one table in a process. */
let isWary = false;

/** The value of a text that was accepted before. */
export function parseStored(text: string): JsonValue {
  return parseJson(isWary ? readNames(text).unkept : text);
}

/** One for each clock; a process has one clock, and one table of names. */
const costs = new WeakMap<Clock, NameCost>();

export function nameCostOf(clock: Clock): NameCost {
  const known = costs.get(clock);
  if (known !== undefined) return known;
  const opened = openNameCost(clock);
  costs.set(clock, opened);
  return opened;
}

function openNameCost({ monotonicMs }: Clock): NameCost {
  let waryUntilMs = -Infinity;

  function beWary(): void {
    isWary = true;
    waryUntilMs = monotonicMs() + WARY_MS;
  }

  /** How much longer than it may take a text has been parsed for, whatever its names. */
  function overdueMs(startedMs: number, text: string): number {
    return monotonicMs() - startedMs - MS_PER_PARSE - MS_PER_CHARACTER * text.length;
  }

  function areSlow(names: readonly string[]): boolean {
    const allowedMs = MS_PER_PARSE + MS_PER_NAME * names.length;
    for (let left = TRIES; left > 0; left--) {
      const startedMs = monotonicMs();
      lookUp(names);
      if (monotonicMs() - startedMs <= allowedMs) return false;
    }
    return true;
  }

  function hasSlow(names: readonly string[]): boolean {
    for (let at = 0; at < names.length; at += LOOKED_UP_AT_ONCE) {
      if (areSlow(names.slice(at, at + LOOKED_UP_AT_ONCE))) return true;
    }
    return false;
  }

  /**
   * Whether the names of a text that was slow are the reason: many values, or other work on the
   * machine, may be. So the names are parsed again without the rest.
   */
  function staySlow({ names, numbers }: NamedText): boolean {
    const text = namesAlone(names, numbers);
    const allowedMs = MS_PER_NAME * (names.length + numbers.length);
    for (let left = allowedMs > 0 ? TRIES : 0; left > 0; left--) {
      const startedMs = monotonicMs();
      JSON.parse(text);
      if (overdueMs(startedMs, text) <= allowedMs) return false;
    }
    return allowedMs > 0;
  }

  function parseWarily(text: string): JsonValue | undefined {
    const { names, numbers, unkept } = readNames(text);
    if (!hasSlow(names) && !shareBucket(numbers)) return parseJson(unkept);
    beWary();
    return undefined;
  }

  return {
    namesAtOnce: NAMES_AT_ONCE,
    parse(text, names) {
      const startedMs = monotonicMs();
      if (startedMs < waryUntilMs) return parseWarily(text);
      isWary = false;
      let value: JsonValue;
      try {
        value = parseJson(text);
      } catch (error) {
        // Even so, its names are in the table.
        if (overdueMs(startedMs, text) > MS_PER_NAME * (names ?? 0)) beWary();
        throw error;
      }
      const overMs = overdueMs(startedMs, text);
      if (overMs <= 0 || overMs <= MS_PER_NAME * (names ?? countKeys(value))) return value;
      if (!staySlow(readNames(text))) return value;
      beWary();
      return undefined;
    },
    beWary,
  };
}

/** The text of a refusal for names that cost too much. */
export function slowNames(subject: string): string {
  return `${subject} has keys or short texts that collide in the table of all names, so that each ` +
    "takes as long to find as there are others: send others";
}

/** A JSON text that has these names and not much else. Numbers are texts here, too. */
function namesAlone(names: readonly string[], numbers: readonly number[]): string {
  const keys = names.map((name) => `${JSON.stringify(name)}:0`);
  return `[{${keys.join()}},${JSON.stringify(numbers.map(String))}]`;
}

/** Unlike reading a property, this adds no name to the table. */
function lookUp(names: readonly string[]): number {
  let found = 0;
  for (const name of names) if (Object.hasOwn(NOTHING, name)) found++;
  return found;
}

/**
 * Whether many different numbers, written as texts, are in one bucket of the table: it has a power
 * of two of them. Such texts cannot be looked up without adding them, but their hash is known.
 */
function shareBucket(numbers: readonly number[]): boolean {
  const counts = new Map<number, number>();
  for (const number of new Set(numbers)) {
    const count = (counts.get(number % BUCKETS) ?? 0) + 1;
    if (count > IN_BUCKET_MAX + numbers.length / 64) return true;
    counts.set(number % BUCKETS, count);
  }
  return false;
}

interface NamedText {
  /** Keys, and short texts that are not numbers, in order. */
  readonly names: string[];
  /** Those that are. */
  readonly numbers: number[];
  /** The same JSON with short texts written so that the runtime does not keep them. */
  readonly unkept: string;
}

/** Of a text that is not JSON, what stands before its first fault. */
function readNames(text: string): NamedText {
  const names: string[] = [];
  const numbers: number[] = [];
  let unkept = "";
  let copied = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) {
    const open = at;
    at = closingQuote(text, open);
    if (!isValue(text, at + 1)) names.push(nameOf(text.slice(open, at + 1)));
    else if (at - open > 1 && at - open <= NAME_CHARACTERS_MAX + 1) {
      const first = text.charCodeAt(open + 1);
      // A text with any escape is not kept. A control character is malformed, and must remain so.
      if (first === BACKSLASH || first < SPACE) continue;
      const short = cut(text, open + 1, at);
      if (NUMBER.test(short)) numbers.push(Number(short));
      else names.push(short);
      unkept += `${text.slice(copied, open + 1)}\\u${first.toString(16).padStart(4, "0")}`;
      copied = open + 2;
    }
  }
  return { names, numbers, unkept: unkept + text.slice(copied) };
}

/** Whether the string that ends before `at` is surely no key. */
function isValue(text: string, at: number): boolean {
  while (isSpace(text.charCodeAt(at))) at++;
  const code = text.charCodeAt(at);
  return code === COMMA || code === CLOSE_BRACKET || code === CLOSE_BRACE;
}

/** The name that is written like this, cut out in a way that does not add it to the table. */
function nameOf(literal: string): string {
  if (!literal.includes("\\")) return cut(literal, 1, literal.length - 1);
  try {
    const long: string = JSON.parse(`"${LONG}${literal.slice(1)}`);
    return cut(long, LONG.length, long.length);
  } catch {
    return "";
  }
}

/** As `slice`, of whose results the runtime keeps those of two characters. */
function cut(text: string, from: number, to: number): string {
  if (to - from !== 2) return text.slice(from, to);
  return String.fromCharCode(text.charCodeAt(from), text.charCodeAt(from + 1));
}
