/**
 * SIGTERM to a real server in the middle of everything: it ends in time, with exit code 0.
 * Meanwhile there are writers, readers that do not read, bodies that do not end, modules that
 * spin, workers with thousands of things to do, and a receiver that never answers. No reply may
 * turn out to be untrue. See docs/reference/basics.md.
 */

import assert from "node:assert/strict";
import { framed, handler } from "../support/wasm/build_module.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const STOP_MS_MAX = 10_000;
const WRITERS = 16;
const METADATA = { actor: { type: "user", id: "global" } };
const encoder = new TextEncoder();
const plain = { schema: true, handler: [] };

interface Busy extends AsyncDisposable {
  readonly server: ServerProcess;
  /** The number of deliveries that the hanging receiver got. */
  readonly told: () => number;
}

/**
 * A server with a module that spins, a listener that nobody answers, and thousands of events to
 * imply.
 */
async function startBusyServer(): Promise<Busy> {
  let told = 0;
  const hanging = Promise.withResolvers<void>();
  const hook = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
    told++;
    await hanging.promise;
    return new Response();
  });
  const server = await startServer({ env: { DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true" } });
  const { instance_id: id } = server.credentials;
  const form = new FormData();
  form.set("name", "spin");
  form.set("environment", "test");
  form.set("file", new Blob([await framed(handler("(loop (br 0)) (unreachable)"))]));
  assert.equal((await operate(server, "/_admin/blobs", form)).status, 201);
  const url = `http://127.0.0.1:${hook.addr.port}/`;
  const note = { aggregate_type: "ledger", id: "$item", event_type: "was_noted", data: {} };
  const spec = {
    agent_types: ["user"],
    aggregate_types: {
      order: {
        events: {
          was_placed: {
            schema: true,
            handler: { append: { target: "texts", value: "$.data.text" } },
          },
          was_spread: { ...plain, implications: [{ map: { in: "$.data.ids", emit: note } }] },
          was_spun: { schema: true, handler: { wasm: { blob_name: "spin", timeout_ms: 5_000 } } },
        },
      },
      ledger: { events: { was_noted: plain } },
    },
    modules: {
      listeners: { hook: { url, secret: "0123456789abcdef", events: ["order.was_placed"] } },
    },
  };
  const body = JSON.stringify({ environment: "test", spec });
  const deployed = await operate(server, `/api/instances/${id}/spec`, body);
  assert.equal(deployed.status, 200, JSON.stringify(deployed.body));
  return {
    server,
    told: () => told,
    async [Symbol.asyncDispose]() {
      await server.remove();
      hanging.resolve();
      await hook.shutdown();
    },
  };
}

async function operate({ baseUrls, credentials }: ServerProcess, path: string, body: BodyInit) {
  const authorization = `Bearer ${credentials.operator_token}`;
  const isForm = body instanceof FormData;
  const headers = { authorization, ...(!isForm && { "content-type": "application/json" }) };
  const answer = await fetch(`${baseUrls.test}${path}`, { method: "POST", headers, body });
  return { status: answer.status, body: await answer.json() };
}

interface Told {
  readonly status: number;
  readonly body: { readonly stream_id?: string; readonly length?: number; readonly error?: string };
}

/** Sends one request; returns undefined if the connection failed. */
async function ask(
  { baseUrls, credentials }: ServerProcess,
  path: string,
  body?: unknown,
): Promise<Told | undefined> {
  try {
    const answer = await fetch(`${baseUrls.test}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${credentials.keys.test.write}`,
        "content-type": "application/json",
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  } catch {
    return undefined;
  }
}

function uuid(number: number): string {
  return `5b3e1a7c-9d24-4f6a-8b1e-${number.toString(16).padStart(12, "0")}`;
}

/** Writes to its own stream, one event after another, until the server is gone. */
async function writeOn(server: ServerProcess, id: string, told: Told[]): Promise<number> {
  let acknowledged = 0;
  for (;;) {
    const body = { data: { text: "x".repeat(2_000) }, metadata: METADATA };
    const answer = await ask(server, `/order/${id}/was_placed`, body);
    if (answer === undefined) return acknowledged;
    told.push(answer);
    if (answer.status === 201) acknowledged++;
  }
}

/** A connection that sends `text` and then neither sends nor reads. */
async function hold({ baseUrls }: ServerProcess, text: string): Promise<Deno.Conn> {
  const port = Number(new URL(baseUrls.test).port);
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(encoder.encode(text));
  return connection;
}

function headOf({ credentials }: ServerProcess, line: string, more = ""): string {
  const authorization = `Bearer ${credentials.keys.test.write}`;
  return `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n${more}\r\n`;
}

async function holdAllKinds(server: ServerProcess): Promise<Deno.Conn[]> {
  const json = "Content-Type: application/json\r\n";
  const order = `/order/${uuid(0)}`;
  const texts = [
    // Idle after an answer, whether it reads the answer or not.
    headOf(server, "GET /health/live"),
    // A head that does not end, and bodies that do not.
    "GET /order HTTP/1.1\r\nHost: x\r\nAuth",
    headOf(server, `POST ${order}/was_placed`, `${json}Content-Length: 100\r\n`) + "{",
    headOf(server, `POST ${order}/was_placed`, `${json}Transfer-Encoding: chunked\r\n`) +
    "1\r\n{\r\n",
    // Megabytes that nobody reads: a page of events, a page of states.
    headOf(server, `GET ${order}/events?count=5000`),
    headOf(server, "GET /order?resolve&limit=200"),
  ];
  return await Promise.all([...texts, ...texts].map((text) => hold(server, text)));
}

/** Megabytes in one stream. */
async function fill(server: ServerProcess): Promise<void> {
  const events = Array.from({ length: 1_000 }, () => (
    { type: "was_placed", data: { text: "y".repeat(3_000) } }
  ));
  const filled = await ask(server, `/order/${uuid(0)}`, { events, metadata: METADATA });
  assert.equal(filled?.status, 201);
}

Deno.test("SIGTERM in the middle of everything ends the server in time, with 0 and without a lie", async () => {
  await using busy = await startBusyServer();
  const { server } = busy;
  await fill(server);
  const told: Told[] = [];
  const held = await holdAllKinds(server);
  const spinning = Array.from(
    { length: 4 },
    (_, index) =>
      ask(server, `/order/${uuid(900 + index)}/was_spun`, { data: {}, metadata: METADATA }),
  );
  const ids = Array.from({ length: 3_000 }, (_, index) => uuid(10_000 + index));
  const spread = ask(server, `/order/${uuid(800)}/was_spread`, {
    data: { ids },
    metadata: METADATA,
  });
  const writers = Array.from(
    { length: WRITERS },
    (_, index) => writeOn(server, uuid(1 + index), told),
  );
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  assert.ok(busy.told() > 0, "deliveries are under way");
  const before = told.length;
  const began = performance.now();
  const code = await server.stop();
  const took = performance.now() - began;
  const acknowledged = await Promise.all(writers);
  await Promise.all([...spinning, spread]);
  for (const connection of held) connection.close();
  assert.equal(code, 0, server.output());
  assert.ok(took < STOP_MS_MAX, `${took} ms`);
  assert.match(server.output(), /"message":"Stopped"/);
  assert.ok(before > 0);
  const refused = told.filter(({ status }) => status !== 201);
  const stopping = refused.filter(({ status, body }) =>
    status === 503 && body.error === "The server is stopping; try again"
  );
  assert.deepEqual(refused, stopping);

  const again = await startServer({ dataDir: server.dataDir });
  try {
    for (const [index, count] of acknowledged.entries()) {
      const length = await ask(again, `/order/${uuid(1 + index)}/length`);
      // One more write may have landed without an answer.
      assert.ok([count, count + 1].includes(length!.body.length!), `${index}: ${count}`);
    }
    const spreadAnswer = await spread;
    if (spreadAnswer?.status === 201) await allImplied(again, ids);
    assert.equal(await again.stop(), 0, again.output());
  } finally {
    await again.remove();
  }
});

/** Events implied before the stop and not written then must be written after it. */
async function allImplied(server: ServerProcess, ids: readonly string[]): Promise<void> {
  for (let round = 0; round < 300; round++) {
    const answers = await Promise.all(
      [ids[0]!, ids[1_500]!, ids.at(-1)!].map((id) => ask(server, `/ledger/${id}/length`)),
    );
    if (answers.every((answer) => answer?.body.length === 1)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("what was implied never came");
}

Deno.test("a request that was under way when the signal came is answered", async () => {
  const server = await startServer();
  try {
    const body = JSON.stringify({ email: "nobody@example.com", password: "wrong horse battery" });
    const head = "POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    const connection = await hold(server, `${head}Content-Length: ${body.length}\r\n\r\n`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const stopped = server.stop();
    await new Promise((resolve) => setTimeout(resolve, 300));
    // Meanwhile other clients are refused, and load balancers see that it is not ready.
    for (const path of ["/order", "/health/ready"]) {
      const other = await fetch(`${server.baseUrls.test}${path}`);
      assert.equal(other.status, 503);
      assert.deepEqual([other.headers.get("retry-after"), (await other.json()).error_type], [
        "1",
        "unavailable",
      ]);
    }
    await connection.write(encoder.encode(body));
    const answer = await new Response(connection.readable).text();
    assert.match(answer, /^HTTP\/1\.1 401 /);
    assert.equal(await stopped, 0);
  } finally {
    await server.remove();
  }
});
