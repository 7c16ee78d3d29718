/**
 * The receiver of the deliveries' rows, a process of its own. Port in the first argument. The first
 * segment of a path names the listener; the endpoint `slow` answers after ten seconds. `GET /report`
 * gives what has come of each listener since the report before: how many, the milliseconds from the
 * `at` of its event to here, and when the last came.
 */

interface Received {
  count: number;
  lastMs: number;
  readonly latencies: number[];
}

const SLOW_MS = 10_000;
const AT = /"at":(\d+(?:\.\d+)?)/;
let byListener: Record<string, Received> = {};

async function answer(request: Request): Promise<Response> {
  const listener = request.url.slice(request.url.lastIndexOf("/") + 1);
  if (request.method === "GET") return report();
  const text = await request.text();
  const nowMs = performance.timeOrigin + performance.now();
  const received = byListener[listener] ??= { count: 0, lastMs: 0, latencies: [] };
  received.count++;
  received.lastMs = nowMs;
  const at = AT.exec(text)?.[1];
  if (at !== undefined) received.latencies.push(nowMs - Number(at));
  if (listener.startsWith("slow")) await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
  return new Response(null, { status: 204 });
}

function report(): Response {
  const reported = byListener;
  byListener = {};
  return Response.json(reported);
}

Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen() {} }, answer);
