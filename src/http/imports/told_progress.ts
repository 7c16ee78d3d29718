/**
 * Reports the progress of a long call as lines of JSON, at most one a second.
 *
 * The last line holds what would have been the whole answer, with its status. A call that ends
 * before its first progress gets an ordinary answer.
 */

import type { JsonObject } from "../../domain/json.ts";
import type { Host } from "../../host.ts";

const NDJSON_TYPE = "application/x-ndjson";
const TELL_EVERY_MS = 1_000;

export type Tell = (progress: JsonObject) => void;

/** `run` returns the answer and must never throw. */
export async function tellProgress(
  host: Pick<Host, "monotonicMs">,
  requestId: string,
  run: (tell: Tell) => Promise<Response>,
): Promise<Response> {
  const begun = Promise.withResolvers<undefined>();
  const lines = new TransformStream<string, string>();
  const writer = lines.writable.getWriter();
  let nextMs = -Infinity;

  // The client may have gone; that does not stop the work.
  const write = (line: object) => writer.write(`${JSON.stringify(line)}\n`).catch(() => {});

  const answered = run((progress) => {
    const nowMs = host.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + TELL_EVERY_MS;
    begun.resolve(undefined);
    write({ progress: true, ...progress });
  });
  const first = await Promise.race([answered, begun.promise]);
  if (first !== undefined) return first;
  answered.then(async (response) => {
    write({ ...await response.json() as JsonObject, status: response.status });
    writer.close().catch(() => {});
  });
  return new Response(lines.readable.pipeThrough(new TextEncoderStream()), {
    headers: {
      "content-type": NDJSON_TYPE,
      "x-request-id": requestId,
      "access-control-allow-origin": "*",
    },
  });
}
