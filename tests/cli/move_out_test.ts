/**
 * Moving out: events as CloudEvents from a server, all of them or those behind a cursor, and back
 * into another server, whose states, lengths and data are then the same.
 */

import assert from "node:assert/strict";
import { parquetReadObjects } from "hyparquet";
import type { JsonObject } from "../../src/domain/json.ts";
import { exampleSpec } from "../support/example_spec.ts";
import { feedOf } from "../support/migrate_fixtures.ts";
import { runCli } from "../support/run_cli.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { uuid } from "../support/service_fixture.ts";

function environmentOf({ baseUrls, credentials }: ServerProcess): Record<string, string> {
  return {
    DAYBOOK_URL: baseUrls.test,
    DAYBOOK_TOKEN: credentials.operator_token,
    DAYBOOK_KEY: credentials.keys.test.write,
  };
}

async function daybook(server: ServerProcess, ...args: readonly string[]) {
  const ran = await runCli(args, { env: environmentOf(server) });
  assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
  return ran.stdout;
}

async function call(server: ServerProcess, path: string, body?: unknown): Promise<JsonObject> {
  const headers = {
    authorization: `Bearer ${server.credentials.keys.test.write}`,
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const reply = await fetch(`${server.baseUrls.test}${path}`, { headers, ...sent });
  const answer = await reply.json();
  assert.ok(reply.ok, JSON.stringify(answer));
  return answer;
}

/** Orders with events of two actors, with targets, batches and times of their own. */
async function writeOrders(server: ServerProcess, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++) {
    const actor = { type: number % 2 === 0 ? "user" : "admin", id: uuid(number) };
    const target = { type: "customer", id: "ABCD1100V" };
    const timestamp = 1_700_000_000 + number;
    const notes = ["é", '"', "\\", "x".repeat(number)].map((text) => ({
      type: "was_noted",
      data: { text, number: number / 7 },
    }));
    await call(server, `/order/${uuid(number)}`, {
      events: notes,
      metadata: { actor, target, timestamp },
    });
    await call(server, `/order/${uuid(number % 3)}/was_noted`, {
      data: { text: "again" },
      metadata: { actor: { type: "user", id: "global" }, timestamp },
    });
  }
}

/** States with their lengths and times, and events without what only one server knows. */
async function contentsOf(server: ServerProcess) {
  const { data } = await call(server, "/order?resolve=true&limit=200");
  const events = [];
  for await (const { event } of feedOf(server)) {
    const { origin: _, ...metadata } = event.metadata as JsonObject;
    events.push({ ...event, metadata });
  }
  return { states: data, events: events.map((event) => JSON.stringify(event)).sort() };
}

