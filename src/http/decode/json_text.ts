/**
 * Parses JSON text to a value that holds exactly what was sent, or refuses it with the reason.
 *
 * One pass over the text finds what `JSON.parse` would hide: depth, inexact numbers, repeated
 * keys. Only a suspicious text pays for the exact search in `json_fault.ts`. See
 * docs/reference/writing.md.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { openPieces, type Turns } from "../../domain/fairness/pieces.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { findJsonFault } from "./json_fault.ts";
import { openLong, stepLong } from "./json_long.ts";
import { countKeys, surveyText } from "./json_survey.ts";

const BYTE_ORDER_MARK = 0xfeff;

/** Longer texts are parsed in time slices. */
export const SHORT_CHARACTERS_MAX = 64 * 1024;

/** The additional input for parsing a long text. */
export interface LongParsing {
  readonly turns: Turns;
  /** Requests memory for more values. False: there is none. */
  hold?(nodes: number): boolean | Promise<boolean>;
}

/** Memory is requested for this many values at a time. */
const NODES_AT_ONCE = 50_000;

/**
 * Parses a request's body, or the text that `subject` names; a long one in time slices. 400
 * with the dotted path, if known; 413 for a size that no valid request needs; 503 if memory is
 * short.
 */
export function parseJsonText(
  text: string,
  parsing: LongParsing,
  subject = "Request body",
): Outcome<JsonObject> | Promise<Outcome<JsonObject>> {
  return text.length <= SHORT_CHARACTERS_MAX
    ? parseJsonObject(text, subject)
    : parseLong(text, parsing, subject);
}

async function parseLong(
  text: string,
  { turns, hold }: LongParsing,
  subject: string,
): Promise<Outcome<JsonObject>> {
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) return refuseByteOrderMark(subject);
  const reader = openLong(text, subject);
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

/** Parses a short text at once. */
export function parseJsonObject(text: string, subject = "Request body"): Outcome<JsonObject> {
  if (text.length === 0) return badRequest(`${subject} is empty`);
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) return refuseByteOrderMark(subject);
  const survey = surveyText(text);
  // Checked before parsing, so that nothing below recurses deeper than this.
  if (survey.depth > limits.jsonDepthMax) return refuseFault(text, subject);
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    return refuseFault(text, subject);
  }
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
