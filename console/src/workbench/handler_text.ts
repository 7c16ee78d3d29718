/** The text of a handler as JSON, or why it is none. */

import type { JsonValue } from "../../../src/domain/json.ts";
import { numberFault, readJsonText, type TextFault } from "../spec/spec_text.ts";

export type HandlerText =
  | { readonly ok: true; readonly definition: JsonValue }
  | { readonly ok: false; readonly error: string };

/** As long as a whole spec may be. */
const TEXT_CHARACTERS_MAX = 1_048_576;

/** A number that would become another one is a fault: the server would not see what was typed. */
export function readHandlerText(text: string): HandlerText {
  if (text.length > TEXT_CHARACTERS_MAX) {
    return { ok: false, error: "The text is too long for a handler." };
  }
  const read = readJsonText(text);
  const fault = read.ok ? numberFault(text, read.root) : read.fault;
  if (fault !== undefined) return { ok: false, error: withLine(text, fault) };
  return { ok: true, definition: (read as { value: JsonValue }).value };
}

function withLine(text: string, { from, message }: TextFault): string {
  const line = text.slice(0, from).split("\n").length;
  return `Line ${line}: ${message}`;
}
