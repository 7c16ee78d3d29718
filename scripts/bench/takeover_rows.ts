/**
 * The rows of a node that dies or stops: how late scheduled and implied events are that it had to
 * write. Two nodes share the work. A reader of the feed at the other one says when each event came.
 */

import { startCluster } from "../../tests/support/cluster_process.ts";
import type { ServerProcess } from "../../tests/support/server_process.ts";
import type { Bench } from "./bench.ts";
import { openFeedReader } from "./feed_reader.ts";
import { percentiles } from "./load.ts";
import { runOpenLoop, untilTime } from "./open_loop.ts";
import { orderRequests, REACTION_SPEC } from "./reaction_requests.ts";
import { streamId } from "./requests.ts";
import { deployBenchSpec, targetOf } from "./server_measures.ts";
import { startNode } from "./start_node.ts";

type Ending = "kill" | "stop";

interface Way {
  readonly name: string;
  readonly ending: Ending;
  readonly lateMsMax: number;
}

const WAYS: readonly Way[] = [
  { name: "a node killed", ending: "kill", lateMsMax: 6_000 },
  { name: "a node stopped", ending: "stop", lateMsMax: 1_500 },
];

/** Of triggers at each node, in a second. */
const TRIGGERS_PER_SECOND = 100;
const CONNECTIONS = 16;
const DELAY_MS = 2_000;
const SECONDS_BEFORE = 6;
const SECONDS_AFTER = 8;
/** What is due in this time after the end, or just before it, may have been the dead node's. */
const AFFECTED_MS = 6_000;
const BEFORE_MS = 500;
const PATIENCE_MS = 30_000;
const RECEIPT = /"key":"receipt:([0-9a-f-]{36})"/g;

/** When events were due and when they came, by stream. */
interface Ledger {
  readonly due: Map<string, { readonly kind: "scheduled" | "implied"; readonly dueMs: number }>;
  readonly came: Map<string, number>;
  readonly doubled: string[];
}

/** Adds the rows. The cluster and the servers that it starts are always ended. */
export async function measureTakeover(bench: Bench): Promise<void> {
  const cluster = await startCluster({ storage: "ssd" });
  const started: ServerProcess[] = [];
  async function start(): Promise<ServerProcess> {
    const server = await startNode(bench, cluster);
    started.push(server);
    return server;
  }
  try {
    const survivor = await start();
    await deployBenchSpec(survivor, "test", REACTION_SPEC);
    for (const way of WAYS) await measureWay(bench, way, survivor, start);
  } finally {
    for (const server of started) await server.kill();
    await cluster.stop();
  }
}

async function measureWay(
  bench: Bench,
  way: Way,
  survivor: ServerProcess,
  start: () => Promise<ServerProcess>,
): Promise<void> {
  const late = { scheduled: [] as number[], implied: [] as number[] };
  const rounds = bench.isQuick ? 2 : 6;
  for (let round = 0; round < rounds; round++) {
    const found = await endOne(survivor, await start(), way.ending);
    late.scheduled.push(...found.scheduled);
    late.implied.push(...found.implied);
  }
  for (const [kind, values] of Object.entries(late)) {
    const latency = percentiles(values);
    bench.add({
      name: `${way.name}: ${kind} events are late, p99`,
      value: latency.p99,
      unit: "ms",
      target: { below: way.lateMsMax },
      latency,
      note: `${values.length} events due in the ${AFFECTED_MS / 1000} s after it, ${rounds} times`,
    });
  }
}

let triggers = 0;

/** Returns how late each affected event came, in milliseconds. */
async function endOne(
  survivor: ServerProcess,
  ending: ServerProcess,
  how: Ending,
): Promise<{ readonly scheduled: number[]; readonly implied: number[] }> {
  const ledger: Ledger = { due: new Map(), came: new Map(), doubled: [] };
  const { port, authorization = "" } = targetOf(survivor);
  const reader = await openFeedReader({
    port,
    authorization,
    path: "/_feed?live=sse&from=now&types=receipt",
    onBytes: noteReceipts(ledger),
  });
  const beginMs = performance.now();
  const loads = [
    trigger(survivor, SECONDS_BEFORE + SECONDS_AFTER, ledger),
    trigger(ending, SECONDS_BEFORE, ledger),
  ];
  await untilTime(beginMs + SECONDS_BEFORE * 1000);
  const endedMs = performance.now();
  await (how === "kill" ? ending.kill() : ending.stop());
  await Promise.all(loads);
  await untilAllCame(ledger);
  reader.close();
  if (ledger.doubled.length > 0) throw new Error(`came twice: ${ledger.doubled.join(", ")}`);
  const late = { scheduled: [] as number[], implied: [] as number[] };
  for (const [stream, { kind, dueMs }] of ledger.due) {
    const sinceMs = dueMs - endedMs;
    if (sinceMs < -BEFORE_MS || sinceMs > AFFECTED_MS) continue;
    late[kind].push(Math.max(0, ledger.came.get(stream)! - dueMs));
  }
  return late;
}

function noteReceipts({ came, doubled }: Ledger): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder("latin1");
  let line = "";
  return (bytes) => {
    const lines = (line + decoder.decode(bytes)).split("\n");
    line = lines.pop()!;
    for (const [, stream] of lines.join("\n").matchAll(RECEIPT)) {
      if (came.has(stream!)) doubled.push(stream!);
      came.set(stream!, performance.now());
    }
  };
}

/** Writes events of which every second one schedules an event, and the others imply one. */
async function trigger(server: ServerProcess, seconds: number, { due }: Ledger): Promise<void> {
  const { port, requests } = targetOf(server);
  const orders = orderRequests(requests);
  await runOpenLoop({
    port,
    connections: CONNECTIONS,
    perSecond: TRIGGERS_PER_SECOND,
    seconds,
    async perform(connection, number) {
      const stream = streamId(triggers++);
      const isScheduled = number % 2 === 0;
      const sentMs = performance.now();
      const request = isScheduled
        ? orders.putOff(stream, number, DELAY_MS)
        : orders.placed(stream, number);
      // What a dead node has not answered may be there or not.
      const reply = await connection.exchange(...request).catch(() => undefined);
      if (reply?.status !== 201) return;
      if (isScheduled) due.set(stream, { kind: "scheduled", dueMs: sentMs + DELAY_MS });
      else due.set(stream, { kind: "implied", dueMs: performance.now() });
    },
  });
}

async function untilAllCame({ due, came }: Ledger): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const missing = [...due.keys()].filter((stream) => !came.has(stream));
    if (missing.length === 0) return;
    if (performance.now() > endMs) throw new Error(`${missing.length} events never came`);
    await untilTime(performance.now() + 100);
  }
}
