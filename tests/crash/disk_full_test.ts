/**
 * A disk that fills up under load. Writes are refused as unavailable, reads go on, and nothing
 * acknowledged is lost; when there is room again, the same server writes again.
 */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { type Api, connectApi } from "./api.ts";
import { FINAL_CHECKS } from "./checks.ts";
import { clientContext } from "./clients.ts";
import { createJournal, type Journal, type Operation } from "./journal.ts";
import { createRandom, type Random } from "./random.ts";
import { canMount, type SmallDisk, withSmallDisk } from "./small_disk.ts";
import { CRASH_SPEC, pickWorkload, STANDARD_MIX } from "./workload.ts";

const DISK_MEGABYTES = 40;
const BALLAST_BYTES = 12 * 1024 * 1024;
const CLIENTS = 6;
/** A client that is refused this often in a row concludes that the disk is full. */
const REFUSALS = 8;
const FILL_MS_MAX = 180_000;
const RECOVER_MS_MAX = 20_000;

interface Scene {
  readonly api: Api;
  readonly journal: Journal;
  readonly random: Random;
  readonly pool: readonly string[];
}

const mounts = await canMount();
if (!mounts) console.log("The tests of a full disk are skipped: this user may not mount one");

Deno.test({
  name: "a full disk refuses writes, loses nothing, and is written to again when it has room",
  ignore: !mounts,
  fn: async () => {
    const seed = Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`crash seed ${seed}`);
    await withSmallDisk(DISK_MEGABYTES, (disk) => fillAndRecover(disk, seed));
  },
});

async function fillAndRecover(disk: SmallDisk, seed: number): Promise<void> {
  const random = createRandom(seed);
  const journal = createJournal();
  const pool = Array.from({ length: 12 }, () => random.uuid());
  await disk.takeBallast(BALLAST_BYTES);
  const dataDir = `${disk.folder}/data`;
  let server = await startServer({ dataDir });
  try {
    let api = connectApi(server);
    await api.deploySpec(CRASH_SPEC);
    const scene = { api, journal, random, pool };
    const statuses = await writeUntilFull(scene);
    assert.deepEqual([...statuses.keys()].sort(), [201, 503], [...statuses].join());
    await assertReads(scene);
    await disk.dropBallast();
    await writeAgain(scene);
    api.close();
    await server.kill();

    // Killed while the disk is full, and started on the full disk.
    await disk.takeBallast(2 * DISK_MEGABYTES * 1024 * 1024);
    server = await startServer({ dataDir });
    api = connectApi(server);
    await assertReads({ ...scene, api });
    api.close();
    await server.kill();
    await disk.dropBallast();
    server = await startServer({ dataDir });
    api = connectApi(server);
    const faults = await lookAtAll({ ...scene, api }, server);
    api.close();
    assert.deepEqual(faults, []);
    assert.equal(await server.stop(), 0, server.output());
  } finally {
    await server.kill();
  }
}

/** Returns how often each status was answered, until every client was refused again and again. */
async function writeUntilFull(scene: Scene): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const endsMs = performance.now() + FILL_MS_MAX;
  await Promise.all(Array.from({ length: CLIENTS }, async (_, number) => {
    const client = clientContext(
      scene.pool,
      { id: scene.pool[number]! },
      scene.random.fork(number),
    );
    for (let refusals = 0; refusals < REFUSALS && performance.now() < endsMs;) {
      const operation = scene.journal.record(
        pickWorkload(STANDARD_MIX, client.random).write(client),
      );
      const { status, body, headers } = await send(scene.api, operation);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      refusals = status === 201 ? 0 : refusals + 1;
      if (status !== 503) continue;
      assert.equal(body.error_type, "unavailable");
      assert.match(headers.get("retry-after") ?? "", /^\d+$/);
    }
  }));
  return statuses;
}

/** A write that was answered 503 may have landed or not, like one without an answer. */
async function send(api: Api, operation: Operation) {
  const reply = await api.write(operation);
  if (reply.status === 201) {
    operation.outcome = "acknowledged";
    operation.streamIds = reply.streamIds;
  }
  return reply;
}

async function assertReads({ api, journal }: Scene): Promise<void> {
  const written = journal.operations.filter(({ outcome }) => outcome === "acknowledged");
  for (const { targets } of written.slice(-20)) {
    const key = `${targets[0]!.aggregateType}:${targets[0]!.id}`;
    const length = await api.length(key);
    const entries = await api.events(key);
    assert.equal(entries.length, length);
    assert.equal((await api.aggregate(key, false)).length, length);
  }
}

/** Writes must succeed again without a restart, within the time that a person would wait. */
async function writeAgain(scene: Scene): Promise<void> {
  const client = clientContext(scene.pool, { id: scene.pool[0]! }, scene.random.fork(-1));
  const endsMs = performance.now() + RECOVER_MS_MAX;
  for (let written = 0; written < 50;) {
    const operation = scene.journal.record(pickWorkload(STANDARD_MIX, client.random).write(client));
    const { status } = await send(scene.api, operation);
    if (status === 201) written++;
    else await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(performance.now() < endsMs, "the server did not write again");
  }
}

async function lookAtAll(
  { api, journal, random }: Scene,
  server: ServerProcess,
): Promise<string[]> {
  const life = { api, server, journal, streams: new Map(), written: journal.operations, random };
  const faults: string[] = [];
  for (const { name, run } of FINAL_CHECKS) {
    faults.push(...(await run(life)).map((fault) => `${name}: ${fault}`));
    if (faults.length > 0) break;
  }
  return faults;
}
