/** Turns answers into `Response` objects: JSON text, status and the headers common to all. */

import { Buffer } from "node:buffer";
import { COMPRESS_BYTES_MIN, mayCompress } from "./compress.ts";
import { LONG_ANSWER_BYTES_MIN, longAnswer, type Part } from "./long_answer.ts";

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

function shortAnswer(body: Part, status: number): Response {
  const response = new Response(body, { status });
  return body.length < COMPRESS_BYTES_MIN ? response : mayCompress(response, body);
}

function joined(parts: readonly Part[]): Part {
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

/** The same answer without its body but with its length, for `HEAD`. */
export async function withoutBody(response: Response): Promise<Response> {
  const { status, headers, body } = response;
  if (headers.has("content-length")) await body?.cancel();
  else if (body !== null) headers.set("content-length", String((await response.bytes()).length));
  return new Response(null, { status, headers });
}
