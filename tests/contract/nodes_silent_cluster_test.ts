/**
 * A cluster that answers nothing at all: what clients of two nodes see and how long they wait.
 * Both nodes continue when the cluster answers again. Over the FoundationDB engine with a
 * client in memory.
 */

import assert from "node:assert/strict";
import { createApp } from "../../src/http/app.ts";
import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { fakeHost } from "../support/fake_host.ts";
import { memoryDatabase } from "../support/memory_foundationdb.ts";
import { uuid, valueOf } from "../support/service_fixture.ts";
import { type Node, stopNode, type TwoNodes, withTwoNodes } from "../support/two_nodes.ts";

const ANSWER_MS_MAX = 5_000;
const STOP_MS_MAX = 9_500;

/** The database of the running test. */
let database = memoryDatabase();

function open() {
  database = memoryDatabase();
  const engines = ["a", "b"].map((name) =>
    new FoundationdbEngine({ database, host: fakeHost(`engine ${name}`) })
  );
  return Promise.resolve({
    engines: [engines[0]!, engines[1]!] as const,
    dispose: async () => void await Promise.all(engines.map((engine) => engine.close())),
  });
}

function silence(isSilent: boolean): void {
  database.plan = () => isSilent ? { hangs: true } : undefined;
}

function appOf({ service, host }: Node) {
  return createApp(service, host, {
    headerPrefix: "SVC",
    environment: { kind: "listener", environment: "test" },
    clientAddress: (peer) => peer,
  });
}

type App = ReturnType<typeof appOf>;

/** Sends one request of each kind; returns how long each took. */
async function ask(app: App, key: string): Promise<{ status: number; body: string; ms: number }[]> {
  const note = { data: { text: "x" }, metadata: { actor: { type: "user", id: "global" } } };
  const requests: [string, string, object?][] = [
    ["GET", "/health/ready"],
    ["GET", `/order/${uuid(1)}`],
    ["GET", `/order/${uuid(1)}/events`],
    ["GET", "/order?resolve"],
    ["POST", `/order/${uuid(1)}/was_noted`, note],
  ];
  return await Promise.all(requests.map(async ([method, path, body]) => {
    const began = performance.now();
    const headers = { "authorization": `Bearer ${key}`, "content-type": "application/json" };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await app.fetch(new Request(`http://127.0.0.1:8002${path}`, init));
    const text = await response.text();
    return { status: response.status, body: text, ms: performance.now() - began };
  }));
}

async function checkSilence({ a, b, tenants }: TwoNodes): Promise<void> {
  const { key } = valueOf(await a.access.issueApiKey(tenants.test, "k", "write"));
  const [onA, onB] = [appOf(a), appOf(b)];
  for (const app of [onA, onB]) {
    const statuses = (await ask(app, key)).map(({ status }) => status);
    assert.equal(statuses[0], 200);
    assert.equal(statuses[4], 201);
  }
  silence(true);
  // A stranger's key is cached nowhere, so that request waits for the store from the start.
  const answers = [await ask(onA, key), await ask(onB, `dbk_0_test_${"A".repeat(43)}`)].flat();
  for (const { status, body, ms } of answers) {
    assert.equal(status, 503, body);
    assert.equal(JSON.parse(body).error_type, "unavailable");
    assert.ok(ms < ANSWER_MS_MAX, `${ms} ms`);
  }
  assert.equal((await onA.fetch(new Request("http://127.0.0.1:8002/health/live"))).status, 200);
  silence(false);
  for (const app of [onA, onB]) {
    assert.deepEqual((await ask(app, key)).map(({ status }) => status), [200, 200, 200, 200, 201]);
  }
}

Deno.test("a silent cluster is 503 within five seconds on both nodes, and no restart is needed", async () => {
  try {
    await withTwoNodes(open, checkSilence);
  } finally {
    silence(false);
  }
});

Deno.test("a node stops in time while the cluster is silent, and its errors are not lost till then", async () => {
  await withTwoNodes(open, async ({ b, tenants: { test: tenant } }) => {
    await b.service.background.renewShare();
    silence(true);
    const error = { error_type: "unavailable", message: "m", context: {}, request_id: "r" };
    const id = b.service.data.recordError(tenant, error);
    assert.equal(valueOf(await b.service.data.readError(tenant, id)).message, "m");
    const began = performance.now();
    await stopNode(b);
    assert.ok(performance.now() - began < STOP_MS_MAX);
    silence(false);
  });
});
