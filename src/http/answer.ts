/**
 * Turns answers into `Response` objects: JSON text, status, and the headers common to all.
 *
 * Answers are compressed for clients that accept it: complete texts at once, with Brotli or gzip;
 * streamed answers piece by piece, with gzip. Both use the fastest level, because they run on the
 * thread that all requests share. See docs/reference/basics.md.
 */

import { Buffer } from "node:buffer";
import { LONG_ANSWER_BYTES_MIN, longAnswer, type Part } from "./long_answer.ts";
import { brotliCompressSync, constants, createGzip, gzipSync } from "node:zlib";
import type { Host } from "../host.ts";

/** For answers of the moment. */
export const NOT_KEPT = { "cache-control": "no-store" };

/** Sends prepared JSON text. Every answer carries the request id and the CORS origin. */
export function sendText(
  requestId: string,
  status: number,
  json: string,
  headers?: Record<string, string>,
): Response {
  const response = json.length < LONG_ANSWER_BYTES_MIN
    ? shortAnswer(json, status)
    : mayCompress(longAnswer([json], status));
  return withHeaders(response, requestId, headers);
}

/** Sends prepared JSON in parts; long ones are never joined. */
export function sendParts(
  requestId: string,
  parts: readonly Part[],
  headers?: Record<string, string>,
): Response {
  const [first] = parts;
  if (parts.length === 1 && typeof first === "string") {
    return sendText(requestId, 200, first, headers);
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const response = length < LONG_ANSWER_BYTES_MIN
    ? shortAnswer(joined(parts), 200)
    : mayCompress(longAnswer(parts, 200));
  return withHeaders(response, requestId, headers);
}

/** The answer to `HEAD` with the length of a body that is not made. */
export function sendLength(
  requestId: string,
  bytes: number,
  headers?: Record<string, string>,
): Response {
  const response = new Response(null, { headers: { "content-length": String(bytes) } });
  if (bytes >= COMPRESS_BYTES_MIN) mayCompress(response);
  return withHeaders(response, requestId, headers);
}

function shortAnswer(body: Part, status: number): Response {
  const response = new Response(body, { status });
  return body.length < COMPRESS_BYTES_MIN ? response : mayCompress(response, body);
}

function joined(parts: readonly Part[]): Part {
  if (parts.length === 1) return parts[0]!;
  if (parts.every((part) => typeof part === "string")) return parts.join("");
  return Buffer.concat(parts.map((part) => typeof part === "string" ? Buffer.from(part) : part));
}

function withHeaders(
  response: Response,
  requestId: string,
  headers: Record<string, string> | undefined,
): Response {
  // Setting headers one by one is cheaper than passing them all to the constructor.
  const all = response.headers;
  all.set("content-type", "application/json");
  all.set("x-request-id", requestId);
  all.set("access-control-allow-origin", "*");
  for (const name in headers) all.set(name, headers[name]!);
  return response;
}

/** Sends `body` with `ok: true` before its fields. */
export function sendOk(requestId: string, body: object, status = 200): Response {
  return sendText(requestId, status, JSON.stringify({ ok: true, ...body }));
}

/** 204: there is nothing to say now. */
export function sendNothing(requestId: string): Response {
  const headers = { "x-request-id": requestId, "access-control-allow-origin": "*", ...NOT_KEPT };
  return new Response(null, { status: 204, headers });
}

/** The same answer without its body but with its length, for `HEAD`. */
export async function withoutBody(response: Response): Promise<Response> {
  const { status, headers, body } = response;
  if (headers.has("content-length")) await body?.cancel();
  else if (body !== null) headers.set("content-length", String(await lengthOf(body)));
  return new Response(null, { status, headers });
}

/** Keeps nothing of it: a backup has no length that memory must take. */
async function lengthOf(body: ReadableStream<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const chunk of body) length += chunk.length;
  return length;
}

/** Shorter answers gain nothing. */
export const COMPRESS_BYTES_MIN = 1024;

type Coding = "br" | "gzip";
const CODINGS: readonly Coding[] = ["br", "gzip"];

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const GZIP = { level: 1 };
/** A stream may wait long for its client; with these settings it holds about 64 KiB. */
const GZIP_STREAM = { level: 1, windowBits: 13, memLevel: 6 };

/** Bodies worth compressing: the whole body, or undefined for a streamed one. */
const bodies = new WeakMap<Response, Part | undefined>();

/** Marks an answer as compressible. */
export function mayCompress(response: Response, whole?: Part): Response {
  bodies.set(response, whole);
  return response;
}

