/** `export` and `import` as a person uses them: real processes, files, a server on the result. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { listInstances } from "../../src/store/access/instances.ts";
import { exampleSpec } from "../support/example_spec.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { uuid } from "../support/service_fixture.ts";

const ROOT = new URL("../../", import.meta.url);
const METADATA = { actor: { type: "user", id: "global" } };

interface Ran {
  readonly code: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

function spawn(dataDir: string, args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", DAYBOOK_DATA_DIR: dataDir },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function run(dataDir: string, args: readonly string[], input?: Uint8Array): Promise<Ran> {
  const child = spawn(dataDir, args);
  // A command that refuses early does not read its input to the end.
  const given = new Blob([Uint8Array.from(input ?? [])]).stream();
  const fed = given.pipeTo(child.stdin).catch(() => {});
  const { code, stdout, stderr } = await child.output();
  await fed;
  return { code, stdout, stderr: new TextDecoder().decode(stderr) };
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_transfer_" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

type Send = (method: string, path: string, body?: unknown, key?: string) => Promise<string>;

/** Sends with `token` to the production address; returns the status and body. */
function sender(server: ServerProcess, token: string): Send {
  return async (method, path, body, key) => {
    const headers = new Headers({ authorization: `Bearer ${token}` });
    if (body !== undefined) headers.set("content-type", "application/json");
    if (key !== undefined) headers.set("x-idempotency-key", key);
    const url = `${server.baseUrls.production}${path}`;
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const reply = await fetch(url, { method, headers, body: sent });
    return `${reply.status} ${await reply.text()}`;
  };
}

/** Deploys the example spec and writes some hundred events, one of them keyed. */
async function fillShop({ credentials }: ServerProcess, send: Send, operator: Send) {
  const path = `/api/instances/${credentials.instance_id}/spec`;
  assert.match(await operator("POST", path, { spec: exampleSpec }), /^200 /);
  for (let number = 0; number < 5; number++) {
    const data = { text: `note ${number} ` + "x".repeat(4_000) };
    const events = Array.from({ length: 100 }, () => ({ type: "was_viewed", data }));
    const reply = await send("POST", `/order/${uuid(number)}`, { events, metadata: METADATA });
    assert.match(reply, /^201 /);
  }
  const body = { data: { text: "once" }, metadata: METADATA };
  assert.match(await send("POST", `/order/${uuid(0)}/was_noted`, body, "once"), /^201 /);
}

async function askShop(send: Send): Promise<string[]> {
  const body = { data: { text: "once" }, metadata: METADATA };
  const answers = [
    await send("GET", "/order?resolve"),
    await send("POST", `/order/${uuid(0)}/was_noted`, body, "once"),
    await send("POST", `/order/${uuid(0)}/was_noted`, { ...body, data: { text: "2" } }, "once"),
  ];
  for (let number = 0; number < 5; number++) {
    for (const path of ["", "/length", "/events?raw=true"]) {
      answers.push(await send("GET", `/order/${uuid(number)}${path}`));
    }
  }
  return answers;
}

Deno.test("an environment moves to another folder, and a server there answers as the first did", async () => {
  await withFolder(async (folder) => {
    const server = await startServer();
    try {
      const { credentials, dataDir } = server;
      const key = credentials.keys.production.write;
      const send = sender(server, key);
      await fillShop(server, send, sender(server, credentials.operator_token));
      const expected = await askShop(send);

      const file = join(folder, "env.jsonl");
      const beside = await run(dataDir, ["export", "--out", file]);
      assert.equal(beside.code, 1);
      assert.match(beside.stderr, /in use\. Stop the server .*, export, and start it again/);
      assert.equal(await server.stop(), 0);

      const args = ["--instance", "default", "--environment", "production"];
      const exported = await run(dataDir, ["export", ...args, "--out", file]);
      assert.equal(exported.code, 0, exported.stderr);
      assert.match(exported.stderr, /^Exported production of 'default': 5 streams, 501 events, /);
      assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
      assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["env.jsonl"]);
      const again = await run(dataDir, ["export", ...args, "--out", file]);
      assert.equal(again.code, 1);
      assert.match(again.stderr, /env\.jsonl exists already/);

      const other = join(folder, "other");
      const imported = await run(other, ["import", file]);
      assert.equal(imported.code, 0, imported.stderr);
      assert.match(imported.stderr, /^Imported production of 'default': 5 streams, 501 events, /);
      const full = await run(other, ["import", file]);
      assert.equal(full.code, 1);
      assert.match(full.stderr, /line 1: \[not_empty\] .*production of the instance 'default'/);

      const second = await startServer({ dataDir: other });
      assert.deepEqual(await askShop(sender(second, key)), expected);
      assert.equal(await second.stop(), 0);
    } finally {
      await server.remove();
    }
  });
});

/** An order is followed by a reminder after some seconds. */
const REMINDING = {
  aggregate_types: {
    order: {
      events: {
        was_placed: {
          schema: true,
          handler: [],
          implications: [{
            schedule: {
              delay: "8s",
              emit: { aggregate_type: "order", id: "$.id", event_type: "was_reminded" },
            },
          }],
        },
        was_reminded: { schema: true, handler: [] },
      },
    },
  },
  agent_types: ["user"],
};

