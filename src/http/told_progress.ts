/**
 * An answer that tells how far a long call is: lines of JSON, at most one a second, and last what
 * would have been the whole answer, with its status. What ends at once is answered as usual.
 */

import type { JsonObject } from "../domain/json.ts";
import type { Host } from "../host.ts";

const NDJSON_TYPE = "application/x-ndjson";
const TELL_EVERY_MS = 1_000;

export type Tell = (progress: JsonObject) => void;

/** `run` gives the answer, and never throws. */
export async function tellProgress(
  host: Pick<Host, "monotonicMs">,
  requestId: string,
  run: (tell: Tell) => Promise<Response>,
): Promise<Response> {
  const begun = Promise.withResolvers<undefined>();
  const lines = new TransformStream<string, string>();
  const writer = lines.writable.getWriter();
  let nextMs = -Infinity;

  // Nobody may listen any more; that is no reason to stop.
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
