/** Sends a file with its length while it is still being made: `fetch` would send it chunked. */

import { request } from "node:http";
import { Readable } from "node:stream";

/** POSTs `pieces`, `size` bytes in all. Rejects if the connection ends without an answer. */
export function sendSized(
  url: string,
  token: string,
  size: number,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/x-ndjson",
      "content-length": String(size),
      authorization: `Bearer ${token}`,
    };
    const asked = request(url, { method: "POST", headers }, (answer) => {
      const parts: Uint8Array[] = [];
      answer.on("data", (part: Uint8Array) => parts.push(part));
      answer.on("error", reject);
      answer.on("end", () => {
        const body = new Blob(parts as Uint8Array<ArrayBuffer>[]);
        resolve(new Response(body, { status: answer.statusCode ?? 0 }));
      });
    });
    asked.on("error", reject);
    const body = Readable.from(pieces);
    body.on("error", reject);
    body.pipe(asked);
  });
}
