/** The commands that call a server, as a person or a script runs them, on a real server. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { JsonObject } from "../../src/domain/json.ts";
import { type Ran, runCli, type RunningCli, startCli } from "../support/run_cli.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { until } from "../support/until.ts";

const ORDER = "order:7KD2M9QXA";

const FIRST = {
  agent_types: ["user"],
  aggregate_types: {
    order: {
      events: {
        was_placed: {
          schema: { type: "object", properties: { customer: { type: "string" } } },
          handler: { set: { target: "customer", value: "$.data.customer" } },
        },
      },
    },
  },
};

/** A copy of the first spec with another part in its one event type. */
function variant(part: JsonObject): JsonObject {
  const copy = structuredClone(FIRST);
  Object.assign(copy.aggregate_types.order.events.was_placed, part);
  return copy as unknown as JsonObject;
}

interface Scene {
  readonly server: ServerProcess;
  /** Runs a command in a folder of its own, where the server's data folder is known. */
  readonly daybook: (...args: readonly string[]) => Promise<Ran>;
  readonly file: (name: string, content: unknown) => Promise<string>;
  readonly env: Readonly<Record<string, string>>;
}

async function withServer(body: (scene: Scene) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_remote_" });
  const server = await startServer();
  const env = { DAYBOOK_DATA_DIR: server.dataDir, XDG_CONFIG_HOME: `${folder}/config` };
  try {
    await body({
      server,
      env,
      daybook: (...args) => runCli(args, { env }),
      async file(name, content) {
        const path = `${folder}/${name}`;
        const text = typeof content === "string" ? content : JSON.stringify(content);
        await Deno.writeTextFile(path, text);
        return path;
      },
    });
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
}

function json({ stdout }: Ran): JsonObject {
  return JSON.parse(stdout);
}

Deno.test("a spec is deployed, compared and refused, with an exit code for each", async () => {
  await withServer(async ({ daybook, file }) => {
    const first = await file("first.jsonc", `// A comment\n${JSON.stringify(FIRST)}`);
    const new_ = await daybook("diff", first);
    assert.equal(new_.code, 3, new_.stderr);
    assert.match(new_.stdout, /Compatible: 2 changes from test, which has no spec yet/);
    const tried = await daybook("deploy", first, "--dry-run", "--json");
    assert.deepEqual([tried.code, json(tried).deployed], [0, false]);
    const deployed = json(await daybook("deploy", first, "--json"));
    assert.deepEqual([deployed.deployed, deployed.version, deployed.environment], [
      true,
      1,
      "test",
    ]);
    const again = await daybook("deploy", first);
    assert.deepEqual([again.code, again.stderr], [0, ""]);
    assert.match(again.stdout, /^Nothing to deploy: test has this spec already, as version 1\.$/m);
    const same = await daybook("diff", first);
    assert.deepEqual([same.code, same.stdout], [0, "No difference from test, version 1.\n"]);

    const handler = await file("handler.json", variant({ handler: [] }));
    const differs = await daybook("diff", handler);
    assert.equal(differs.code, 3);
    assert.match(differs.stdout, /^order\.was_placed\n {2}~ handler states/m);
    assert.match(differs.stdout, /States of order are computed again\.$/m);
    assert.equal((await daybook("diff", handler, "--allow-changes")).code, 0);

    const schema = { type: "object", required: ["customer"] };
    const breaking = await file("breaking.json", variant({ schema }));
    const refused = await daybook("diff", breaking, "--json");
    assert.equal(refused.code, 4);
    const { verdict, violations } = json(refused);
    assert.equal(verdict, "refused");
    assert.equal((violations as JsonObject[])[0]!.rule, "required_added");
    const stopped = await daybook("deploy", breaking);
    assert.equal(stopped.code, 4);
    assert.match(stopped.stderr, /required_added: .*\n.*\n\s*\n +Outside of production, --force/);
    assert.equal((await daybook("deploy", breaking, "--force")).code, 0);
  });
});

Deno.test("what is stored is tried: events that would be refused, and states that change", async () => {
  await withServer(async ({ daybook, file }) => {
    assert.equal((await daybook("deploy", await file("spec.json", FIRST))).code, 0);
    for (const customer of ["Ada", "Ada, Countess of Lovelace"]) {
      const written = await daybook(
        "write",
        ORDER,
        "was_placed",
        "--data",
        `{"customer": "${customer}"}`,
      );
      assert.equal(written.code, 0, written.stderr);
    }
    const customer = { type: "string", maxLength: 10 };
    const schema = { type: "object", properties: { customer } };
    const count = { increment: { target: "count" } };
    const keep = { set: { target: "customer", value: "$.data.customer" } };
    const path = await file("next.json", variant({ schema, handler: [count, keep] }));
    const differs = await daybook("diff", path);
    assert.equal(differs.code, 3);
    const told = [
      "Tried 2 stored events and 1 aggregate:",
      "  order.was_placed: 1 event would be refused today",
      "      order:7KD2M9QXA#1: data.customer must have at most 10 characters",
      "  order: 1 state changes",
      "      order:7KD2M9QXA",
      "        - {}",
      '        + {"count":2}',
    ].join("\n");
    assert.ok(differs.stdout.includes(told), differs.stdout);
    for (const options of [["--dry-run"], []]) {
      const stopped = await daybook("deploy", path, "--check-data", "--json", ...options);
      assert.equal(stopped.code, 4);
      const { error_type, data_check } = json(stopped);
      assert.equal(error_type, "stored_events_refused");
      assert.equal((data_check as JsonObject).events, 2);
    }
    assert.match((await daybook("diff", path, "--no-check-data")).stdout, /^(?!.*Tried)/s);
    assert.equal((await daybook("deploy", path)).code, 0);
  });
});

Deno.test("a faulty spec is shown by file, line and column, and a module may be one", async () => {
  await withServer(async ({ daybook, file }) => {
    const faulty = variant({ handler: { sett: { target: "a", value: 1 } } });
    const path = await file("faulty.json", JSON.stringify(faulty, null, 1));
    const line = JSON.stringify(faulty, null, 1).split("\n").findIndex((text) =>
      text.includes('"sett"')
    );
    const column = '       "sett": {'.indexOf("{") + 1;
    const refused = await daybook("deploy", path);
    assert.equal(refused.code, 4);
    assert.match(refused.stderr, /operation_unknown: There is no operation "sett"/);
    const [, at] = /faulty\.json:(\d+:\d+) /.exec(refused.stderr) ?? [];
    assert.equal(at?.split(":")[0], String(line + 1));
    assert.ok(Number(at?.split(":")[1]) <= column, at);
    assert.equal((await daybook("diff", path)).code, 4);

    const broken = await daybook("deploy", await file("broken.json", '{"a": 1,\n  b}'));
    assert.deepEqual([broken.code, broken.stdout], [2, ""]);
    assert.match(broken.stderr, /broken\.json:2:3: this is not JSON/);
    assert.equal((await daybook("deploy", "/nonexistent.json")).code, 2);

    const source = `console.log("noise"); export const spec = ${JSON.stringify(FIRST)};`;
    const module_ = await daybook("deploy", await file("shop.ts", source), "--json");
    assert.deepEqual([module_.code, json(module_).version], [0, 1]);
    const none = await daybook("deploy", await file("none.ts", "export const a = 1;"));
    assert.equal(none.code, 2);
    assert.match(none.stderr, /exports no spec \(it exports a\)/);
  });
});

Deno.test("deploy --watch deploys again when the file changes, and outlives a faulty one", async () => {
  await withServer(async ({ daybook, env, file }) => {
    const path = await file("watched.json", FIRST);
    const watching = await startCli(["deploy", path, "--watch", "--json"], { env });
    await untilLines(watching, 1);
    assert.equal(json(await daybook("diff", path, "--json")).verdict, "same");
    await file("watched.json", "{");
    await untilLines(watching, 2);
    await file("watched.json", variant({ handler: [] }));
    await untilLines(watching, 3);
    await watching.interrupt();
    const answers = linesOf(watching).map((line) => JSON.parse(line));
    assert.deepEqual(answers.map(({ ok }) => ok), [true, false, true]);
    assert.deepEqual([answers[0].version, answers[2].version], [1, 2]);
  });
});

/** The lines that a command has printed to their end. */
function linesOf({ stdout }: RunningCli): string[] {
  return stdout().split("\n").slice(0, -1);
}

function untilLines(command: RunningCli, count: number): Promise<void> {
  return until(() => linesOf(command).length >= count, `line ${count}`);
}

Deno.test("events are written, listed, followed and folded from the command line", async () => {
  await withServer(async ({ daybook, env, file }) => {
    assert.equal((await daybook("deploy", await file("spec.json", FIRST))).code, 0);
    const written = await daybook("write", ORDER, "was_placed", "--data", '{"customer": "Ada"}');
    assert.match(written.stdout, /^Wrote was_placed to order:7KD2M9QXA of test as #0\.$/m);
    const data = await file("data.json", { customer: "Bob" });
    const options = ["--actor", "user:global", "--previous-length", "1", "--json"];
    const second = await daybook("write", ORDER, "was_placed", "--data", `@${data}`, ...options);
    assert.equal(json(second).stream_id, "000000000001");
    const conflict = await daybook("write", ORDER, "was_placed", "--previous-length", "1");
    assert.equal(conflict.code, 1);
    assert.match(conflict.stderr, /^error: Concurrent write detected/);
    const wrong = await daybook("write", ORDER, "was_placed", "--data", '{"customer": 5}');
    assert.equal(wrong.code, 1);
    assert.match(
      wrong.stderr,
      /^error: Event data failed.*\n {2}data\.customer must be a string$/m,
    );
    const piped = await runCli(["write", ORDER, "was_placed", "--data", "-"], {
      env,
      input: '{"customer": "Eve"}',
    });
    assert.equal(piped.code, 0, piped.stderr);

    const state = json(await daybook("state", ORDER, "--json"));
    assert.deepEqual(state.data, { customer: "Eve" });
    assert.equal((state.metadata as JsonObject).length, 3);
    const { events } = json(await daybook("events", "list", ORDER, "--limit", "2", "--json"));
    assert.deepEqual((events as JsonObject[]).map(({ id }) => id), [
      "000000000000",
      "000000000001",
    ]);
    const newest = await daybook("events", "list", ORDER, "--limit", "1", "--backwards");
    assert.match(newest.stdout, /#2 {2}was_placed {2}\{"customer":"Eve"\}/);

    const tail = ["events", "tail", "--from", "start", "--no-follow", "--json"];
    const all = (await daybook(...tail)).stdout.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(all.map(({ event }) => event.data.customer), ["Ada", "Bob", "Eve"]);
    const after = await daybook("events", "tail", "--from", all[1].cursor, "--no-follow");
    assert.match(
      after.stdout,
      /^\S+ {2}order:7KD2M9QXA#2 {2}was_placed {2}\{"customer":"Eve"\}\n$/,
    );
    const unknown = await daybook("events", "tail", "--types", "ordr");
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /there is no aggregate type 'ordr'/);
  });
});

Deno.test("state --live and events tail print what comes while they run", async () => {
  await withServer(async ({ daybook, env, file, server }) => {
    assert.equal((await daybook("deploy", await file("spec.json", FIRST))).code, 0);
    const live = await startCli(["state", ORDER, "--live", "--json"], { env });
    const tail = await startCli(["events", "tail", "--json"], { env });
    await until(async () => await countLive(server) === 2, "the live answers");
    await daybook("write", ORDER, "was_placed", "--data", '{"customer": "Ada"}');
    for (const command of [live, tail]) await untilLines(command, 1);
    for (const command of [live, tail]) await command.interrupt();
    const [states, events] = [live, tail].map((command) =>
      linesOf(command).map((line) => JSON.parse(line))
    );
    assert.deepEqual(states!.at(-1).data, { customer: "Ada" });
    assert.deepEqual(events!.map(({ event }) => event.data), [{ customer: "Ada" }]);
  });
});

/** Answers of the server that stay open. */
async function countLive({ baseUrls }: ServerProcess): Promise<number> {
  const text = await (await fetch(`${baseUrls.test}/metrics`)).text();
  return Number(/^daybook_live_answers\S* (\d+)$/m.exec(text)?.[1] ?? 0);
}

Deno.test("keys are issued, rotated by name and revoked", async () => {
  await withServer(async ({ daybook, server }) => {
    const issued = json(await daybook("keys", "issue", "ci", "--scope", "read", "--json"));
    assert.match(String(issued.key), /^dbk_0_test_/);
    const works = async (key: unknown) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`${server.baseUrls.test}/_feed`, { headers })).status;
    };
    assert.equal(await works(issued.key), 200);
    const rotated = json(await daybook("keys", "rotate", "ci", "--json"));
    assert.deepEqual([await works(issued.key), await works(rotated.key)], [401, 200]);
    const list = await daybook("keys", "list");
    assert.match(list.stdout, /^id +name +scope +created_at/);
    assert.ok(!list.stdout.includes("dbk_"), "a list never shows keys");
    assert.equal((await daybook("keys", "revoke", "ci")).code, 0);
    assert.equal(await works(rotated.key), 401);
    const gone = await daybook("keys", "revoke", "ci");
    assert.equal(gone.code, 2);
    assert.match(gone.stderr, /has no key of the id or name 'ci'/);
    const other = json(await daybook("keys", "issue", "x", "--env", "prod", "--json"));
    assert.match(String(other.key), /^dbk_0_prod_/);
  });
});

