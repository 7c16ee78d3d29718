/**
 * Sends three times as many writes as the server can do. The rows say how many it does all the
 * same, and how long those take. This is an open loop: requests do not wait for earlier
 * answers.
 */

import { bodyText } from "./http_connection.ts";
import { percentiles } from "./load.ts";
import { runOpenLoop } from "./open_loop.ts";
import { streamId } from "./requests.ts";
import { measureSingles, STREAMS, type Target } from "./server_measures.ts";
import type { Row } from "./table.ts";

const FACTOR = 3;
/** Enough for all that could be under way: writes that are shed come back at once. */
const CONNECTIONS = 2_000;
/**
 * A request that could not be sent for this long is left out: catching up would change the
 * load.
 */
const LATE_MS_MAX = 50;
/** Time before the measurement, in which the server finds out how much it can do. */
const SETTLE_SECONDS = 2;

/** `seconds` is the time of each load. */
export async function measureOverload(
  target: Target,
  seconds: number,
  add: (row: Row) => void,
): Promise<void> {
  const peak = await measureSingles(target, 64, seconds);
  add({
    name: "single POST, 64, before",
    value: peak.requestsPerSecond,
    unit: "req/s",
    latency: peak,
    note: "the peak",
  });
  const perSecond = FACTOR * peak.requestsPerSecond;
  const load = await runOverload(target, perSecond, seconds);
  const rate = load.accepted / load.seconds;
  add({
    name: "accepted at 3 x the peak",
    value: rate / peak.requestsPerSecond,
    unit: "x",
    target: { atLeast: 0.8 },
    p99BelowMs: 500,
    latency: percentiles(load.latencies),
    note: `${Math.round(load.shed / load.seconds)} shed/s, ` +
      `${Math.round((load.accepted + load.shed) / load.seconds)} answered/s`,
  });
  add({
    name: "shed at 3 x the peak",
    value: percentiles(load.shedLatencies).p99,
    unit: "ms p99",
    latency: percentiles(load.shedLatencies),
  });
  const after = await measureSingles(target, 64, seconds);
  add({
    name: "single POST, 64, afterwards, to before",
    value: after.requestsPerSecond / peak.requestsPerSecond,
    unit: "x",
    target: { atLeast: 0.9 },
    latency: after,
  });
}

interface Overload {
  readonly seconds: number;
  /** Accepted and shed writes whose replies came within these seconds. */
  readonly accepted: number;
  readonly shed: number;
  /** Latencies in milliseconds of accepted and of shed writes, of all that were due within them. */
  readonly latencies: readonly number[];
  readonly shedLatencies: readonly number[];
}

/**
 * A reply that comes after the last request was sent counts towards latency, not towards the
 * rate: refusals come late, and nothing is sent meanwhile.
 */
async function runOverload(
  { port, requests }: Target,
  perSecond: number,
  seconds: number,
): Promise<Overload> {
  const latencies: number[] = [];
  const shedLatencies: number[] = [];
  const heard = { accepted: 0, shed: 0 };
  let number = 0;
  let beganMs = 0;
  await runOpenLoop({
    port,
    connections: CONNECTIONS,
    perSecond,
    seconds: SETTLE_SECONDS + seconds,
    async perform(connection, order, dueMs) {
      if (order === 0) beganMs = dueMs + SETTLE_SECONDS * 1000;
      // No connection was free: a request that was not sent in time is not sent at all.
      if (performance.now() - dueMs > LATE_MS_MAX) return;
      const stream = streamId(number % STREAMS);
      const reply = await connection.exchange(...requests.single(stream, number++));
      if (reply.status !== 201 && reply.status !== 503) throw new Error(bodyText(reply));
      const heardMs = performance.now();
      const isAccepted = reply.status === 201;
      if (heardMs >= beganMs && heardMs <= beganMs + seconds * 1000) {
        heard[isAccepted ? "accepted" : "shed"]++;
      }
      if (dueMs >= beganMs) (isAccepted ? latencies : shedLatencies).push(heardMs - dueMs);
    },
  });
  return { seconds, ...heard, latencies, shedLatencies };
}
