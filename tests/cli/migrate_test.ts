/** `daybook migrate`, as somebody who comes from another system runs it, on a real server. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "../../src/domain/json.ts";
import type { RefusedCount } from "../../src/domain/migrate/tally.ts";
import { assertMoved, feedOf, linesOf, messageRows } from "../support/migrate_fixtures.ts";
import { type Ran, runCli } from "../support/run_cli.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

interface Scene {
  readonly server: ServerProcess;
  readonly folder: string;
  readonly daybook: (...args: readonly string[]) => Promise<Ran>;
  readonly file: (name: string, text: string) => Promise<string>;
}

async function withServer(body: (scene: Scene) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_migrate_" });
  const server = await startServer();
  const env = { DAYBOOK_DATA_DIR: server.dataDir, XDG_CONFIG_HOME: `${folder}/config` };
  try {
    await body({
      server,
      folder,
      daybook: (...args) => runCli(args, { env }),
      async file(name, text) {
        await Deno.writeTextFile(`${folder}/${name}`, text);
        return `${folder}/${name}`;
      },
    });
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
}

async function entriesOf(folder: string): Promise<string[]> {
  const names = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  return names.sort();
}

Deno.test("a plan is made, its drafts are deployed and run, and the result has the plan's counts", async () => {
  await withServer(async ({ daybook, file, folder, server }) => {
    const rows = messageRows(2_000, 40);
    const dump = await file("messages.ndjson", linesOf(rows));
    const planned = await daybook(...["migrate", "plan", "--from", "message-db", "--json", dump]);
    assert.equal(planned.code, 0, planned.stdout + planned.stderr);
    const plan = JSON.parse(planned.stdout);
    assert.deepEqual([plan.events, plan.streams], [2_000, 40]);
    assert.deepEqual(plan.counts.moved, { "account.opened": 40, "account.deposited": 1_960 });
    assert.deepEqual(plan.lost, { "metadata.userId": 2_000 });
    assert.deepEqual(await entriesOf(folder), ["messages.ndjson"]);

    const drafts = `${folder}/drafts`;
    const written = await daybook("migrate", "plan", "--from", "message-db", "--out", drafts, dump);
    assert.equal(written.code, 0);
    assert.match(written.stdout, /2000 of 2000 events would be moved/);
    assert.deepEqual(await entriesOf(drafts), ["map.json", "plan.json", "spec.json"]);
    assert.equal((await daybook("deploy", `${drafts}/spec.json`)).code, 0);

    const run = ["migrate", "run", "--from", "message-db", "--map", `${drafts}/map.json`, "--json"];
    const ran = await daybook(...run, dump);
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    const first = JSON.parse(ran.stdout);
    assert.deepEqual(first.counts, plan.counts);
    assert.deepEqual([first.written, first.stored], [2_000, 2_000]);
    await assertMoved(server, rows);

    const again = JSON.parse((await daybook(...run, dump)).stdout);
    assert.deepEqual([again.written, again.stored], [0, 2_000]);
    assert.deepEqual(again.counts, plan.counts);
    await assertMoved(server, rows);

    const later = await file("later.ndjson", linesOf(messageRows(2_010, 40)));
    const twice = await daybook(...run, "--append", later);
    assert.deepEqual([twice.code, JSON.parse(twice.stdout).error_type], [1, "moved_before"]);
    await assertMoved(server, rows);
    const other = await file("other.ndjson", linesOf(messageRows(10, 2, "b")));
    const refused = await daybook(...run, other);
    assert.deepEqual([refused.code, JSON.parse(refused.stdout).error_type], [1, "not_empty"]);
    const added = JSON.parse((await daybook(...run, "--append", other)).stdout);
    assert.deepEqual([added.written, added.stored], [10, 10]);
  });
});

Deno.test("a plan names line and rule of what would be refused; a run stops there, or leaves it out", async () => {
  await withServer(async ({ daybook, file, folder, server }) => {
    const rows = messageRows(50, 5);
    const faulty: JsonObject[] = rows.map((row, at) =>
      at === 19
        ? { ...row, time: "never" }
        : at === 29
        ? { ...row, data: { at: "x", note: "" } }
        : row
    );
    const dump = await file("messages.ndjson", linesOf(faulty).replace(/\n$/, "\n\nno JSON\n"));
    const drafts = `${folder}/drafts`;
    const sound = await file("sound.ndjson", linesOf(rows));
    await daybook("migrate", "plan", "--from", "message-db", "--out", drafts, sound);
    const map = await file(
      "map.json",
      JSON.stringify({
        ...JSON.parse(await Deno.readTextFile(`${drafts}/map.json`)),
        actor: { type: "imported", from: "metadata.userId" },
      }),
    );
    const options = ["--from", "message-db", "--map", map];
    const planned = await daybook(
      ...["migrate", "plan", ...options, "--spec", `${drafts}/spec.json`, "--json", dump],
    );
    assert.equal(planned.code, 4);
    const { counts, lost } = JSON.parse(planned.stdout);
    assert.deepEqual(lost, {});
    const refused = counts.refused as Readonly<Record<string, RefusedCount>>;
    const lines = Object.fromEntries(
      Object.entries(refused).map(([rule, { count, examples: [first] }]) => [
        rule,
        [count, first!.line, first!.path],
      ]),
    );
    assert.deepEqual(lines, {
      time_missing: [1, 20, undefined],
      schema_validation: [1, 30, "data.at"],
      not_json: [1, 52, undefined],
    });
    assert.equal(counts.events, 48);

    assert.equal((await daybook("deploy", `${drafts}/spec.json`)).code, 0);
    const stopped = await daybook("migrate", "run", ...options, "--json", dump);
    assert.equal(stopped.code, 1);
    assert.match(JSON.parse(stopped.stdout).error, /^Line 20: \[time_missing\]/);

    const skipping = await daybook("migrate", "run", ...options, "--skip-refused", "--json", dump);
    assert.equal(skipping.code, 0, skipping.stdout + skipping.stderr);
    assert.deepEqual(JSON.parse(skipping.stdout).counts, counts);
    await assertMoved(server, faulty.filter((_, at) => at !== 19 && at !== 29));
    const actors = new Set<unknown>();
    for await (const { event } of feedOf(server)) actors.add((event.metadata as JsonObject).actor);
    assert.equal(new Set([...actors].map((actor) => JSON.stringify(actor))).size, 3);
  });
});

Deno.test("a server that refuses an event tells its line in the file, and a mended map goes on", async () => {
  await withServer(async ({ daybook, file, server }) => {
    const rows = messageRows(30, 3);
    const dump = await file("messages.ndjson", linesOf(rows));
    const events = { Opened: "opened", Deposited: "deposited" };
    const schema = { type: "object" };
    const spec = await file(
      "spec.json",
      JSON.stringify({
        agent_types: ["imported"],
        aggregate_types: { account: { events: { opened: { schema, handler: [] } } } },
      }),
    );
    assert.equal((await daybook("deploy", spec)).code, 0);
    const map = await file(
      "map.json",
      JSON.stringify({ streams: { account: { type: "account", events } } }),
    );
    const run = ["migrate", "run", "--from", "message-db", "--map", map, "--json", dump];
    const refused = await daybook(...run);
    assert.equal(refused.code, 1);
    const told = JSON.parse(refused.stdout);
    assert.deepEqual([told.line, told.status], [4, 422], refused.stdout);
    const fuller = await file(
      "spec2.json",
      JSON.stringify({
        agent_types: ["imported"],
        aggregate_types: {
          account: {
            events: { opened: { schema, handler: [] }, deposited: { schema, handler: [] } },
          },
        },
      }),
    );
    assert.equal((await daybook("deploy", fuller)).code, 0);
    const done = JSON.parse((await daybook(...run)).stdout);
    assert.deepEqual([done.written, done.stored], [27, 30]);
    await assertMoved(server, rows);

    const others = messageRows(30, 3, "z");
    const cut = await file("cut.ndjson", `${linesOf(others.slice(0, 20))}[`);
    await Deno.writeFile(cut, Uint8Array.of(0xff, 0x0a), { append: true });
    const adding = ["migrate", "run", "--from", "message-db", "--map", map, "--append", "--json"];
    const { line, error_type, hint } = JSON.parse((await daybook(...adding, cut)).stdout);
    assert.deepEqual([line, error_type], [21, "not_utf8"]);
    const [, name] = /--name (\S+)\.$/.exec(hint)!;
    const mended = await file("mended.ndjson", linesOf(others));
    const whole = JSON.parse((await daybook(...adding, "--name", name!, mended)).stdout);
    assert.deepEqual([whole.written, whole.stored], [30, 30]);
  });
});

Deno.test("migrate explains a source, a file, a map and a spec that are not there", async () => {
  const dump = await Deno.makeTempFile();
  await Deno.writeTextFile(dump, '{"a":1}\n');
  const map = `${dump}.map.json`;
  await Deno.writeTextFile(map, '{"columns":{"id":"a"}}');
  const cases: readonly [args: readonly string[], text: RegExp, code: number][] = [
    [["plan", dump], /Say where the file is from/, 2],
    [["plan", "--from", "mesage-db", dump], /message-db/, 2],
    [["plan", "--from", "csv", "/nowhere"], /There is no file/, 2],
    [["plan", "--from", "csv", "/dev/null"], /it is no file/, 2],
    [["plan", "--from", "csv", ROOT], /it is no file/, 2],
    [["plan", "--from", "emmett", "--map", map, dump], /columns: is of csv and ndjson only/, 2],
    [["plan", "--from", "csv", "--map", "/nowhere", dump], /There is no file/, 2],
    [["plan", "--from", "csv", "--map", dump, dump], /a: there is no such field/, 2],
    [["plan", "--from", "message-db", dump], /field_missing/, 4],
  ];
  for (const [args, text, code] of cases) {
    const ran = await runCli(["migrate", ...args]);
    assert.match(ran.stdout + ran.stderr, text);
    assert.equal(ran.code, code, args.join(" "));
  }
  await Promise.all([dump, map].map((path) => Deno.remove(path)));
});

/** As Emmett 0.42 makes it: src/packages/emmett-sqlite/src/eventStore/schema/tables.ts. */
const EMMETT_TABLE = `CREATE TABLE emt_messages(
  stream_id TEXT NOT NULL, stream_position BIGINT NOT NULL,
  partition TEXT NOT NULL DEFAULT 'global', message_kind CHAR(1) NOT NULL DEFAULT 'E',
  message_data JSONB NOT NULL, message_metadata JSONB NOT NULL,
  message_schema_version TEXT NOT NULL, message_type TEXT NOT NULL, message_id TEXT NOT NULL,
  is_archived BOOLEAN NOT NULL DEFAULT FALSE, global_position INTEGER PRIMARY KEY,
  created DATETIME DEFAULT CURRENT_TIMESTAMP,
  UNIQUE (stream_id, stream_position, partition, is_archived))`;

