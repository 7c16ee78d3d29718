/** The rows about projections: how fast they follow writes, are built, exported and queried. */

import type { EnvironmentName, ServerProcess } from "../../tests/support/server_process.ts";
import { bodyText } from "./http_connection.ts";
import { percentiles } from "./load.ts";
import { processorMicros, residentMemory } from "./machine.ts";
import { askUntil, runOpenLoop } from "./open_loop.ts";
import { streamId } from "./requests.ts";
import { deployBenchSpec, fillEachOnce, type Target, targetOf } from "./server_measures.ts";
import { measureQueries } from "./sql_rows.ts";
import type { Row } from "./table.ts";

export interface ProjectionBench {
  readonly isQuick: boolean;
  readonly start: () => Promise<ServerProcess>;
  readonly add: (row: Row) => void;
}

const ENVIRONMENT: EnvironmentName = "staging";
const ACCOUNTS = 100_000;
const EVENTS_EACH = 10;
const CONNECTIONS = 16;
const WRITES_PER_SECOND = 500;
/** Beside a build. */
const SIDE_WRITES_PER_SECOND = 100;
const LAG_SECONDS = 20;
/** The writes whose lag is measured have a new stream each, so that one look finds the row. */
const LAG_STREAMS = 500_000;
/** One write in this many is looked for, because looking takes time from what is measured. */
const LAG_SAMPLE = 20;
const PATIENCE_MS = 300_000;
const LOOK_EVERY_MS = 2;

const PROJECTION = {
  name: "accounts",
  for_each: "account",
  sources: { account: "$key" },
  select: {
    balance: { path: "$.account.balance", type: "number" },
    bookings: { path: "$.account.bookings", type: "integer" },
    by: "$.account.last.by.id",
  },
};

/** Adds the rows. The server that it starts is always ended. */
export async function measureProjections(bench: ProjectionBench): Promise<void> {
  const server = await bench.start();
  try {
    await deployBenchSpec(server, ENVIRONMENT);
    const target = targetOf(server, ENVIRONMENT);
    const accounts = bench.isQuick ? ACCOUNTS / 10 : ACCOUNTS;
    await fillEachOnce(target, accounts, EVENTS_EACH);
    await measureBuild(bench, server, target, accounts);
    await measureLag(bench, target);
    await measureExport(bench, server);
    await measureQueries({ server, target, rows: accounts, add: bench.add });
  } finally {
    await server.kill();
  }
}

