/**
 * Erasure of a long stream, with `kill -9` on the real server again and again meanwhile. After
 * each start readers see all events or all markers. The erasure ends once, and then no file of
 * the store contains anything of the events.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { verifyReceipt } from "../../src/domain/erasure/receipt.ts";
import type { TombstoneView } from "../../src/domain/erasure/tombstone.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { checkStore } from "../../src/features/checks/check_store.ts";
import { exampleSpec } from "../support/example_spec.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { uuid } from "../support/service_fixture.ts";
import { createRandom } from "./random.ts";

const SECRET = "Grete-Samsa-of-Prague";
const ORDER = uuid(1);
/** 3,000 events of 16 KB: about fifty steps of rewriting and as many of removing. */
const BATCHES = 30;
const BATCH_EVENTS = 100;
const EVENTS = BATCHES * BATCH_EVENTS;
const LINES = 16;
/** Upper bound of the first life; each life is longer, so that the erasure ends. */
const LIFE_MS = 150;
const STARTS_MAX = 60;
const POLL_MS = 100;
const ERASED_TYPE = "_was_tombstoned";

interface Client {
  send(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
}

/** Uses the write key, or the operator token. */
function clientOf({ baseUrls, credentials }: ServerProcess, isOperator = false): Client {
  const token = isOperator ? credentials.operator_token : credentials.keys.test.write;
  return {
    async send(method, path, body) {
      const response = await fetch(`${baseUrls.test}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const answer = await response.json();
      assert.ok(response.ok, `${method} ${path}: ${JSON.stringify(answer)}`);
      return answer;
    },
  };
}

async function fill(server: ServerProcess): Promise<void> {
  const operator = clientOf(server, true);
  const path = `/api/instances/${server.credentials.instance_id}/spec`;
  await operator.send("POST", path, { environment: "test", spec: exampleSpec });
  const lines = Array.from({ length: LINES }, () => `${SECRET} `.repeat(45));
  const data = { customer: SECRET, lines };
  const events = Array.from({ length: BATCH_EVENTS }, () => ({ type: "was_placed", data }));
  const metadata = { actor: { type: "user", id: "global" } };
  const client = clientOf(server);
  for (let batch = 0; batch < BATCHES; batch++) {
    await client.send("POST", `/order/${ORDER}`, { events, metadata });
  }
  const text = { data: { text: "of another" }, metadata };
  await client.send("POST", `/order/${uuid(2)}/was_noted`, text);
  await operator.send("POST", "/_admin/anchors", { environment: "test" });
}

/**
 * All events of a page must have one type, and no events may follow markers: the swap may
 * happen between two pages. Returns the type of the first page.
 */
async function checkReaders(server: ServerProcess): Promise<string> {
  const client = clientOf(server);
  const { length } = await client.send("GET", `/order/${ORDER}/length`);
  assert.equal(length, EVENTS);
  const pages: string[] = [];
  for (const query of ["count=40", "count=40&direction=backwards"]) {
    const { data } = await client.send("GET", `/order/${ORDER}/events?${query}`) as {
      readonly data: { readonly event: { readonly type: string } }[];
    };
    assert.equal(data.length, 40);
    const types = new Set(data.map(({ event }) => event.type));
    assert.equal(types.size, 1, [...types].join());
    pages.push([...types][0]!);
  }
  assert.ok(pages[0] !== ERASED_TYPE || pages[1] === ERASED_TYPE, pages.join());
  return pages[0]!;
}

async function readTombstone(server: ServerProcess, id: string): Promise<TombstoneView> {
  const { tombstone } = await clientOf(server, true).send("GET", `/_admin/tombstones/${id}`);
  return tombstone as TombstoneView;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Files of the store that contain the text. */
function filesWith(dataDir: string, text: string): string[] {
  const names = [...Deno.readDirSync(dataDir)].filter(({ isFile }) => isFile);
  return names.map(({ name }) => name).filter((name) =>
    Buffer.from(Deno.readFileSync(join(dataDir, name))).includes(text)
  );
}

Deno.test("a server that is killed again and again erases a long stream, once and wholly", async () => {
  const seed = Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`crash seed ${seed}`);
  const random = createRandom(seed);
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_erasure_" });
  let server = await startServer({ dataDir });
  try {
    await fill(server);
    const wish = {
      key: `order:${ORDER}`,
      reason: "asked for",
      grace_hours: 0,
      environment: "test",
    };
    const { tombstone } = await clientOf(server, true).send("POST", "/_admin/tombstones", wish);
    const { id } = tombstone as { id: string };
    const seen: string[] = [];
    for (let starts = 1;; starts++) {
      assert.ok(starts < STARTS_MAX, `it does not end: ${seen.join(", ")}`);
      // Each life is longer: on a slow machine the erasure would otherwise never end.
      await sleep(random.below(LIFE_MS) * 1.1 ** starts);
      const { state, executed_at } = await readTombstone(server, id);
      if (state === "completed") break;
      seen.push(executed_at === undefined ? state : "removing");
      await server.kill();
      server = await startServer({ dataDir });
      const type = await checkReaders(server);
      if (executed_at !== undefined) assert.equal(type, ERASED_TYPE);
    }
    console.log(`killed ${seen.length} times: ${seen.join(", ")}`);
    assert.ok(seen.length > 1, "the load was too small to prove anything");
    let told = await readTombstone(server, id);
    for (let polls = 0; told.state !== "completed" && polls < 600; polls++) {
      await sleep(POLL_MS);
      told = await readTombstone(server, id);
    }
    assert.ok(verifyReceipt(told.receipt!));
    assert.deepEqual([told.receipt!.event_count, told.receipt!.generation], [EVENTS, 1]);
    assert.equal(await checkReaders(server), ERASED_TYPE);
    // Check while the server runs: closing a store empties its log too.
    assert.deepEqual(filesWith(dataDir, SECRET), []);
    await server.stop();
    const engine = openSqliteEngine({ path: join(dataDir, "daybook.sqlite") });
    assert.deepEqual((await checkStore(engine, true)).faults, []);
    await engine.close();
  } finally {
    await server.remove();
    await Deno.remove(dataDir, { recursive: true });
  }
});
