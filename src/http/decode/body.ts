/**
 * A request's body as a JSON object: content type, size, encoding and JSON, in the decided order.
 * The size is enforced while reading, so that a body without Content-Length cannot fill memory.
 */

import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type Deadlines, openDeadlines } from "../deadlines.ts";
import { parseJsonObject } from "./json_text.ts";

/** Keeps a byte order mark, so that it is seen and refused instead of dropped. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const JSON_TYPE = "application/json";
const DECIMAL = /^[0-9]+$/;
/** A body declared no longer than this is read in one piece, which is quicker. */
const BYTES_AT_ONCE_MAX = 64 * 1024;

/** Refuses with 400 what is no JSON object, 413 what is too large, 408 what takes too long. */
export function readJsonBody(
  request: Request,
  bytesMax: number = limits.requestBodyBytesMax,
  secondsMax: number = limits.requestBodySecondsMax,
): Outcome<JsonObject> | Promise<Outcome<JsonObject>> {
  const type = checkContentType(request.headers.get("content-type"));
  if (!type.ok) return type;
  const coding = request.headers.get("content-encoding");
  if (coding !== null && coding !== "identity") {
    return badRequest("Content-Encoding is not supported; send the body as it is");
  }
  return readBytes(request, bytesMax, secondsMax).then(parseRead);
}

/** As {@link readJsonBody}, but a body may be left out: then it is an object without fields. */
export async function readOptionalJsonBody(request: Request): Promise<Outcome<JsonObject>> {
  const { requestBodyBytesMax, requestBodySecondsMax } = limits;
  const bytes = await readBytes(request, requestBodyBytesMax, requestBodySecondsMax);
  if (bytes.ok && bytes.value.length === 0) return accept({});
  const type = checkContentType(request.headers.get("content-type"));
  return type.ok ? parseRead(bytes) : type;
}

function parseRead(bytes: Outcome<Uint8Array>): Outcome<JsonObject> {
  if (!bytes.ok) return bytes;
  let text: string;
  try {
    text = utf8.decode(bytes.value);
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

/** One for each length of time that is asked for; servers ask for one. */
const deadlinesBySeconds = new Map<number, Deadlines>();

export function deadlinesOf(seconds: number): Deadlines {
  const known = deadlinesBySeconds.get(seconds);
  if (known !== undefined) return known;
  const opened = openDeadlines(seconds);
  deadlinesBySeconds.set(seconds, opened);
  return opened;
}

/** The body as it came: 413 for what is too large, 408 for what takes too long. */
export function readRawBody(request: Request, bytesMax: number): Promise<Outcome<Uint8Array>> {
  return readBytes(request, bytesMax, limits.requestBodySecondsMax);
}

/** After this a body is late: whoever sends it so slowly is not waited for by others. */
const LATE_SECONDS = 0.25;
const latenesses = openDeadlines(LATE_SECONDS);
let late = 0;

/** How many bodies are late now, in this process: their requests wait for clients alone. */
export function lateBodies(): number {
  return late;
}

/** Whole or within its time; a client that stops sending must not hold its connection for ever. */
function readBytes(
  request: Request,
  bytesMax: number,
  seconds: number,
): Promise<Outcome<Uint8Array>> {
  return new Promise((resolve) => {
    let endDeadline: (() => void) | undefined;
    // Nearly every body is here long before it is late, and so needs but one of the two.
    const endLateness = latenesses.start(() => {
      late++;
      const left = Math.max(0, seconds - LATE_SECONDS);
      endDeadline = deadlinesOf(left).start(() => settle(refuse({ kind: "body_late", seconds })));
    });
    function settle(outcome: Outcome<Uint8Array>): void {
      endLateness();
      if (endDeadline !== undefined) late--;
      endDeadline?.();
      endDeadline = undefined;
      resolve(outcome);
    }
    readWhole(request, bytesMax).then(settle);
  });
}

/**
 * Takes a body that nobody has read from the connection: the server closes one whose request is not
 * over when its answer is, and the client's next request would be lost. One that has not come by
 * then closes it all the same.
 */
export function leaveBody(request: Request): void {
  if (request.method === "GET" || request.method === "HEAD" || request.bodyUsed) return;
  const header = request.headers.get("content-length");
  const isSmall = header !== null && DECIMAL.test(header) && Number(header) <= BYTES_AT_ONCE_MAX;
  // Reading a small one costs half as much as saying that it is not wanted.
  const left = isSmall ? request.bytes() : request.body?.cancel();
  left?.catch(() => {});
}

/** Never rejects. */
function readWhole(request: Request, bytesMax: number): Promise<Outcome<Uint8Array>> {
  const header = request.headers.get("content-length");
  const declared = header !== null && DECIMAL.test(header) ? Number(header) : undefined;
  if (declared !== undefined && declared > bytesMax) return Promise.resolve(tooLarge(bytesMax));
  // The runtime sets memory aside for all that is declared, before any of it has come.
  if (declared === undefined || declared > BYTES_AT_ONCE_MAX) {
    return readStream(request, bytesMax).catch(refuseEnded);
  }
  // The server enforces a declared length, and refuses one that has chunks beside it.
  return request.bytes().then(
    (bytes) => bytes.length > bytesMax ? tooLarge(bytesMax) : accept(bytes),
    refuseEnded,
  );
}

function refuseEnded() {
  return badRequest("Request body ended before it was complete");
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