/** The same answer in a coding that `request` accepts, if compression is worthwhile. */
export function compress(response: Response, request: Request): Response {
  if (!bodies.has(response)) return response;
  const whole = bodies.get(response);
  const { status, headers } = response;
  headers.append("vary", "Accept-Encoding");
  // The length of the coded body is not worth computing it.
  if (request.method === "HEAD") return response;
  const coding = chooseCoding(request.headers.get("accept-encoding"), whole !== undefined);
  if (coding === undefined) return response;
  headers.set("content-encoding", coding);
  headers.delete("content-length");
  const body = whole === undefined
    ? response.body!.pipeThrough(gzipStream())
    : compressWhole(whole, coding);
  return new Response(body, { status, headers });
}

/** Bodies that many answers share are compressed once. */
const coded = new WeakMap<Uint8Array, Map<Coding, Uint8Array<ArrayBuffer>>>();

function compressWhole(body: Part, coding: Coding): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return compressBytes(Buffer.from(body), coding);
  const codings = coded.get(body) ?? new Map<Coding, Uint8Array<ArrayBuffer>>();
  coded.set(body, codings);
  const made = codings.get(coding) ?? compressBytes(body, coding);
  codings.set(coding, made);
  return made;
}

function compressBytes(bytes: Uint8Array, coding: Coding): Uint8Array<ArrayBuffer> {
  const made = coding === "br" ? brotliCompressSync(bytes, BROTLI) : gzipSync(bytes, GZIP);
  return new Uint8Array(made.buffer as ArrayBuffer, made.byteOffset, made.length);
}

/** A longer `Accept-Encoding` is not read: the answer goes as it is, which each client accepts. */
const CODINGS_CHARACTERS_MAX = 1024;

/**
 * The coding of `Accept-Encoding` (RFC 9110, section 12.5.3) with the highest weight; Brotli if
 * tied.
 */
function chooseCoding(header: string | null, isWhole: boolean): Coding | undefined {
  if (header === null || header.length > CODINGS_CHARACTERS_MAX) return undefined;
  const named = header.toLowerCase().split(",").map(readWeight);
  const weightOf = (coding: string) => named.findLast(([name]) => name === coding)?.[1];
  const offered = isWhole ? CODINGS : CODINGS.filter((coding) => coding === "gzip");
  let best: Coding | undefined;
  let bestWeight = 0;
  for (const coding of offered) {
    const weight = weightOf(coding) ?? weightOf("*") ?? 0;
    if (weight <= bestWeight) continue;
    best = coding;
    bestWeight = weight;
  }
  return best;
}

/** A part of a list with weights, in lowercase. A weight that is none counts as zero. */
export function readWeight(part: string): [name: string, weight: number] {
  const [name = "", ...params] = part.split(";").map((text) => text.trim());
  const given = params.find((text) => text.startsWith("q="))?.slice(2);
  const weight = given === undefined ? 1 : Number(given);
  return [name, weight >= 0 && weight <= 1 ? weight : 0];
}

function gzipStream(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const gzip = createGzip(GZIP_STREAM);
  return new TransformStream({
    start(controller) {
      gzip.on("data", (piece: Uint8Array<ArrayBuffer>) => controller.enqueue(piece));
      gzip.on("error", (error) => controller.error(error));
    },
    transform: (piece) => new Promise((resolve) => gzip.write(piece, () => resolve())),
    flush: () =>
      new Promise((resolve) => {
        gzip.on("end", resolve);
        gzip.end();
      }),
    cancel: () => void gzip.destroy(),
  });
}

const ID_CHARACTERS = 32;
const ID_BYTES = ID_CHARACTERS / 2;
/**
 * Ids are drawn and encoded in bulk, because a system call for each request costs more than the
 * id: docs/internals/optimisations.md. The pool is small, because each id is a slice that keeps
 * the pool's whole text in memory.
 */
const POOL_BYTES = 64 * ID_BYTES;
const CLIENT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Returns the `x-request-id` of each answer from that header of the request: the client's own if
 * it is valid, otherwise 32 random hex digits.
 */
export function createRequestIds(host: Host): (header: string | null) => string {
  let pool = "";
  let at = 0;
  return (header) => {
    if (header !== null && CLIENT_ID.test(header)) return header;
    if (at >= pool.length) {
      pool = host.randomBytes(POOL_BYTES).toHex();
      at = 0;
    }
    at += ID_CHARACTERS;
    return pool.slice(at - ID_CHARACTERS, at);
  };
}
