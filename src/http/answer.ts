/** The one place where an answer becomes a `Response`: JSON text, status and the headers of all. */

/** Sends JSON text that is ready. Every answer carries the request id and the CORS origin. */
export function sendText(
  requestId: string,
  status: number,
  json: string,
  headers?: Record<string, string>,
): Response {
  const response = new Response(json, { status });
  // Set one by one they cost a third of what they cost at once.
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
  const { status, headers } = response;
  if (response.body !== null) {
    headers.set("content-length", String((await response.bytes()).length));
  }
  return new Response(null, { status, headers });
}
