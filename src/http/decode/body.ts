/**
 * A request's body as a JSON object: content type, size, encoding and JSON, in the decided order.
 * The size is enforced while reading, so that a body without Content-Length cannot fill memory.
 */

import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { parseJsonObject } from "./json_text.ts";

/** Keeps a byte order mark, so that it is seen and refused instead of dropped. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const JSON_TYPE = "application/json";
const DECIMAL = /^[0-9]+$/;

/** Refuses with 400 what is no JSON object, with 413 what is larger than `bytesMax`. */
export async function readJsonBody(
  request: Request,
  bytesMax: number = limits.requestBodyBytesMax,
): Promise<Outcome<JsonObject>> {
  const type = checkContentType(request.headers.get("content-type"));
  if (!type.ok) return type;
  const bytes = await readBytes(request, bytesMax);
  return bytes.ok ? parseBytes(bytes.value) : bytes;
}

/** As {@link readJsonBody}, but a body may be left out: then it is an object without fields. */
export async function readOptionalJsonBody(request: Request): Promise<Outcome<JsonObject>> {
  const bytes = await readBytes(request, limits.requestBodyBytesMax);
  if (bytes.ok && bytes.value.length === 0) return accept({});
  const type = checkContentType(request.headers.get("content-type"));
  if (!type.ok) return type;
  return bytes.ok ? parseBytes(bytes.value) : bytes;
}

function parseBytes(bytes: Uint8Array): Outcome<JsonObject> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return badRequest("Request body is not valid UTF-8");
  }
  return parseJsonObject(text);
}

function badRequest(message: string) {
  return refuse({ kind: "bad_request", message });
}

/** `application/json`, with any parameters, but no other charset than UTF-8. */
export function checkContentType(header: string | null): Outcome<void> {
  if (header === JSON_TYPE) return accept(undefined);
  const [type = "", ...parameters] = (header ?? "").split(";");
  if (type.trim().toLowerCase() !== JSON_TYPE) {
    return badRequest(`Content-Type must be ${JSON_TYPE}`);
  }
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=");
    if (name.trim().toLowerCase() !== "charset") continue;
    const charset = value.trim().replaceAll('"', "").toLowerCase();
    if (charset !== "utf-8" && charset !== "utf8") {
      return badRequest("Content-Type charset must be utf-8");
    }
  }
  return accept(undefined);
}

async function readBytes(request: Request, bytesMax: number): Promise<Outcome<Uint8Array>> {
  const declared = request.headers.get("content-length");
  if (declared !== null && DECIMAL.test(declared) && Number(declared) > bytesMax) {
    return tooLarge(bytesMax);
  }
  try {
    if (declared === null) return await readStream(request, bytesMax);
    // The server enforces a declared length, and refuses one that has chunks beside it.
    const bytes = await request.bytes();
    return bytes.length > bytesMax ? tooLarge(bytesMax) : accept(bytes);
  } catch {
    return badRequest("Request body ended before it was complete");
  }
}

async function readStream(request: Request, bytesMax: number): Promise<Outcome<Uint8Array>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early cancels the stream.
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > bytesMax) return tooLarge(bytesMax);
    chunks.push(chunk);
  }
  if (chunks.length === 1) return accept(chunks[0]!);
  const joined = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return accept(joined);
}

function tooLarge(limit: number) {
  const message = `Request body exceeds ${limit} bytes`;
  return refuse({ kind: "payload_too_large", message, limit });
}