Deno.test("sql prints a table, CSV or JSON, and says why a query is refused", async () => {
  await withServer(async ({ daybook }) => {
    const query = "SELECT ? AS name, 1.5 AS price, NULL AS note";
    const table = await daybook("sql", query, "--param", "a,b");
    assert.equal(table.stdout, "name  price  note\n────  ─────  ────\na,b     1.5\n1 row\n");
    const csv = await daybook("sql", query, "--param", "a,b", "--csv");
    assert.equal(csv.stdout, 'name,price,note\r\n"a,b",1.5,\n');
    const { rows } = json(await daybook("sql", query, "--param", "7", "--json"));
    assert.deepEqual(rows, [{ name: 7, price: 1.5, note: null }]);
    const refused = await daybook("sql", "DELETE FROM orders");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^error: /);
  });
});

Deno.test("errors say what to do: expired token, wrong key, no server, no Daybook, an old one", async () => {
  await withServer(async ({ server, env, file }) => {
    const spec = await file("spec.json", FIRST);
    const run = (args: string[], more: Record<string, string>) =>
      runCli(args, { env: { ...env, ...more } });
    const secret = (await Deno.readTextFile(`${server.dataDir}/jwt_secret`)).trim();
    const expired = await run(["diff", spec], { DAYBOOK_TOKEN: tokenOf(secret, -60) });
    assert.equal(expired.code, 1);
    assert.match(expired.stderr, /The operator token ended at \d{4}-.*daybook login/s);
    const wrong = await run(["state", ORDER], { DAYBOOK_KEY: "dbk_0_test_wrong" });
    assert.match(wrong.stderr, /Invalid API key\n.*was revoked or rotated.*daybook keys issue/s);
    const { keys } = server.credentials;
    const address = server.baseUrls.test;
    const elsewhere = { DAYBOOK_KEY: keys.staging.write, DAYBOOK_URL: address };
    const environment = await run(["state", ORDER, "--env", "test"], elsewhere);
    assert.match(environment.stderr, /The key is one of staging/);

    assert.equal(await server.stop(), 0);
    const down = await run(["state", ORDER, "--json"], {});
    assert.equal(down.code, 1);
    assert.equal(json(down).error_type, "unreachable");
    assert.match(String(json(down).error), /^No server answers at http:\/\/127\.0\.0\.1:\d+\.$/);
    assert.match(String(json(down).hint), /deno task start/);

    await using other = answering(() => new Response("<html>Welcome</html>"));
    const page = await run(["state", ORDER], { DAYBOOK_URL: other.url, DAYBOOK_KEY: "x" });
    assert.match(page.stderr, /does not answer like Daybook: 200, <html>Welcome/);
    await using old = answering(() => {
      const error = "Unknown query parameter 'at_length'";
      return Response.json({ ok: false, error, error_type: "bad_request" }, { status: 400 });
    });
    const older = { DAYBOOK_URL: old.url, DAYBOOK_KEY: "x" };
    const unknown = await run(["state", ORDER, "--at-length", "1"], older);
    assert.match(unknown.stderr, /The server may be older than this command/);
  });
});

function answering(answer: () => Response) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { url, [Symbol.asyncDispose]: () => server.shutdown() };
}

function tokenOf(secretHex: string, seconds: number): string {
  const encode = (value: object) => btoa(JSON.stringify(value)).replace(/=+$/, "");
  const exp = Math.floor(Date.now() / 1000) + seconds;
  const body = `${encode({ alg: "HS256", typ: "JWT" })}.${
    encode({ sub: "a", role: "operator", exp })
  }`;
  const secret = Uint8Array.fromHex(secretHex);
  return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
}

Deno.test("without a server to call, a command says how to come by one", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_remote_" });
  try {
    const env = { DAYBOOK_DATA_DIR: `${folder}/none`, XDG_CONFIG_HOME: `${folder}/config` };
    const none = await runCli(["state", ORDER], { env });
    assert.equal(none.code, 2);
    assert.match(none.stderr, /There is no server to call.*\n.*deno task start.*daybook login/);
    const typo = await runCli(["deplyo"], { env });
    assert.match(typo.stderr, /Did you mean deploy\?/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