async function deploy(server: ServerProcess): Promise<void> {
  const { instance_id, operator_token } = server.credentials;
  const url = `${server.baseUrls[ENVIRONMENT]}/api/instances/${instance_id}/projections`;
  const reply = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${operator_token}`, "content-type": "application/json" },
    body: JSON.stringify({ environment: ENVIRONMENT, projection: PROJECTION }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`deploying the projection: ${reply.status} ${text}`);
}

/**
 * Measures the time until the projection can be read, beside writes. Afterwards no row may be
 * missing or stale.
 */
async function measureBuild(
  bench: ProjectionBench,
  server: ServerProcess,
  target: Target,
  accounts: number,
): Promise<void> {
  const { port, requests, serverPid } = target;
  const startedMs = performance.now();
  const microsBefore = processorMicros(serverPid);
  let isOver = false;
  let written = 0;
  const writing = runOpenLoop({
    port,
    connections: CONNECTIONS,
    perSecond: SIDE_WRITES_PER_SECOND,
    seconds: PATIENCE_MS / 1000,
    perform: async (connection, number) => {
      if (isOver) return;
      const reply = await connection.exchange(
        ...requests.single(streamId(number % accounts), number),
      );
      if (reply.status !== 201) throw new Error(`a write beside the build: ${bodyText(reply)}`);
      written++;
    },
  });
  await deploy(server);
  await waitForProjection(target);
  const seconds = (performance.now() - startedMs) / 1000;
  const micros = processorMicros(serverPid) - microsBefore;
  isOver = true;
  const events = accounts * EVENTS_EACH;
  bench.add({
    name: `build of a view from ${events.toLocaleString("en-US")} events, beside writes`,
    value: seconds,
    unit: "s",
    target: { below: 60 },
    note: `${accounts.toLocaleString("en-US")} rows, ${written} writes; ` +
      `${(micros / accounts).toFixed(0)} us a row`,
  });
  await Promise.race([writing, pause(2_000)]);
  const { rows, bookings } = await readCsv(server);
  if (rows !== accounts || bookings !== events + written) {
    throw new Error(
      `${rows} rows with ${bookings} bookings, not ${accounts} and ${events + written}`,
    );
  }
}

async function waitForProjection({ port, requests }: Target): Promise<void> {
  const path = `/_projections/accounts?limit=1`;
  await runOpenLoop({
    port,
    connections: 1,
    perSecond: 1,
    seconds: 1,
    perform: async (connection) => {
      const isThere = ({ status }: { readonly status: number }) => status === 200;
      const options = { everyMs: 50, patienceMs: PATIENCE_MS, isThere };
      await askUntil(connection, requests.get(path), options);
    },
  });
}

/** From the reply to a write until its row can be read. */
async function measureLag(bench: ProjectionBench, { port, requests, serverPid }: Target) {
  const lags: number[] = [];
  const microsBefore = processorMicros(serverPid);
  await runOpenLoop({
    port,
    connections: 128,
    perSecond: WRITES_PER_SECOND,
    seconds: LAG_SECONDS,
    perform: async (connection, number) => {
      const stream = streamId(LAG_STREAMS + number);
      const reply = await connection.exchange(...requests.single(stream, number));
      if (reply.status !== 201) throw new Error(`a write: ${bodyText(reply)}`);
      if (number % LAG_SAMPLE !== 0) return;
      const ackedMs = performance.now();
      const isThere = ({ status }: { readonly status: number }) => status === 200;
      const options = { everyMs: LOOK_EVERY_MS, patienceMs: PATIENCE_MS, isThere };
      const path = `/_projections/accounts/${stream}`;
      lags.push(await askUntil(connection, requests.get(path), options) - ackedMs);
    },
  });
  const latency = percentiles(lags);
  const writes = WRITES_PER_SECOND * LAG_SECONDS;
  const micros = (processorMicros(serverPid) - microsBefore) / writes;
  bench.add({
    name: `lag of a view at ${WRITES_PER_SECOND} events/s`,
    value: latency.p99,
    unit: "ms, p99",
    target: { below: 100 },
    latency: { ...latency, serverMicrosPerUnit: micros },
    note: "from the write's reply until a look finds its row; us: of a write and its row",
  });
}

async function measureExport(bench: ProjectionBench, server: ServerProcess) {
  const memoryBefore = await residentMemory(server.pid);
  const microsBefore = processorMicros(server.pid);
  const startedMs = performance.now();
  const { rows } = await readCsv(server);
  const seconds = (performance.now() - startedMs) / 1000;
  const micros = (processorMicros(server.pid) - microsBefore) / rows;
  const grown = await residentMemory(server.pid) - memoryBefore;
  bench.add({
    name: "CSV export",
    value: rows / seconds,
    unit: "rows/s",
    target: { atLeast: 50_000 },
    note: `${rows.toLocaleString("en-US")} rows; ${micros.toFixed(1)} us a row; ` +
      `memory ${grown >= 0 ? "+" : ""}${grown.toFixed(1)} MiB`,
  });
}

async function readCsv({ baseUrls, credentials }: ServerProcess) {
  const url = `${baseUrls[ENVIRONMENT]}/_projections/accounts/export.csv`;
  const authorization = `Bearer ${credentials.keys[ENVIRONMENT].read}`;
  const reply = await fetch(url, { headers: { authorization } });
  if (!reply.ok) throw new Error(`the export: ${reply.status} ${await reply.text()}`);
  let rows = -1;
  let bookings = 0;
  let left = "";
  for await (const chunk of reply.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (left + chunk).split("\r\n");
    left = lines.pop()!;
    for (const line of lines) {
      if (rows >= 0) bookings += Number(line.split(",")[2]);
      rows++;
    }
  }
  return { rows, bookings };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
