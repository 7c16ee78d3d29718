/**
 * The receiver for the rows about deliveries, a separate process. The first argument is the
 * port.
 *
 * The first segment of a path names the listener; the endpoint `slow` answers after ten
 * seconds. `GET /report` returns what arrived for each listener since the previous report: how
 * many deliveries, when the last one arrived, and for each event its `at` and when it arrived.
 */

interface Received {
  count: number;
  lastMs: number;
  readonly times: [at: number, nowMs: number][];
}

const SLOW_MS = 10_000;
const AT = /"at":(\d+(?:\.\d+)?)/;
let byListener: Record<string, Received> = {};

async function answer(request: Request): Promise<Response> {
  const listener = request.url.slice(request.url.lastIndexOf("/") + 1);
  if (request.method === "GET") return report();
  const text = await request.text();
  const nowMs = performance.timeOrigin + performance.now();
  const received = byListener[listener] ??= { count: 0, lastMs: 0, times: [] };
  received.count++;
  received.lastMs = nowMs;
  const at = AT.exec(text)?.[1];
  if (at !== undefined) received.times.push([Number(at), nowMs]);
  if (listener.startsWith("slow")) await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
  return new Response(null, { status: 204 });
}

function report(): Response {
  const reported = byListener;
  byListener = {};
  return Response.json(reported);
}

Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen() {} }, answer);
