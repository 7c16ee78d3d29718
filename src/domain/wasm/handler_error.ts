/**
 * The `error` object with which a module refuses an event.
 *
 * It becomes the body of a 422 answer unchanged, so its shape and size are checked. See
 * docs/reference/modules.md.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";

export interface HandlerError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly context?: JsonObject;
}

export type HandlerErrorReading =
  | { readonly ok: true; readonly error: HandlerError }
  | { readonly ok: false; readonly message: string };

/**
 * Optional fields may be `null`, because many languages write absent fields that way. Unknown
 * fields are dropped.
 */
export function readHandlerError(value: JsonValue): HandlerErrorReading {
  if (!isJsonObject(value)) return fault("`error` must be an object");
  const { type, message, code, context } = value;
  if (typeof type !== "string" || type === "") return fault("`error.type` must be a string");
  if (typeof message !== "string") return fault("`error.message` must be a string");
  if (!isAbsent(code) && typeof code !== "string") return fault("`error.code` must be a string");
  if (!isAbsent(context) && !isJsonObject(context)) {
    return fault("`error.context` must be an object");
  }
  const error: HandlerError = {
    type,
    message,
    ...(isAbsent(code) ? {} : { code: code as string }),
    ...(isAbsent(context) ? {} : { context: context as JsonObject }),
  };
  const limit = limits.wasmErrorBytesMax;
  const bytes = new TextEncoder().encode(JSON.stringify(error)).length;
  if (bytes > limit) return fault(`\`error\` has ${bytes} bytes, at most ${limit} are allowed`);
  return { ok: true, error };
}

function isAbsent(value: JsonValue | undefined): boolean {
  return value === undefined || value === null;
}

function fault(message: string): HandlerErrorReading {
  return { ok: false, message };
}