const NOT_JSON = { rule: "not_json" };

Deno.test("a file of Emmett's SQLite store is read as it is, in the order of its positions", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_emmett_" });
  const path = `${folder}/emmett.db`;
  const database = new DatabaseSync(path);
  database.exec(EMMETT_TABLE);
  const insert = database.prepare(`INSERT INTO emt_messages VALUES
    (?, ?, 'global', ?, ?, '{}', '1', ?, ?, 0, ?, '2024-03-01 10:00:00')`);
  for (let at = 1_200; at > 0; at--) {
    const data = JSON.stringify({ at });
    insert.run("cart-7", at, at === 9 ? "C" : "E", data, "ItemAdded", `m${at}`, at);
  }
  // What SQLite lets a program write, and no event is.
  insert.run("cart-7", 1_201, "E", "{", "ItemAdded", "m1201", 1_201);
  insert.run("cart-7", 1_202, "E", new TextEncoder().encode("{}"), "ItemAdded", "m1202", 1_202);
  insert.run("cart-7", 1_203, "E", '"x"', "ItemAdded", "m1203", 1_203);
  database.close();
  const ran = await runCli(["migrate", "plan", "--from", "emmett", "--json", path]);
  assert.equal(ran.code, 4, ran.stdout);
  const { streams, counts } = JSON.parse(ran.stdout);
  assert.deepEqual([streams, counts], [1, {
    events: 1_199,
    moved: { "cart.item_added": 1_199 },
    left_out: {},
    skipped: { commands: 1 },
    refused: {
      not_json: {
        count: 3,
        examples: [
          { line: 1_201, ...NOT_JSON, message: "message_data is no object or list of JSON" },
          { line: 1_202, ...NOT_JSON, message: "message_data has bytes instead of text" },
          { line: 1_203, ...NOT_JSON, message: "message_data is no object or list of JSON" },
        ],
      },
    },
  }]);
  const other = await runCli(["migrate", "plan", "--from", "marten", path]);
  assert.match(other.stdout, /a file of SQLite is none of marten/);
  assert.equal(other.code, 1);
  await Deno.remove(folder, { recursive: true });
});
