/**
 * Power cuts: unsynced bytes are torn in a copy of the data folder, which the next server
 * opens. The folder is copied at a random moment of a write. Everything acknowledged must be
 * there, and the write under way wholly or not at all.
 */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { type Api, connectApi } from "./api.ts";
import { FINAL_CHECKS, STANDARD_CHECKS } from "./checks.ts";
import { clientContext } from "./clients.ts";
import { createJournal, type Journal, type Operation, settle } from "./journal.ts";
import { createRandom, type Random } from "./random.ts";
import type { StreamModel } from "./stream_model.ts";
import { type ClientContext, CRASH_SPEC, pickWorkload, STANDARD_MIX } from "./workload.ts";
import {
  endOfLastCommit,
  endOfLastRecord,
  isLonger,
  type Tear,
  tearLog,
  TEARS,
} from "./write_ahead_log.ts";

const LIVES = 12;
/** Extra lives until the log was torn in several ways: on a quiet machine few moments tear it. */
const MORE_LIVES_MAX = 60;
const WRITES_MAX = 25;
/** When to cut, as shares of a write's usual time: from before its sync to its answer. */
const CUT_FROM = 0.3;
const CUT_TO = 1.1;
const STORE = "daybook.sqlite";
/** SQLite's WAL and the engine's redo logs, each with the function that finds its end. */
const LOGS = [
  { name: `${STORE}-wal`, endOf: endOfLastCommit },
  { name: `${STORE}-redo1`, endOf: endOfLastRecord },
  { name: `${STORE}-redo2`, endOf: endOfLastRecord },
] as const;

type Logs = readonly Uint8Array<ArrayBuffer>[];

function readLogs(folder: string): Promise<Logs> {
  return Promise.all(LOGS.map(({ name }) => Deno.readFile(`${folder}/${name}`)));
}

interface Run {
  readonly journal: Journal;
  readonly streams: Map<string, StreamModel>;
  readonly pool: readonly string[];
  readonly tears: Map<Tear | "none", number>;
}

Deno.test("after a power cut all that was acknowledged is there, and nothing is half there", async () => {
  const seed = Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  const lives = Number(Deno.env.get("CRASH_ROUNDS") ?? LIVES);
  console.log(`crash seed ${seed}`);
  const random = createRandom(seed);
  const pool = Array.from({ length: 8 }, () => random.uuid());
  const run: Run = { journal: createJournal(), streams: new Map(), pool, tears: new Map() };
  let dataDir = await Deno.makeTempDir({ prefix: "daybook_torn_" });
  const isEnough = () => lives < LIVES || run.tears.size > 2;
  for (let life = 0; life < lives || (!isEnough() && life < MORE_LIVES_MAX); life++) {
    const faults: string[] = [];
    dataDir = await liveAndDie(run, dataDir, random.fork(life), faults);
    assert.deepEqual(faults, [], `seed ${seed}, life ${life}, ${dataDir}`);
  }
  const server = await startServer({ dataDir });
  assert.deepEqual(
    await look(run, server, { written: [], random, checks: FINAL_CHECKS }),
    [],
    `seed ${seed}, ${dataDir}`,
  );
  assert.equal(await server.stop(), 0);
  await Deno.remove(dataDir, { recursive: true });
  console.log(`power cuts: ${[...run.tears].map((entry) => entry.join(" ")).join(", ")}`);
  assert.ok(isEnough(), "hardly anything was ever torn");
});

/** Returns the folder that the next life finds. */
async function liveAndDie(
  run: Run,
  dataDir: string,
  random: Random,
  faults: string[],
): Promise<string> {
  const server = await startServer({ dataDir });
  const api = connectApi(server);
  await api.deploySpec(CRASH_SPEC);
  const client = clientContext(run.pool, { id: run.pool[0]! }, random.fork(1));
  const first = run.journal.operations.length;
  let usualMs = Infinity;
  for (let left = 1 + random.below(WRITES_MAX); left > 0; left--) {
    const sentMs = performance.now();
    await write(run, api, client);
    usualMs = Math.min(usualMs, performance.now() - sentMs);
  }
  // Acknowledged, so it is synced; nothing else is being written at this moment.
  const before = await readLogs(dataDir);

  const last = run.journal.record(pickWorkload(STANDARD_MIX, client.random).write(client));
  const share = CUT_FROM + (CUT_TO - CUT_FROM) * random.below(1_000) / 1_000;
  const cutMs = performance.now() + share * usualMs;
  const answer = api.write(last).catch(() => undefined);
  // A timer has a resolution of whole milliseconds; a write begins and ends within one.
  while (performance.now() < cutMs) await new Promise((resolve) => setImmediate(resolve));
  Deno.kill(server.pid, "SIGSTOP");
  const copy = await copyFolder(dataDir);
  await server.kill();
  // The answer may have left before the stop.
  const heard = await answer;
  if (heard?.status === 201) {
    last.outcome = "acknowledged";
    last.streamIds = heard.streamIds;
  } else await tear(run, copy, before, random.fork(2));
  api.close();
  await Deno.remove(dataDir, { recursive: true });

  const heir = await startServer({ dataDir: copy });
  const written = run.journal.operations.slice(first);
  faults.push(...await look(run, heir, { written, random, checks: STANDARD_CHECKS }));
  await heir.kill();
  return copy;
}

async function write(run: Run, api: Api, client: ClientContext): Promise<void> {
  const operation = run.journal.record(pickWorkload(STANDARD_MIX, client.random).write(client));
  const { status, streamIds, body } = await api.write(operation);
  assert.equal(status, 201, JSON.stringify(body));
  operation.outcome = "acknowledged";
  operation.streamIds = streamIds;
}

/**
 * Tears the bytes added to each log since `before`, from a random byte on. A log that was
 * restarted is left alone.
 */
async function tear({ tears }: Run, folder: string, before: Logs, random: Random): Promise<void> {
  const after = await readLogs(folder);
  let isTorn = false;
  const how = random.pick(TEARS);
  for (const [index, { name, endOf }] of LOGS.entries()) {
    const [old, log] = [before[index]!, after[index]!];
    const synced = endOf(old);
    const end = Math.max(endOf(log), log.length);
    if (end <= synced || !isLonger(log, old, synced)) continue;
    isTorn = true;
    const from = synced + random.below(end - synced + 1);
    await Deno.writeFile(
      `${folder}/${name}`,
      tearLog(log, { from, tear: how, old, randomByte: () => random.below(256) }),
    );
  }
  const done = isTorn ? how : "none";
  tears.set(done, (tears.get(done) ?? 0) + 1);
}

async function copyFolder(from: string): Promise<string> {
  const to = await Deno.makeTempDir({ prefix: "daybook_torn_" });
  for await (const { name, isFile } of Deno.readDir(from)) {
    // The WAL's index is shared memory, which does not survive a power cut.
    if (isFile && !name.endsWith("-shm")) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
  return to;
}

interface Looked {
  readonly written: readonly Operation[];
  readonly random: Random;
  readonly checks: typeof STANDARD_CHECKS;
}

async function look(
  { journal, streams }: Run,
  server: ServerProcess,
  { written, random, checks }: Looked,
): Promise<string[]> {
  const api = connectApi(server);
  const faults: string[] = [];
  for (const { name, run } of checks) {
    const found = await run({ api, server, journal, streams, written, random });
    faults.push(...found.map((fault) => `${name}: ${fault}`));
    if (found.length > 0) break;
  }
  written.forEach((operation) => settle(operation, journal));
  api.close();
  return faults;
}