Deno.test("events go from one server as CloudEvents into another: states, lengths and data are equal", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_move_out_" });
  const [here, there] = await Promise.all([startServer(), startServer()]);
  try {
    const spec = `${folder}/spec.json`;
    await Deno.writeTextFile(spec, JSON.stringify(exampleSpec));
    for (const server of [here, there]) await daybook(server, "deploy", spec);
    await writeOrders(here, 0, 12);
    const options = ["--environment", "test", "--format", "cloudevents", "--out"];
    const cursor = (await daybook(here, "export", ...options, `${folder}/all.ndjson`)).trim();
    const all = await Deno.readTextFile(`${folder}/all.ndjson`);
    const source = `/instances/${here.credentials.instance_id}/test`;
    const lines = all.trim().split("\n").map((line) => JSON.parse(line));
    assert.equal(lines.length, 60);
    assert.equal(new Set(lines.map(({ id }) => id)).size, 60);
    assert.deepEqual(new Set(lines.map((line) => line.source)), new Set([source]));

    const from = ["--from", "cloudevents"];
    await daybook(
      here,
      "migrate",
      "plan",
      ...from,
      "--out",
      folder,
      "--json",
      `${folder}/all.ndjson`,
    );
    const run = ["migrate", "run", ...from, "--map", `${folder}/map.json`, "--json"];
    const first = JSON.parse(await daybook(there, ...run, `${folder}/all.ndjson`));
    assert.equal(first.stored, 60);
    assert.deepEqual(await contentsOf(there), await contentsOf(here));

    await writeOrders(here, 12, 20);
    const since = [...options, `${folder}/more.ndjson`, "--since", cursor];
    const next = (await daybook(here, "export", ...since)).trim();
    assert.ok(next > cursor);
    const more = JSON.parse(await daybook(there, ...run, "--append", `${folder}/more.ndjson`));
    assert.equal(more.stored, 40);
    assert.deepEqual(await contentsOf(there), await contentsOf(here));

    const nothing = ["--environment", "test", "--since", next, "--out", `${folder}/nothing.ndjson`];
    assert.equal((await daybook(here, "export", ...nothing)).trim(), next);
    assert.equal(await Deno.readTextFile(`${folder}/nothing.ndjson`), "");
  } finally {
    await Promise.all([here.remove(), there.remove()]);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an export as Parquet has a row for each event, as another library reads it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_move_out_" });
  const server = await startServer();
  try {
    const spec = `${folder}/spec.json`;
    await Deno.writeTextFile(spec, JSON.stringify(exampleSpec));
    await daybook(server, "deploy", spec);
    const options = ["--environment", "test", "--format", "parquet", "--out"];
    const rowsOf = async (name: string) => {
      const { buffer } = await Deno.readFile(`${folder}/${name}`);
      return await parquetReadObjects({ file: buffer });
    };
    await daybook(server, "export", ...options, `${folder}/none.parquet`);
    assert.deepEqual(await rowsOf("none.parquet"), []);
    await writeOrders(server, 0, 5);
    await daybook(server, "export", ...options, `${folder}/events.parquet`);
    const page = await call(server, "/_feed?limit=1000") as unknown as { data: FeedEntry[] };
    assert.deepEqual(await rowsOf("events.parquet"), page.data.map(rowOf));
    assert.equal(page.data.length, 25);
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
});

const TOTALS = {
  name: "totals",
  for_each: "order",
  sources: { order: "$key" },
  select: {
    customer: { path: "$.order.customer", type: "string" },
    total: { path: "$.order.total", type: "number" },
    whole: { path: "$.order.total", type: "integer" },
    moment: { path: "$.order.total", type: "timestamp" },
    lines: "$.order.lines",
  },
};

Deno.test("a projection as Parquet has the rows that its CSV has, with the types of its columns", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_move_out_" });
  const server = await startServer();
  const { operator_token, instance_id } = server.credentials;
  try {
    const spec = `${folder}/spec.json`;
    await Deno.writeTextFile(spec, JSON.stringify(exampleSpec));
    await daybook(server, "deploy", spec);
    const deployed = await fetch(
      `${server.baseUrls.test}/api/instances/${instance_id}/projections`,
      {
        method: "POST",
        headers: {
          authorization: `Bearer ${operator_token}`,
          "content-type": "application/json",
        },
        body: JSON.stringify({ projection: TOTALS, environment: "test" }),
      },
    );
    assert.equal(deployed.status, 201, await deployed.text());
    const metadata = { actor: { type: "user", id: "global" } };
    for (let number = 0; number < 203; number++) {
      const data = { customer: `é "${number}",\n`, total: number * 1.5 };
      await call(server, `/order/${uuid(number)}/was_placed`, { data, metadata });
    }
    const path = `${folder}/totals.parquet`;
    const env = ["--environment", "test"];
    const options = [...env, "--projection", "totals", "--format", "parquet", "--out"];
    await daybook(server, "export", ...options, path);
    const rows = await parquetReadObjects({ file: (await Deno.readFile(path)).buffer });
    const expected = Array.from({ length: 203 }, (_, number) => ({
      key: uuid(number),
      customer: `é "${number}",\n`,
      total: number * 1.5,
      whole: number % 2 === 0 ? BigInt(number * 1.5) : null,
      moment: new Date(number * 1_500),
      lines: "[]",
    }));
    assert.deepEqual(rows, expected);
    const csv = await fetch(`${server.baseUrls.test}/_projections/totals/export.csv`, {
      headers: { authorization: `Bearer ${server.credentials.keys.test.read}` },
    });
    const lines = rows.map(({ key, customer, total, whole, moment, lines }) =>
      `${key},"${customer.replaceAll('"', '""')}",${total},${
        whole ?? ""
      },${moment.toISOString()},${lines}`
    );
    const header = "key,customer,total,whole,moment,lines";
    assert.equal(await csv.text(), [header, ...lines].map((line) => `${line}\r\n`).join(""));

    const faults: readonly [args: readonly string[], text: RegExp][] = [
      [["--projection", "totels", "--format", "parquet"], /totals/],
      [["--projection", "totals"], /needs --format parquet/],
    ];
    for (const [args, text] of faults) {
      const faulty = ["export", ...env, ...args, "--out", `${folder}/no.parquet`];
      const ran = await runCli(faulty, { env: environmentOf(server) });
      assert.notEqual(ran.code, 0);
      assert.match(ran.stderr, text);
    }
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
});

interface FeedEntry {
  readonly cursor: string;
  readonly id: string;
  readonly hash: string;
  readonly event: {
    readonly key: string;
    readonly type: string;
    readonly data: JsonObject;
    readonly metadata: {
      readonly timestamp: number;
      readonly actor: { readonly type: string; readonly id: string };
    };
  };
}

function rowOf({ cursor, id, hash, event: { key, type, data, metadata } }: FeedEntry) {
  return {
    cursor,
    key,
    aggregate_type: "order",
    aggregate_id: key.slice("order:".length),
    stream_index: Number(id),
    event_type: type,
    time: new Date(metadata.timestamp * 1000),
    actor_type: metadata.actor.type,
    actor_id: metadata.actor.id,
    data: JSON.stringify(data),
    metadata: JSON.stringify(metadata),
    hash,
  };
}

Deno.test("an export of events has them as they are stored, and says what cannot be done", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_move_out_" });
  const server = await startServer();
  try {
    const spec = `${folder}/spec.json`;
    await Deno.writeTextFile(spec, JSON.stringify(exampleSpec));
    await daybook(server, "deploy", spec);
    await writeOrders(server, 0, 2);
    const env = ["--environment", "test"];
    const printed = await daybook(server, "export", ...env, "--format", "events", "--out", "-");
    const page = await call(server, "/_feed?raw=true") as unknown as {
      data: { raw: string }[];
      next: string;
    };
    const { next } = page;
    assert.deepEqual(printed.trim().split("\n"), page.data.map(({ raw }) => raw));
    const misused: readonly [args: readonly string[], text: RegExp][] = [
      [["--format", "xml", "--out", "-"], /There is no format 'xml'/],
      [["--since", "nonsense", "--out", "-"], /from must be start, now, or a cursor/],
      [["--since", "start", "--out", spec], /exists already/],
    ];
    for (const [args, text] of misused) {
      const ran = await runCli(["export", ...env, ...args], { env: environmentOf(server) });
      assert.notEqual(ran.code, 0);
      assert.match(ran.stderr, text);
    }
    const cursors = ["nonsense", next.replace(/.{4}$/, "ffff"), `${next}00`, "9".repeat(44)];
    for (const since of cursors) {
      const args = ["export", ...env, "--since", since, "--out", `${folder}/part.ndjson`];
      const ran = await runCli(args, { env: environmentOf(server) });
      assert.equal(ran.code, 1, since);
      assert.match(ran.stderr, /cursor/);
    }
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.deepEqual(names, ["spec.json"], "a refused export leaves nothing behind");
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
});
