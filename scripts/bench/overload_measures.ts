/**
 * Three times as many writes as the server can do: how many it does all the same, and how long
 * those take. An open loop: what is sent does not wait for what was answered.
 */

import { bodyText } from "./http_connection.ts";
import { percentiles } from "./load.ts";
import { runOpenLoop } from "./open_loop.ts";
import { streamId } from "./requests.ts";
import { measureSingles, STREAMS, type Target } from "./server_measures.ts";
import type { Row } from "./table.ts";

const FACTOR = 3;
/** As many as could be under way: those that are shed come back at once. */
const CONNECTIONS = 2_000;
/** What could not be sent for so long is left out: catching up would be another load. */
const LATE_MS_MAX = 50;
/** What is sent first, until the server has found out how much it can do; then it is measured. */
const SETTLE_SECONDS = 2;

/** `seconds` of each of the two loads. */
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
  /** Accepted, and shed, that were heard within these seconds. */
  readonly accepted: number;
  readonly shed: number;
  /** Milliseconds of what was accepted, and of what was not, of all that was due within them. */
  readonly latencies: readonly number[];
  readonly shedLatencies: readonly number[];
}

/**
 * What is heard after the last was sent counts as latency, not as rate: refusals are told late, and
 * nothing is sent meanwhile.
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
      // No connection was free: what was not sent in time is not sent at all.
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
