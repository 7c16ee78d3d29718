/**
 * The rows about imports of backdated events: how many, and in how much memory.
 *
 * They also say how long other writes wait beside an import. The file is generated while it is
 * sent, after it was generated once to learn its length.
 */

import { sendSized } from "../../tests/support/send_sized.ts";
import type { ServerProcess } from "../../tests/support/server_process.ts";
import { peakOf } from "./commands.ts";
import { openConnection } from "./http_connection.ts";
import { percentiles } from "./load.ts";
import { processorMicros } from "./machine.ts";
import { eventData, METADATA, streamId } from "./requests.ts";
import { deployBenchSpec, type Target, targetOf } from "./server_measures.ts";
import type { Row } from "./table.ts";

export interface ImportBench {
  readonly isQuick: boolean;
  readonly start: () => Promise<ServerProcess>;
  readonly add: (row: Row) => void;
}

/** The stream number of each event of the file, which decides the order of the events. */
type Order = (number: number) => number;

const FULL_BYTES = 2_000_000_000;
const QUICK_BYTES = 200_000_000;
const EVENTS_EACH = 10;
const PIECE_LINES = 200;
/** Streams whose events alternate, as in an export in the order of time. */
const TURNS = 5_000;
const WRITES_PER_SECOND = 20;

function inARow(number: number): number {
  return Math.floor(number / EVENTS_EACH);
}

function inTurns(number: number): number {
  const round = TURNS * EVENTS_EACH;
  return Math.floor(number / round) * TURNS + number % TURNS;
}

export async function measureImports({ isQuick, start, add }: ImportBench): Promise<void> {
  const bytes = isQuick ? QUICK_BYTES : FULL_BYTES;
  const share = isQuick ? 1 : 0.2;
  const server = await start();
  try {
    await measureOne(server, { call: "import_jsonl", order: inARow, bytes }, add);
    await measureOne(server, { call: "import_jsonl", order: inTurns, bytes: bytes * share }, add);
  } finally {
    await server.kill();
  }
  const empty = await start();
  try {
    await measureOne(empty, { call: "cold_start", order: inTurns, bytes: bytes * share }, add);
  } finally {
    await empty.kill();
  }
}

interface ImportCall {
  readonly call: string;
  readonly order: Order;
  readonly bytes: number;
}

async function measureOne(
  server: ServerProcess,
  { call, order, bytes }: ImportCall,
  add: (row: Row) => void,
): Promise<void> {
  const environment = order === inARow ? "test" : "production";
  await deployBenchSpec(server, environment);
  const size = sizeOf(order, bytes);
  const before = processorMicros(server.pid);
  const startedAt = performance.now();
  const beside = new AbortController();
  // No writes beside a cold start: its environment must stay empty.
  const waiting = call === "cold_start"
    ? undefined
    : writeBeside(targetOf(server, environment), beside.signal);
  const path = `${call}?environment=${environment}`;
  const events = await importFile(server, path, size, makeFile(order, bytes))
    .finally(() => beside.abort());
  const seconds = (performance.now() - startedAt) / 1000;
  const serverMicrosPerUnit = (processorMicros(server.pid) - before) / events;
  const none = { p50: NaN, p95: NaN, p99: NaN, max: NaN };
  const latency = { ...none, ...await waiting, serverMicrosPerUnit };
  const kind = order === inARow ? "streams in a row" : `${TURNS} streams in turns`;
  const target = order === inARow ? { target: { atLeast: 50_000 } } : {};
  const note = `${Math.round(bytes / 1e6)} MB${waiting ? "; latency: writes beside it" : ""}`;
  const rate = { value: events / seconds, unit: "events/s", ...target, latency, note };
  add({ name: `${call}, ${kind}`, ...rate });
  const value = await peakOf(server.pid);
  add({ name: "most memory until then", value, unit: "MiB", target: { below: 300 } });
}

/** Returns how many events the file had. */
export async function importFile(
  server: ServerProcess,
  path: string,
  size: number,
  file: Iterable<Uint8Array>,
): Promise<number> {
  const url = `${server.baseUrls.test}/_admin/${path}`;
  const reply = await sendSized(url, server.credentials.operator_token, size, file);
  const text = await reply.text();
  if (!reply.ok) throw new Error(`the import: ${reply.status} ${text}`);
  return JSON.parse(text).written;
}

function sizeOf(order: Order, bytes: number): number {
  let size = 0;
  for (const piece of makeFile(order, bytes)) size += piece.length;
  return size;
}

function* makeFile(order: Order, bytes: number): Generator<Uint8Array> {
  for (let made = 0, number = 0; made < bytes; number += PIECE_LINES) {
    const piece = makeLines(order, number, PIECE_LINES);
    made += piece.length;
    yield piece;
  }
}

/** `count` events from the one of that number on. */
export function makeLines(order: Order, from: number, count: number): Uint8Array {
  const metadata = `${METADATA.slice(0, -1)},"timestamp":1262304000}`;
  let lines = "";
  for (let number = from; number < from + count; number++) {
    lines += `{"key":"account:${streamId(order(number))}","type":"was_credited",` +
      `"data":${eventData(number)},"metadata":${metadata}}\n`;
  }
  return new TextEncoder().encode(lines);
}

/** Makes single writes at an even pace, as a client beside the import would. */
async function writeBeside({ port, requests }: Target, until: AbortSignal) {
  const connection = await openConnection(port);
  const latencies: number[] = [];
  for (let number = 0; !until.aborted; number++) {
    const sentAt = performance.now();
    const reply = await connection.exchange(...requests.single("global", number));
    if (reply.status !== 201) throw new Error(`a write beside the import: ${reply.status}`);
    latencies.push(performance.now() - sentAt);
    await new Promise((resolve) => setTimeout(resolve, 1000 / WRITES_PER_SECOND));
  }
  connection.close();
  return percentiles(latencies);
}
