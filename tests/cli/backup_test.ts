/** Backups and restores as operators do them: real servers, the command line, files. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCli } from "../support/run_cli.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { until } from "../support/until.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ACTOR = { actor: { type: "user", id: "global" } };

/** A listener is told of each order. */
function specFor(url: string) {
  return {
    agent_types: ["user"],
    aggregate_types: {
      order: {
        events: {
          was_placed: { schema: true, handler: [] },
        },
      },
    },
    modules: { listeners: { hook: { url, secret: SECRET, events: ["order.was_placed"] } } },
  };
}

interface Folder {
  readonly path: string;
  /** Starts a server on a folder within, which is removed with the rest. */
  serve(name: string, env?: Record<string, string>): Promise<ServerProcess>;
}

async function withFolder(body: (folder: Folder) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempDir({ prefix: "daybook_backups_" });
  const servers: ServerProcess[] = [];
  try {
    await body({
      path,
      async serve(name, more = {}) {
        const env = { DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true", ...more };
        const server = await startServer({ dataDir: join(path, name), env });
        servers.push(server);
        return server;
      },
    });
  } finally {
    for (const server of servers) if (server.howItEnded() === undefined) await server.kill();
    await Deno.remove(path, { recursive: true });
  }
}

/** A receiver that refuses until it is opened. */
function openReceiver() {
  const heard: string[] = [];
  const receiver = {
    heard,
    isOpen: false,
    url: "",
    close: () => server.shutdown(),
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { event } = await request.json();
    if (receiver.isOpen) heard.push(event.key);
    return new Response(null, { status: receiver.isOpen ? 200 : 503 });
  });
  receiver.url = `http://127.0.0.1:${server.addr.port}/`;
  return receiver;
}

function envOf({ dataDir, baseUrls }: ServerProcess): Record<string, string> {
  const { hostname, port } = new URL(baseUrls.production);
  return { DAYBOOK_DATA_DIR: dataDir, DAYBOOK_HOST: hostname, DAYBOOK_PORT: port };
}

interface Entry {
  readonly event: { readonly key: string; readonly type: string };
}

interface Sent {
  readonly body?: unknown;
  /** Default: the write key. */
  readonly token?: string;
}

