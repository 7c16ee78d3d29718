/**
 * The real server, killed with `kill -9` and stopped politely while it imports a file. The file
 * is sent again under the same id to the restarted server. The import continues where the store
 * left off and stores exactly the file's events, as Python derives them from the file alone.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { exampleSpec } from "../support/example_spec.ts";
import { makeLines } from "../support/import_fixtures.ts";
import { sendSized } from "../support/send_sized.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { uuid } from "../support/service_fixture.ts";

const ORACLE = new URL("../support/import_oracle.py", import.meta.url).pathname;
const STREAMS = 400;
const PIECE_PAUSE_MS = 40;

interface Run {
  readonly form: "import_jsonl" | "cold_start";
  readonly events: number;
  readonly kills: number;
  readonly stops: number;
}

/** A cold start imports more at a time. */
const RUNS: readonly Run[] = [
  { form: "import_jsonl", events: 12_000, kills: 4, stops: 2 },
  { form: "cold_start", events: 45_000, kills: 2, stops: 1 },
];

async function hasPython(): Promise<boolean> {
  try {
    const command = new Deno.Command("python3", { args: ["--version"], stdout: "null" });
    return (await command.output()).success;
  } catch {
    return false;
  }
}

const isThere = await hasPython();
if (!isThere) console.log("the independent count of imports was left out: no python3");

for (const run of RUNS) {
  Deno.test({
    name:
      `${run.form}: a server killed and stopped half-way, again and again, has every event once`,
    ignore: !isThere,
    async fn() {
      const dataDir = await Deno.makeTempDir({ prefix: "daybook_import_" });
      try {
        await importThroughCrashes(dataDir, run);
      } finally {
        await Deno.remove(dataDir, { recursive: true });
      }
    },
  });
}

async function importThroughCrashes(dataDir: string, run: Run): Promise<void> {
  const { form, events, kills, stops } = run;
  const file = `${dataDir}/events.jsonl`;
  const lines = makeLines({ events, streams: STREAMS, padding: 900 });
  await Deno.writeTextFile(file, lines.map((line) => `${line}\n`).join(""));
  let server = await startServer({ dataDir });
  try {
    await deploy(server);
    let before = 0;
    for (let round = 0; round < kills + stops; round++) {
      const share = before + (events - before) / (kills + stops + 1 - round);
      const sent = sendFile(server, form, file).catch((error: Error) => error);
      await untilWritten(server, share, sent);
      if (round < kills) await server.kill();
      else assert.equal(await server.stop(), 0, server.output());
      const outcome = await sent;
      if (round >= kills && "status" in outcome) await assertStopped(outcome);
      server = await startServer({ dataDir });
      const written = await writtenOf(server);
      assert.ok(written >= share, `${written} of ${share}`);
      if (form === "import_jsonl") assert.equal(await countStored(server), written);
      before = written;
    }
    assert.ok(before < events, "the last one came after the end of the import");
    const reply = await sendFile(server, form, file);
    const body = await reply.json();
    assert.deepEqual([reply.status, body.written, body.import.written], [
      200,
      events - before,
      events,
    ]);
    await assertStored(server, file);
  } finally {
    await server.kill();
  }
}

/**
 * The stop may instead have come too late for an answer; if there is one, it must be this 503.
 */
async function assertStopped(outcome: Response): Promise<void> {
  const { error_type, import: told } = await outcome.json();
  assert.deepEqual([outcome.status, error_type, told.import_id], [503, "unavailable", "load"]);
}

function call(server: ServerProcess, path: string, init: RequestInit = {}): Promise<Response> {
  const { operator_token, keys } = server.credentials;
  const isOperators = path.startsWith("/_admin") || path.startsWith("/api");
  const token = isOperators ? operator_token : keys.test.read;
  const headers = { authorization: `Bearer ${token}`, ...init.headers };
  return fetch(`${server.baseUrls.test}${path}`, { ...init, headers });
}

async function deploy(server: ServerProcess): Promise<void> {
  const { instance_id } = server.credentials;
  const reply = await call(server, `/api/instances/${instance_id}/spec`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ environment: "test", spec: exampleSpec }),
  });
  assert.equal(reply.status, 200, await reply.text());
}

/**
 * Sends slowly behind the byte `from`, so that a crash hits midway; everything before is
 * stored.
 */
async function* pausing(path: string, from: number) {
  let bytes = 0;
  for await (const piece of (await Deno.open(path)).readable) {
    bytes += piece.length;
    if (bytes > from) await new Promise((resolve) => setTimeout(resolve, PIECE_PAUSE_MS));
    yield piece;
  }
}

async function sendFile(server: ServerProcess, form: string, path: string): Promise<Response> {
  const { size } = await Deno.stat(path);
  const known = await (await call(server, "/_admin/imports/load")).json();
  const url = `${server.baseUrls.test}/_admin/${form}?import_id=load`;
  return await sendSized(
    url,
    server.credentials.operator_token,
    size,
    pausing(path, known.import?.bytes ?? 0),
  );
}

async function writtenOf(server: ServerProcess): Promise<number> {
  const reply = await call(server, "/_admin/imports/load");
  const body = await reply.json();
  return reply.status === 200 ? body.import.written : 0;
}

async function untilWritten(
  server: ServerProcess,
  events: number,
  sent: Promise<Response | Error>,
): Promise<void> {
  let over: Response | Error | undefined;
  sent.then((outcome) => over = outcome);
  for (let turn = 0; turn < 20_000; turn++) {
    if (await writtenOf(server) >= events) return;
    assert.equal(over, undefined, "the import ended before the crash");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.fail("the import does not get on");
}

async function countStored(server: ServerProcess): Promise<number> {
  let sum = 0;
  for (let stream = 0; stream < STREAMS; stream++) {
    const reply = await call(server, `/order/${uuid(stream)}/length`);
    sum += (await reply.json()).length;
  }
  return sum;
}

async function assertStored(server: ServerProcess, file: string): Promise<void> {
  const oracle = await new Deno.Command("python3", { args: [ORACLE, file] }).output();
  assert.ok(oracle.success, new TextDecoder().decode(oracle.stderr));
  const expected: Record<string, [number, string, string]> = JSON.parse(
    new TextDecoder().decode(oracle.stdout),
  );
  assert.equal(Object.keys(expected).length, STREAMS);
  for (const [key, story] of Object.entries(expected)) {
    const id = key.slice("order:".length);
    const reply = await call(server, `/order/${id}/events?raw=true&count=5000`);
    const { data, truncated } = await reply.json();
    assert.equal(truncated, false);
    const digest = createHash("sha256");
    for (const { raw } of data) digest.update(`${raw}\n`);
    assert.deepEqual([data.length, data.at(-1).hash, digest.digest("hex")], story, key);
  }
}
