/**
 * One writer alone on a cluster, against the least that a transaction there may cost, and against
 * the same with a server before it. A commit of a cluster waits for others to join it, for less
 * time right after another commit than after a pause. So each is measured back to back, and with
 * pauses.
 */

import type { Bench } from "./bench.ts";
import { type BareCommits, measureCommits, openBareCommits } from "./bare_commits.ts";
import { openConnection } from "./http_connection.ts";
import { startListening } from "./listening_script.ts";
import { percentiles } from "./load.ts";
import { untilTime } from "./open_loop.ts";
import { streamId } from "./requests.ts";
import { renamed, STREAMS, type Target } from "./server_measures.ts";

const PACES = [
  { name: "back to back", pauseMs: 0 },
  { name: "with pauses of 5 ms", pauseMs: 5 },
] as const;
const ROUNDS = 5;
const WARM_UP = 100;

/** What is compared: a transaction, the same behind HTTP, and a write. */
interface Times {
  readonly bare: number[];
  readonly served: number[];
  readonly written: number[];
}

/** Each of them is asked this many times in a round, with this pause after each. */
interface Pace {
  readonly count: number;
  readonly pauseMs: number;
}

export async function measureAlone(
  bench: Bench,
  target: Target,
  clusterFile: string,
): Promise<void> {
  const bare = await openBareCommits(clusterFile);
  const how = { wrapper: bench.wrapper, args: [clusterFile] };
  const served = await startListening("bare_server.ts", how);
  try {
    const count = bench.isQuick ? 100 : 200;
    await measureRound(bare, served.port, target, { count: WARM_UP, pauseMs: 0 });
    for (const { name, pauseMs } of PACES) {
      const times: Times = { bare: [], served: [], written: [] };
      for (let round = 0; round < ROUNDS; round++) {
        const found = await measureRound(bare, served.port, target, { count, pauseMs });
        for (const key of ["bare", "served", "written"] as const) times[key].push(...found[key]);
      }
      addRows(bench, name, times);
    }
  } finally {
    bare.close();
    await served.stop();
  }
}

async function measureRound(
  bare: BareCommits,
  servedPort: number,
  { port, requests }: Target,
  pace: Pace,
): Promise<Times> {
  let number = 0;
  const [noop] = requests.single("x", 0);
  return {
    bare: await measureCommits(bare, pace),
    served: await ask(servedPort, () => [renamed(noop!)], pace),
    written: await ask(port, () => requests.single(streamId(number % STREAMS), number++), pace),
  };
}

async function ask(
  port: number,
  next: () => readonly Uint8Array[],
  { count, pauseMs }: Pace,
): Promise<number[]> {
  const connection = await openConnection(port);
  const times: number[] = [];
  try {
    while (times.length < count) {
      const sentMs = performance.now();
      const { status } = await connection.exchange(...next());
      const heardMs = performance.now();
      if (status !== 201) throw new Error(`expected 201: ${status}`);
      times.push(heardMs - sentMs);
      if (pauseMs > 0) await untilTime(heardMs + pauseMs);
    }
  } finally {
    connection.close();
  }
  return times;
}

function addRows(bench: Bench, pace: string, times: Times): void {
  const bare = percentiles(times.bare);
  const served = percentiles(times.served);
  const written = percentiles(times.written);
  bench.add({
    name: `bare read-modify-write, 1, ${pace}`,
    value: bare.p50,
    unit: "ms",
    latency: bare,
    note: "through the package, without a server",
  });
  bench.add({
    name: `the same behind HTTP, ${pace}`,
    value: served.p50 / bare.p50,
    unit: "x",
    latency: served,
    note: "Hono and the package alone",
  });
  bench.add({
    name: `single POST, 1 connection, on the cluster, ${pace}`,
    value: written.p50 / bare.p50,
    unit: "x",
    target: { below: 1.3 },
    latency: written,
    note: `${(written.p50 / served.p50).toFixed(2)} of the same behind HTTP`,
  });
}
