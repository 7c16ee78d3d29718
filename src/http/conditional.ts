/**
 * Answers that a client may cache and revalidate.
 *
 * Each carries a tag of its content. A client that sends the tag of its copy gets 304 without a
 * body. Shared caches must not keep them, since they were read with a key. See
 * docs/reference/basics.md.
 */

import { crc32 } from "node:zlib";
import { runInPieces, type Steps } from "../domain/fairness/pieces.ts";
import { sendLength, sendParts } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Part } from "./long_answer.ts";

/** Hashing a slice takes some tenths of a millisecond of this thread. */
const PIECE_LENGTH = 256 * 1024;

/**
 * Sends a JSON body under its tag, or 304 if the client has it. `version` identifies the
 * content if known; otherwise the tag is computed from the text.
 */
export function sendTagged(
  call: Call,
  parts: readonly Part[],
  version?: string,
): Response | Promise<Response> {
  if (version !== undefined) return sendUnder(call, parts, `W/"${version}"`);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  // Most bodies are short: one text has one checksum, and is sent as it is.
  if (length <= PIECE_LENGTH && parts.every((part) => typeof part === "string")) {
    const whole = parts.join("");
    return sendUnder(call, [whole], tagOf(length, crc32(whole)));
  }
  const tag = runInPieces(tagSteps(parts, length), call.host);
  return typeof tag === "string"
    ? sendUnder(call, parts, tag)
    : tag.then((made) => sendUnder(call, parts, made));
}

/**
 * The answer without a body, to `HEAD` and to a client that has the content. Undefined: the body is
 * wanted, and the caller makes it. `bytes` is its length.
 */
export function sendBare(call: Call, version: string, bytes: number): Response | undefined {
  const tag = `W/"${version}"`;
  if (isKnown(call, tag)) return sendUnchanged(call, tag);
  if (call.request.method !== "HEAD") return undefined;
  return sendLength(call.requestId, bytes, headersOf(tag));
}

function sendUnder(call: Call, parts: readonly Part[], tag: string): Response {
  if (isKnown(call, tag)) return sendUnchanged(call, tag);
  return sendParts(call.requestId, parts, headersOf(tag));
}

function isKnown({ request }: Call, tag: string): boolean {
  const asked = request.headers.get("if-none-match");
  return asked !== null && names(asked, tag);
}

function headersOf(tag: string) {
  return { etag: tag, "cache-control": "private, no-cache", vary: "Authorization" };
}

function sendUnchanged({ requestId }: Call, tag: string): Response {
  const common = { "x-request-id": requestId, "access-control-allow-origin": "*" };
  return new Response(null, { status: 304, headers: { ...common, ...headersOf(tag) } });
}

/** A longer `If-None-Match` is not read: its sender gets the whole answer. */
const TAGS_CHARACTERS_MAX = 4096;

/** Whether `If-None-Match` names the tag, by weak comparison (RFC 9110, section 13.1.2). */
function names(header: string, tag: string): boolean {
  if (header.length > TAGS_CHARACTERS_MAX) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((one) => one.trim().replace(/^W\//, "") === tag.slice(2));
}

/**
 * A weak tag of the content, whatever its coding. Successive texts of one address differ in
 * their length or, except for one case in 2^32, in their checksum.
 */
function tagOf(length: number, sum: number): string {
  return `W/"${length.toString(36)}-${sum.toString(36)}"`;
}

function* tagSteps(parts: readonly Part[], length: number): Steps<string> {
  let sum = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE_LENGTH) {
      yield;
      const end = at + PIECE_LENGTH;
      sum = crc32(typeof part === "string" ? part.slice(at, end) : part.subarray(at, end), sum);
    }
  }
  return tagOf(length, sum);
}
