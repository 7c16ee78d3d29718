/** A folded state as JSON text. */

import { Buffer } from "node:buffer";
import type { JsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";

/** Refused when it is larger than a state may be. */
export function encodeState(state: JsonObject): Outcome<string> {
  const json = JSON.stringify(state);
  const limit = limits.stateBytesMax;
  // No character takes more than three bytes, so most states need not be counted.
  const bytes = json.length * 3 <= limit ? 0 : Buffer.byteLength(json);
  if (bytes <= limit) return accept(json);
  const message = `The state is ${bytes} bytes of JSON, more than the ${limit} a state may have`;
  return refuse({ kind: "fold_budget_exceeded", message, bytes, limit });
}
