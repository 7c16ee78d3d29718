/**
 * Compresses answers for clients that accept it.
 *
 * Complete texts are compressed at once, with Brotli or gzip; streamed answers piece by piece,
 * with gzip. Both use the fastest level, because they run on the thread that all requests
 * share. See docs/reference/basics.md.
 */

import { Buffer } from "node:buffer";
import type { Part } from "./long_answer.ts";
import { brotliCompressSync, constants, createGzip, gzipSync } from "node:zlib";

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

function compressWhole(body: Part, coding: Coding): Uint8Array<ArrayBuffer> {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const coded = coding === "br" ? brotliCompressSync(bytes, BROTLI) : gzipSync(bytes, GZIP);
  return new Uint8Array(coded.buffer as ArrayBuffer, coded.byteOffset, coded.length);
}

/**
 * The coding of `Accept-Encoding` (RFC 9110, section 12.5.3) with the highest weight; Brotli if
 * tied.
 */
function chooseCoding(header: string | null, isWhole: boolean): Coding | undefined {
  if (header === null) return undefined;
  const weights = new Map(header.toLowerCase().split(",").map(readWeight));
  const offered = isWhole ? CODINGS : CODINGS.filter((coding) => coding === "gzip");
  let best: Coding | undefined;
  let bestWeight = 0;
  for (const coding of offered) {
    const weight = weights.get(coding) ?? weights.get("*") ?? 0;
    if (weight <= bestWeight) continue;
    best = coding;
    bestWeight = weight;
  }
  return best;
}

function readWeight(part: string): [name: string, weight: number] {
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
