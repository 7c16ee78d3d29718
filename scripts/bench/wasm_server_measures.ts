/**
 * Measures writes judged by a module, over HTTP on a real server. The requests are those of the
 * write rows, with `digest.wat` of the tests as the handler. Read the rows beside `single
 * POST`.
 */

import type { ServerProcess } from "../../tests/support/server_process.ts";
import { moduleFile } from "../../tests/support/wasm/build_module.ts";
import { openConnection } from "./http_connection.ts";
import { percentiles } from "./load.ts";
import { batchBody, BENCH_SPEC, streamId } from "./requests.ts";
import * as measures from "./server_measures.ts";
import type { Row } from "./table.ts";

const BLOB = "digest";
const SECONDS = 6;
/** Writes to this stream must cost as much as those to a short one. */
const LONG_STREAM = streamId(910_000);
const LONG_EVENTS = 100_000;
const BATCH_EVENTS = 1_000;
const SINGLES = 200;

function judgedSpec(): object {
  const spec = structuredClone(BENCH_SPEC);
  const { was_credited } = spec.aggregate_types.account.events;
  return {
    ...spec,
    aggregate_types: {
      account: { events: { was_credited: { ...was_credited, handler: { wasm: BLOB } } } },
    },
  };
}

/** `start` starts a server, on the same store each time. */
export async function measureJudged(
  start: () => Promise<ServerProcess>,
  add: (row: Row) => void,
): Promise<void> {
  let server = await start();
  try {
    await upload(server);
    await measures.deployBenchSpec(server, "test", judgedSpec());
    await measureRates(server, add);
    await measureLength(server, add);
    // A server that has nothing in memory begins at the snapshot.
    await server.stop();
    server = await start();
    const [first] = await writeSingles(server, LONG_STREAM, 1);
    add({
      name: "its first after a restart",
      value: first!,
      unit: "ms",
      target: { below: 1_000 },
      note: "starts a runner, reads the snapshot, folds what came behind it",
    });
  } finally {
    await server.kill();
  }
}

async function measureRates(server: ServerProcess, add: (row: Row) => void): Promise<void> {
  const target = measures.targetOf(server);
  const singles = await measures.measureSingles(target, 64, SECONDS);
  const rate = singles.requestsPerSecond;
  add({ name: "judged POST, 64, 5,000 streams", value: rate, unit: "req/s", latency: singles });
  const alone = await measures.measureSingles(target, 1, 3);
  const value = alone.requestsPerSecond;
  add({ name: "judged POST, 1 connection", value, unit: "req/s", latency: alone });
  const hot = await measures.measureHotStream(target, SECONDS);
  add({
    name: "judged POST, 64, one hot stream",
    value: hot.requestsPerSecond,
    unit: "req/s",
    latency: hot,
    note: "judged in a row, written together",
  });
}

async function measureLength(server: ServerProcess, add: (row: Row) => void): Promise<void> {
  await writeSingles(server, streamId(910_001), SINGLES);
  const short = percentiles(await writeSingles(server, streamId(910_002), SINGLES));
  const began = performance.now();
  await fill(server);
  const seconds = (performance.now() - began) / 1000;
  add({ name: "judged batches of 1,000, 1", value: LONG_EVENTS / seconds, unit: "events/s" });
  const long = percentiles(await writeSingles(server, LONG_STREAM, SINGLES));
  add({
    name: "judged POST at 100,000 events, to one at 1",
    value: long.p50 / short.p50,
    unit: "x",
    target: { below: 1.5 },
    latency: long,
    note: `the medians; at 1: ${short.p50.toFixed(2)} ms`,
  });
}

async function upload(server: ServerProcess): Promise<void> {
  const form = new FormData();
  form.set("name", BLOB);
  form.set("file", new Blob([await moduleFile(BLOB)]), "module.wasm");
  const reply = await fetch(`${server.baseUrls.test}/_admin/blobs`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.credentials.operator_token}` },
    body: form,
  });
  const text = await reply.text();
  if (reply.status !== 201) throw new Error(`uploading the module: ${reply.status} ${text}`);
}

/** Writes single events one after the other; returns the milliseconds of each. */
async function writeSingles(
  server: ServerProcess,
  stream: string,
  count: number,
): Promise<number[]> {
  const { port, requests } = measures.targetOf(server);
  const connection = await openConnection(port);
  const times: number[] = [];
  try {
    for (let number = 0; number < count; number++) {
      const began = performance.now();
      const reply = await connection.exchange(...requests.single(stream, number));
      if (reply.status !== 201) throw new Error(`a judged write was answered ${reply.status}`);
      times.push(performance.now() - began);
    }
  } finally {
    connection.close();
  }
  return times;
}

async function fill(server: ServerProcess): Promise<void> {
  const { port, requests } = measures.targetOf(server);
  const connection = await openConnection(port);
  const body = batchBody(BATCH_EVENTS);
  try {
    for (let done = 0; done < LONG_EVENTS; done += BATCH_EVENTS) {
      const reply = await connection.exchange(...requests.batch(LONG_STREAM, body));
      if (reply.status !== 201) throw new Error(`a judged batch was answered ${reply.status}`);
    }
  } finally {
    connection.close();
  }
}