Deno.test("a reminder that is pending when its environment moves comes there, once", async () => {
  await withFolder(async (folder) => {
    const server = await startServer();
    try {
      const { credentials, dataDir } = server;
      const key = credentials.keys.production.write;
      const spec = `/api/instances/${credentials.instance_id}/spec`;
      const operator = sender(server, credentials.operator_token);
      assert.match(await operator("POST", spec, { spec: REMINDING }), /^200 /);
      const body = { data: {}, metadata: METADATA };
      const reply = await sender(server, key)("POST", `/order/${uuid(1)}/was_placed`, body);
      assert.match(reply, /^201 .*"implied_count":1/);
      assert.equal(await server.stop(), 0);
      const exported = await run(dataDir, ["export", "--out", "-"]);
      assert.equal(exported.code, 0, exported.stderr);
      const imported = await run(folder, ["import", "-"], exported.stdout);
      assert.match(imported.stderr, /pending work +1\n/);
      const second = await startServer({ dataDir: folder });
      const send = sender(second, key);
      assert.match(await send("GET", "/_scheduled"), /"event_type":"was_reminded"/);
      const events = () => send("GET", `/order/${uuid(1)}/events`);
      for (let waited = 0; waited < 20_000 && !/was_reminded/.test(await events()); waited += 100) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      assert.equal((await events()).match(/was_reminded/g)?.length, 1);
      assert.match(await send("GET", "/_scheduled"), /"data":\[\]/);
      assert.equal(await second.stop(), 0);
    } finally {
      await server.remove();
    }
  });
});

/** Runs `body` with the export file of a stopped server's store. */
async function withExport(body: (file: Uint8Array, folder: string) => Promise<void>) {
  await withFolder(async (folder) => {
    const server = await startServer();
    try {
      const { credentials, dataDir } = server;
      const send = sender(server, credentials.keys.production.write);
      await fillShop(server, send, sender(server, credentials.operator_token));
      await server.stop();
      const { code, stdout, stderr } = await run(dataDir, [
        "export",
        "--with-signing-keys",
        "--out",
        "-",
      ]);
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^Exported /);
      await body(stdout, folder);
    } finally {
      await server.remove();
    }
  });
}

Deno.test("an import killed half-way leaves nothing to see, and run again it lands whole", async () => {
  await withExport(async (file, folder) => {
    const child = spawn(folder, ["import", "-"]);
    const writer = child.stdin.getWriter();
    // The pipe holds 64 KB: when this returns, all except that much has been read.
    const half = Math.floor(file.length * 0.9);
    for (let at = 0; at < half; at += 16_384) {
      await writer.write(file.subarray(at, Math.min(half, at + 16_384)));
    }
    // Waits until what was read has been stored: one transaction for each megabyte.
    const store = join(folder, "daybook.sqlite");
    for (let waited = 0; await sizeOf(store) < 600_000 && waited < 10_000; waited += 20) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    child.kill("SIGKILL");
    await writer.abort().catch(() => {});
    assert.equal((await child.output()).signal, "SIGKILL");

    const engine = openSqliteEngine({ path: store });
    const all = { begin: new Uint8Array(), end: new Uint8Array([0xfe]) };
    const [instances, left] = await engine.snapshot(async (tx) =>
      [await listInstances(tx), await tx.getRange(all)] as const
    );
    await engine.close();
    assert.equal(instances.length, 0, "nobody can see any of it");
    assert.ok(left.length > 10, "it was killed half-way");

    const again = await run(folder, ["import", "-"], file);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /made now, with the signing keys of the file/);
    const exported = await run(folder, ["export", "--with-signing-keys", "--out", "-"]);
    assert.equal(withoutTime(exported.stdout), withoutTime(file));
  });
});

/** Includes the WAL, which is part of the store. */
async function sizeOf(store: string): Promise<number> {
  const sizes = [store, `${store}-wal`].map((path) =>
    Deno.stat(path).then(({ size }) => size, () => 0)
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** The file without the time of the export, and so without its checksum. */
function withoutTime(file: Uint8Array): string {
  return new TextDecoder().decode(file)
    .replace(/"exported_at":"[^"]*"/, "").replace(/"sha256":"[^"]*"\}\n$/, "");
}

Deno.test("import names the line and the rule of a damaged file, and exits with 1", async () => {
  await withExport(async (file, folder) => {
    const text = new TextDecoder().decode(file);
    const damaged = join(folder, "damaged.jsonl");
    await Deno.writeTextFile(damaged, text.replace("note 0", "nota 0"));
    const altered = await run(folder, ["import", damaged]);
    assert.equal(altered.code, 1);
    assert.match(altered.stderr, /^Nothing was imported: line \d+: \[chain_tip\] .*order:/);
    const cut = await run(folder, ["import", "-"], file.subarray(0, 200_000));
    assert.match(cut.stderr, /^Nothing was imported: line \d+: \[cut_off\] /);
    const missing = await run(folder, ["import", join(folder, "none.jsonl")]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /cannot be read/);
  });
});

Deno.test("export says what it cannot find: an instance, an environment, a place for the file", async () => {
  await withFolder(async (folder) => {
    const empty = await run(folder, ["export", "--out", "-"]);
    assert.deepEqual([empty.code, empty.stdout.length], [1, 0]);
    assert.match(empty.stderr, /there is no instance in this store/);
    const unknown = await run(folder, ["export", "--instance", "shop", "--out", "-"]);
    assert.match(unknown.stderr, /there is no instance 'shop' here \(there is: none\)/);
    const wrong = await run(folder, ["export", "--environment", "live", "--out", "-"]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /--environment must be production, staging or test, not 'live'/);
    const nowhere = await run(folder, ["export"]);
    assert.notEqual(nowhere.code, 0);
    assert.match(nowhere.stderr, /--out/);
  });
});

Deno.test("export and import explain themselves with --help", async () => {
  for (const command of ["export", "import"]) {
    const { code, stdout } = await run("unused", [command, "--help"]);
    assert.equal(code, 0);
    assert.match(new TextDecoder().decode(stdout), /Usage: daybook (ex|im)port/);
  }
});
