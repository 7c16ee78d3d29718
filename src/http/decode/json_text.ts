/**
 * Parses JSON text to a value that holds exactly what was sent, or refuses it with the reason.
 *
 * One pass over the text finds what `JSON.parse` would hide: depth, inexact numbers, repeated
 * keys. Only a suspicious text pays for the exact search in `json_fault.ts`. See
 * docs/reference/writing.md.
 */

import {
  ANY_NAMES,
  NAME_CHARACTERS_MAX,
  type NameCost,
  nameCostOf,
  slowNames,
} from "../../domain/json_text/name_cost.ts";
import { countKeys, isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { closingQuote, COLON, isDigit, QUOTE } from "../../domain/json_text/json_characters.ts";
import { limits } from "../../domain/limits.ts";
import { openPieces, type Turns } from "../../domain/fairness/pieces.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { findJsonFault } from "./json_fault.ts";
import { openLong } from "./long_reader.ts";
import { stepLong } from "./json_long.ts";

const BYTE_ORDER_MARK = 0xfeff;
/** Every integer of at most 15 digits is exact, so a shorter literal needs no second look. */
const SAFE_NUMBER_CHARACTERS = 15;

/** Longer texts are parsed in time slices, and so are those with many names. */
export const SHORT_CHARACTERS_MAX = 64 * 1024;

/** The additional input for parsing a text that a client has sent. */
export interface LongParsing {
  readonly turns: Turns;
  /** Requests memory for more values. False: there is none. */
  hold?(nodes: number): boolean | Promise<boolean>;
}

/** Memory is requested for this many values at a time. */
const NODES_AT_ONCE = 50_000;

/**
 * Parses a request's body, or the text that `subject` names, from the blocks that it has arrived
 * in; a long one in time slices, in which the blocks are taken out of the list. 400
 * with the dotted path, if known, and for names that take too long to look up; 413 for a size that
 * no valid request needs; 503 if memory is short.
 */
export function parseJsonText(
  blocks: string[],
  parsing: LongParsing,
  subject = "Request body",
): Outcome<JsonObject> | Promise<Outcome<JsonObject>> {
  if (isLong(blocks)) return parseLong(blocks, parsing, subject);
  const text = blocks.join("");
  const survey = surveyText(text);
  const cost = nameCostOf(parsing.turns);
  if (survey.names > cost.namesAtOnce) return parseLong([text], parsing, subject);
  return parseSurveyed(text, survey, subject, cost);
}

function isLong(blocks: readonly string[]): boolean {
  let characters = 0;
  for (const { length } of blocks) characters += length;
  return characters > SHORT_CHARACTERS_MAX;
}

async function parseLong(
  blocks: string[],
  { turns, hold }: LongParsing,
  subject: string,
): Promise<Outcome<JsonObject>> {
  if (blocks[0]!.charCodeAt(0) === BYTE_ORDER_MARK) return refuseByteOrderMark(subject);
  const reader = openLong(blocks, subject, { cost: nameCostOf(turns) });
  const pieces = openPieces(turns);
  let held = 0;
  for (;;) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    const more = stepLong(reader);
    if (more === false) return accept(reader.root!);
    if (more !== true) return refuse(more);
    if (hold === undefined || reader.nodes - held < NODES_AT_ONCE) continue;
    if (!await hold(reader.nodes - held)) return refuseNoRoom();
    held = reader.nodes;
  }
}

function refuseByteOrderMark(subject: string) {
  return badRequest(`${subject} must not begin with a byte order mark`);
}

/** Parses a short text at once, whatever its keys. */
export function parseJsonObject(text: string, subject = "Request body"): Outcome<JsonObject> {
  return parseSurveyed(text, surveyText(text), subject);
}

function parseSurveyed(
  text: string,
  survey: TextSurvey,
  subject: string,
  cost: NameCost = ANY_NAMES,
): Outcome<JsonObject> {
  if (text.length === 0) return badRequest(`${subject} is empty`);
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) return refuseByteOrderMark(subject);
  // Checked before parsing, so that nothing below recurses deeper than this.
  if (survey.depth > limits.jsonDepthMax) return refuseFault(text, subject);
  let value: JsonValue | undefined;
  try {
    value = cost.parse(text, survey.names);
  } catch {
    return refuseFault(text, subject);
  }
  if (value === undefined) return badRequest(slowNames(subject));
  if (!isJsonObject(value)) return badRequest(`${subject} must be a JSON object`);
  if (survey.doubtfulNumber || survey.keys !== countKeys(value)) {
    const fault = findJsonFault(text);
    if (fault !== undefined) return badRequest(fault.message, fault.path);
  }
  return accept(value);
}

function refuseFault(text: string, subject: string) {
  const fault = findJsonFault(text);
  return badRequest(fault?.message ?? `${subject} is not valid JSON`, fault?.path);
}

function refuseNoRoom() {
  const message = "Too many large request bodies are being read; send this one again";
  return refuse({ kind: "no_room", message });
}

function badRequest(message: string, path?: string) {
  return refuse({ kind: "bad_request", message, path });
}

/** The facts that one pass over a JSON text yields without parsing it. */
export interface TextSurvey {
  /** Colons outside strings: the number of keys, including repeated ones. */
  readonly keys: number;
  /** Keys, and texts as short as names; short keys count twice. */
  readonly names: number;
  readonly depth: number;
  /** Whether a number is so long, or has an exponent, that a double may not hold it. */
  readonly doubtfulNumber: boolean;
}

/** Exact for valid JSON. For any other text the numbers mean nothing, but the pass still ends. */
export function surveyText(text: string): TextSurvey {
  let keys = 0;
  let shortTexts = 0;
  let open = 0;
  let depth = 0;
  let doubtfulNumber = false;
  const end = text.length;
  const hasEscapes = text.includes("\\");
  for (let at = 0; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const close = hasEscapes ? closingQuote(text, at) : text.indexOf('"', at + 1);
      if (close - at <= NAME_CHARACTERS_MAX + 1) shortTexts++;
      at = close < 0 ? end : close;
    } else if (code === COLON) {
      keys++;
    } else if (code >= 0x30 && code <= 0x39) {
      const start = at;
      let next = text.charCodeAt(at + 1);
      while ((next >= 0x30 && next <= 0x39) || next === 0x2e) next = text.charCodeAt(++at + 1);
      if (at - start >= SAFE_NUMBER_CHARACTERS) doubtfulNumber = true;
    } else if (code === 0x7b || code === 0x5b) {
      if (++open > depth) depth = open;
    } else if (code === 0x7d || code === 0x5d) {
      open--;
    } else if (code === 0x65 || code === 0x45) {
      // An exponent follows a digit; the letter e of `true` and `false` does not.
      if (isDigit(text.charCodeAt(at - 1))) doubtfulNumber = true;
    }
  }
  return { keys, names: keys + shortTexts, depth, doubtfulNumber };
}