async function call(
  server: ServerProcess,
  method: string,
  path: string,
  { body, token = server.credentials.keys.test.write }: Sent = {},
) {
  const response = await fetch(server.baseUrls.test + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

async function deploy(server: ServerProcess, spec: unknown): Promise<void> {
  const { instance_id, operator_token } = server.credentials;
  const path = `/api/instances/${instance_id}/spec`;
  const { status, body } = await call(server, "POST", path, {
    body: { environment: "test", spec },
    token: operator_token,
  });
  assert.equal(status, 200, JSON.stringify(body));
}

async function place(server: ServerProcess, number: number): Promise<void> {
  const id = `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
  const answer = await call(server, "POST", `/order/${id}/was_placed`, {
    body: { data: {}, metadata: ACTOR },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
}

/** Stores more than the sockets between a server and a client take in that nobody reads. */
async function storeLargeEvents(server: ServerProcess): Promise<void> {
  const { aggregate_types, agent_types } = specFor("");
  await deploy(server, { aggregate_types, agent_types });
  const body = { data: { text: "x".repeat(95_000) }, metadata: ACTOR };
  // A few at a time: a server on a busy machine answers 503 to a flood.
  await Promise.all(Array.from({ length: 5 }, async () => {
    for (let written = 0; written < 50; written++) {
      const path = `/order/${crypto.randomUUID()}/was_placed`;
      assert.equal((await call(server, "POST", path, { body })).status, 201);
    }
  }));
}

/** Erases a stream. Returns whether that is done, here and on servers restored from this one. */
async function erase(server: ServerProcess, key: string) {
  const { operator_token: token } = server.credentials;
  const body = { key, reason: "asked for", grace_hours: 0, environment: "test" };
  const asked = await call(server, "POST", "/_admin/tombstones", { body, token });
  assert.equal(asked.status, 202, JSON.stringify(asked.body));
  const path = `/_admin/tombstones/${asked.body.tombstone.id}?environment=test`;
  const isDone = (on: ServerProcess) => async () =>
    (await call(on, "GET", path, { token })).body.tombstone?.state === "completed";
  await until(isDone(server), "the erasure", 10_000);
  return isDone;
}

async function readFeed(server: ServerProcess, from: string) {
  return await call(server, "GET", `/_feed?from=${from}&limit=1000`);
}

Deno.test("a restored deployment is that of the backup, waits, and goes on when it is resumed", async () => {
  const receiver = openReceiver();
  await withFolder(async (folder) => {
    const first = await folder.serve("first");
    await deploy(first, specFor(receiver.url));
    for (let number = 0; number < 20; number++) await place(first, number);
    const { body: { next: before } } = await readFeed(first, "start");

    const file = join(folder.path, "shop.backup");
    const made = await runCli(["backup", "--out", file, "--json"], { env: envOf(first) });
    assert.equal(made.code, 0, made.stderr + made.stdout);
    assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
    assert.equal((await runCli(["backup", "--verify", file])).code, 0);

    for (let number = 20; number < 25; number++) await place(first, number);
    const { body: { next: beyond } } = await readFeed(first, before);
    await first.stop();

    const env = { DAYBOOK_DATA_DIR: join(folder.path, "second") };
    const restored = await runCli(["restore", file], { env });
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stdout, /^Restored: the deployment as of .*\n.*paused/);
    const checked = await runCli(["fsck"], { env });
    assert.deepEqual([checked.code, checked.stdout], [
      0,
      "No fault in 3 environments, 20 streams, 20 events, 0 anchors\n",
    ]);

    receiver.isOpen = true;
    const second = await folder.serve("second");
    await until(() => /restored/.test(second.output()), "the line that tells of the wait");
    // The keys of the first are those of the second.
    assert.deepEqual(second.credentials.keys, first.credentials.keys);
    const { body: page } = await readFeed(second, "start");
    assert.equal(page.data.length, 20);
    assert.equal((await readFeed(second, before)).body.data.length, 0);
    // Readers who were further on are told.
    const expired = await readFeed(second, beyond);
    assert.deepEqual([expired.status, expired.body.error_type], [410, "cursor_expired"]);
    await place(second, 99);
    assert.equal((await readFeed(second, beyond)).status, 410, "also when it is as long again");

    const reactions = () =>
      call(second, "GET", "/_admin/reactions?environment=test", { token: operator_token });
    const { operator_token } = second.credentials;
    assert.deepEqual((await reactions()).body.paused_by, "restore");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.deepEqual(receiver.heard, [], "nothing is sent while it waits");
    // By its folder alone: the file there names the address of this server, not of the first.
    const resumed = await runCli(["resume"], { env: { DAYBOOK_DATA_DIR: second.dataDir } });
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.match(resumed.stdout, /goes on from/);
    await until(() => new Set(receiver.heard).size === 21, "all deliveries", 20_000);
    assert.equal((await reactions()).body.paused, false);
    const again = await runCli(["resume"], { env: envOf(second) });
    assert.match(again.stdout, /was not waiting/);
    await second.stop();
  });
  await receiver.close();
});

Deno.test("a backup of a stopped deployment is made from its folder, and restored without a wait", async () => {
  await withFolder(async (folder) => {
    const first = await folder.serve("first");
    await deploy(first, specFor("http://127.0.0.1:9/"));
    await place(first, 1);
    await first.stop();
    const file = join(folder.path, "cold.backup");
    const env = { DAYBOOK_DATA_DIR: first.dataDir };
    const made = await runCli(["backup", "--out", file], { env });
    assert.equal(made.code, 0, made.stderr);
    const other = { DAYBOOK_DATA_DIR: join(folder.path, "second") };
    const restored = await runCli(["restore", file, "--resume"], { env: other });
    assert.equal(restored.code, 0, restored.stderr);
    const second = await folder.serve("second");
    assert.doesNotMatch(second.output(), /restored/);
    assert.equal((await readFeed(second, "start")).body.data.length, 1);
    await second.stop();
  });
});

Deno.test("a moment of the archive is restored, and what was erased after it is erased again", async () => {
  await withFolder(async (folder) => {
    const archive = join(folder.path, "archive");
    const first = await folder.serve("first", { DAYBOOK_ARCHIVE_DIR: archive });
    await deploy(first, specFor("http://127.0.0.1:9/"));
    for (let number = 0; number < 3; number++) await place(first, number);
    const hasFull = () => [...Deno.readDirSync(archive)].some(({ name }) => /^full-/.test(name));
    await until(hasFull, "the first full backup", 10_000);
    await place(first, 3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const at = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await place(first, 4);
    const isDone = await erase(first, "order:00000000-0000-4000-8000-000000000001");
    await first.stop();

    const env = { DAYBOOK_DATA_DIR: join(folder.path, "second") };
    const restored = await runCli(["restore", "--archive", archive, "--at", at], { env });
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stdout, /erased later, and will be erased again: 1\n/);
    const second = await folder.serve("second");
    await until(isDone(second), "the erasure again", 10_000);
    const { body: feed } = await readFeed(second, "start");
    const placed = feed.data.filter(({ event }: Entry) => event.type === "was_placed");
    const numbers = placed.map(({ event }: Entry) => event.key.slice(-1));
    assert.deepEqual(numbers, ["0", "2", "3"], "without what came later, and what was erased");
    await second.stop();
    const checked = await runCli(["fsck"], { env });
    assert.equal(checked.code, 0, checked.stderr);

    const early = ["restore", "--archive", archive, "--at", "2020-01-01T00:00:00Z"];
    const refused = await runCli(early, { env: { DAYBOOK_DATA_DIR: join(folder.path, "third") } });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /archive begins later. It can restore any moment from 20/);
    const misused = await runCli(["restore", "--archive", archive, "--at", "noon"], { env });
    assert.equal(misused.code, 2);
    assert.match(misused.stderr, /'noon' is no time/);
  });
});

Deno.test("a drill proves a backup beside the server, and finds one of another history", async () => {
  await withFolder(async (folder) => {
    const first = await folder.serve("first");
    await deploy(first, specFor("http://127.0.0.1:9/"));
    for (let number = 0; number < 8; number++) await place(first, number);
    const file = join(folder.path, "a.backup");
    const env = { ...envOf(first), TMPDIR: folder.path };
    assert.equal((await runCli(["backup", "--out", file], { env })).code, 0);
    for (let number = 4; number < 12; number++) await place(first, number);
    // An erasure gives its stream another chain; the drill must not take that for a fault.
    await erase(first, "order:00000000-0000-4000-8000-000000000002");

    const metrics = join(folder.path, "drill.prom");
    const proved = await runCli(["drill", file, "--metrics", metrics], { env });
    assert.equal(proved.code, 0, proved.stderr);
    assert.match(proved.stdout, /8 streams without a fault; 8 heads are those of the server/);
    const text = await Deno.readTextFile(metrics);
    assert.match(text, /^daybook_drill_success 1$/m);
    assert.match(text, /^daybook_drill_heads_compared 8$/m);
    await first.stop();

    // The server goes on from an older moment, and writes something else.
    const other = join(folder.path, "other");
    const restored = await runCli(["restore", file, "--resume"], {
      env: { DAYBOOK_DATA_DIR: other },
    });
    assert.equal(restored.code, 0, restored.stderr);
    const second = await folder.serve("other");
    for (let number = 0; number < 8; number++) await place(second, number);
    const later = join(folder.path, "later.backup");
    const again = { ...envOf(second), TMPDIR: folder.path };
    assert.equal((await runCli(["backup", "--out", later], { env: again })).code, 0);
    await second.stop();
    const back = await folder.serve("first");
    for (let number = 0; number < 4; number++) await place(back, number);
    const failed = await runCli(["drill", later, "--metrics", metrics], {
      env: { ...envOf(back), TMPDIR: folder.path },
    });
    assert.equal(failed.code, 1, failed.stdout);
    assert.match(failed.stderr, /test: order:.*: event 1 is another one on the server/);
    assert.match(await Deno.readTextFile(metrics), /^daybook_drill_success 0$/m);
    await back.stop();

    // A server that is not there is told like any other fault.
    await Deno.remove(metrics);
    const url = ["--url", back.baseUrls.production];
    for (const some of [[], url]) {
      const alone = await runCli(["drill", file, "--metrics", metrics, ...some], {
        env: { TMPDIR: folder.path, DAYBOOK_DATA_DIR: join(folder.path, "nothing") },
      });
      assert.equal(alone.code, 1, alone.stdout);
      assert.match(await Deno.readTextFile(metrics), /^daybook_drill_success 0$/m);
    }
    const left = [...Deno.readDirSync(folder.path)].filter(({ name }) => /drill_/.test(name));
    assert.deepEqual(left, [], "the folders of the drills are gone");
  });
});

Deno.test("what cannot be restored says why, and leaves nothing", async () => {
  await withFolder(async (folder) => {
    const first = await folder.serve("first");
    const file = join(folder.path, "a.backup");
    const out = ["backup", "--out", file];
    assert.equal((await runCli(out, { env: envOf(first) })).code, 0);
    const twice = await runCli(out, { env: envOf(first) });
    assert.equal(twice.code, 1);
    assert.match(twice.stderr, /exists already/);
    await first.stop();

    const used = await runCli(["restore", file], { env: { DAYBOOK_DATA_DIR: first.dataDir } });
    assert.equal(used.code, 1);
    assert.match(used.stderr, /is not empty/);

    const bytes = await Deno.readFile(file);
    const cut = join(folder.path, "cut.backup");
    await Deno.writeFile(cut, bytes.subarray(0, bytes.length - 100));
    const second = join(folder.path, "second");
    const refused = await runCli(["restore", cut], { env: { DAYBOOK_DATA_DIR: second } });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /cut off in frame/);
    assert.deepEqual([...Deno.readDirSync(second)], []);
    assert.equal((await runCli(["backup", "--verify", cut])).code, 1);
    // The same folder takes a whole one.
    const whole = await runCli(["restore", file], { env: { DAYBOOK_DATA_DIR: second } });
    assert.equal(whole.code, 0, whole.stderr);
  });
});

Deno.test("only an operator of the whole deployment takes a backup, and one at a time", async () => {
  await withFolder(async (folder) => {
    const server = await folder.serve("first");
    const { keys, instance_id, operator_token } = server.credentials;
    const take = (token: string) =>
      fetch(`${server.baseUrls.test}/_admin/backup`, {
        headers: { authorization: `Bearer ${token}` },
      });
    for (const [token, status] of [[keys.test.write, 401], ["nobody", 401]] as const) {
      const answer = await take(token);
      assert.equal(answer.status, status);
      await answer.body?.cancel();
    }
    const args = ["token", "--instance", instance_id];
    const restricted = (await runCli(args, { env: envOf(server) })).stdout.trim();
    const refused = await take(restricted);
    assert.equal(refused.status, 403);
    await refused.body?.cancel();

    await storeLargeEvents(server);
    const first = await take(operator_token);
    assert.equal(first.status, 200);
    const second = await take(operator_token);
    assert.equal(second.status, 503);
    assert.match((await second.json()).error, /Another backup/);
    await first.body!.cancel();
    await until(async () => {
      const third = await take(operator_token);
      await third.body?.cancel();
      return third.status === 200;
    }, "a backup after one that was given up");
    await server.stop();
  });
});
