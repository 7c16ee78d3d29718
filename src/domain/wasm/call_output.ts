/**
 * Turns the bytes that a module returned into a checked value.
 *
 * Output that does not have exactly the required form is `invalid_output`. See
 * docs/reference/modules.md.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { ANY_NAMES, type NameCost, slowNames } from "../json_text/name_cost.ts";
import { limits } from "../limits.ts";
import { readActions } from "./action_output.ts";
import { type HandlerError, readHandlerError } from "./handler_error.ts";

/** What the call was for: `state`, `actions`, or `context` in transform mode. */
export type OutputKind = "state" | "actions" | "context";

export type OutputReading =
  /** The requested value as JSON text. */
  | { readonly kind: "value"; readonly json: string }
  | { readonly kind: "error"; readonly error: HandlerError }
  | { readonly kind: "invalid"; readonly message: string };

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Texts that may contain a number beyond the range of a double. */
const HUGE_NUMBER = /[0-9][eE]\+?0*[0-9]{3}|[0-9]{300}/;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Never throws. `bytes` is the range that the module named; it is not kept. */
export function readOutput(
  bytes: Uint8Array,
  kind: OutputKind,
  cost: NameCost = ANY_NAMES,
): OutputReading {
  const limit = limits.wasmOutputBytesMax;
  if (bytes.length === 0) return invalid("it is empty");
  if (bytes.length > limit) return invalid(`${bytes.length} bytes, at most ${limit} are allowed`);
  if (nestingDepth(bytes) > limits.stateDepthMax) {
    return invalid(`it nests deeper than ${limits.stateDepthMax} levels`);
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return invalid("it is not UTF-8");
  }
  let value: JsonValue | undefined;
  try {
    value = cost.parse(text);
  } catch {
    return invalid("it is not JSON");
  }
  if (value === undefined) return invalid(slowNames("it"));
  if (HUGE_NUMBER.test(text) && !isFinite(value)) {
    return invalid("it has a number beyond the range of a double");
  }
  return readFields(value, kind);
}

function readFields(value: JsonValue, kind: OutputKind): OutputReading {
  if (!isJsonObject(value)) return invalid("it is not an object");
  const error = own(value, "error");
  if (error !== undefined && error !== null) {
    const reading = readHandlerError(error);
    return reading.ok ? { kind: "error", error: reading.error } : invalid(reading.message);
  }
  const wanted = own(value, kind);
  if (wanted === undefined) return invalid(`\`${kind}\` is missing`);
  if (kind === "actions") {
    const actions = readActions(wanted);
    return actions.ok
      ? { kind: "value", json: JSON.stringify(actions.actions) }
      : invalid(actions.message);
  }
  if (!isJsonObject(wanted)) return invalid(`\`${kind}\` must be an object`);
  return { kind: "value", json: JSON.stringify(wanted) };
}

function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * How deep brackets nest outside of strings. For bytes that are not JSON the result is
 * meaningless.
 */
function nestingDepth(bytes: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (isInString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === 0x7b || byte === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return deepest;
}

/** Whether every number in `value` is finite. Iterative, because values may nest deep. */
function isFinite(value: JsonValue): boolean {
  const left: JsonValue[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === "number" && !Number.isFinite(next)) return false;
    if (typeof next !== "object" || next === null) continue;
    for (const inner of Object.values(next)) left.push(inner);
  }
  return true;
}

function invalid(reason: string): OutputReading {
  return { kind: "invalid", message: `The output is not what a module must return: ${reason}` };
}
