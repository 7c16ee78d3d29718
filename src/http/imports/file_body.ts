/**
 * Reads a body that is a file of lines, piece by piece.
 *
 * The file is never in memory as a whole, and it is read only as fast as it is consumed. A
 * complete file is distinguished from one that was cut off.
 */

import { limits } from "../../domain/limits.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../../domain/refusal.ts";
import { deadlinesOf, openBody } from "../decode/body_bytes.ts";

const NDJSON_TYPE = "application/x-ndjson";

const UNSIZED = "Transfer-Encoding: chunked is not supported here; send the file with its " +
  "Content-Length";

/**
 * 400 for another type, for a content coding, and for a chunked body. The runtime buffers a
 * chunked body as it arrives, however slowly it is consumed, so the whole file could end up in
 * memory. A body with a declared length is read on demand.
 */
export function checkFileHeaders(headers: Headers): Outcome<void> {
  const type = (headers.get("content-type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (type !== NDJSON_TYPE) return badRequest(`Content-Type must be ${NDJSON_TYPE}`);
  const coding = headers.get("content-encoding");
  if (coding !== null && coding !== "identity") {
    return badRequest("Content-Encoding is not supported; send the body as it is");
  }
  if (headers.has("transfer-encoding")) return badRequest(UNSIZED);
  const length = Number(headers.get("content-length") ?? 0);
  return length > limits.importBytesMax ? tooLarge() : ACCEPTED;
}

const PIECE_BYTES = 64 * 1024;

/**
 * The last piece is a refusal if the rest does not arrive or `stopping` fires. The pieces share
 * their memory: each is valid only until the next one is requested.
 */
export async function* readPieces(
  body: ReadableStream<Uint8Array> | null,
  stopping: AbortSignal,
): AsyncGenerator<Outcome<Uint8Array>> {
  if (body === null) return;
  const reader = openBody(body);
  let memory = new Uint8Array(PIECE_BYTES);
  let failure: Outcome<never> | undefined;
  const giveUp = (refusal: Outcome<never>) => {
    failure ??= refusal;
    reader.cancel().catch(() => {});
  };
  const stop = () => giveUp(badRequest("The server is stopping"));
  stopping.addEventListener("abort", stop);
  if (stopping.aborted) stop();
  // Each piece gets the time of a whole body; a client that stops sending must not stay forever.
  const seconds = limits.requestBodySecondsMax;
  let bytes = 0;
  try {
    for (;;) {
      const end = deadlinesOf(seconds).start(() => giveUp(refuse({ kind: "body_late", seconds })));
      const piece = await reader.read(memory, 0).catch(() => undefined);
      end();
      if (failure !== undefined) return yield failure;
      if (piece === undefined) {
        return yield badRequest("Request body ended before it was complete");
      }
      if (piece.done) return;
      memory = piece.memory;
      bytes += piece.length;
      if (bytes > limits.importBytesMax) return yield tooLarge();
      yield accept(memory.subarray(0, piece.length));
    }
  } finally {
    stopping.removeEventListener("abort", stop);
    await reader.cancel().catch(() => {});
  }
}

function badRequest(message: string) {
  return refuse({ kind: "bad_request", message });
}

function tooLarge() {
  const limit = limits.importBytesMax;
  return refuse({ kind: "payload_too_large", message: `The file exceeds ${limit} bytes`, limit });
}
