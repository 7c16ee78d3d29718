/**
 * Projections on the real server, killed with `kill -9` while they are built, rebuilt and
 * updated. Writers run meanwhile. At the end every row equals the one computed from scratch
 * from all stored events.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { uuid } from "../support/service_fixture.ts";
import { ORDERS_SEEN } from "../support/shop_projections.ts";
import { type OracleStream, projectionFromScratch } from "../support/projection_oracle.ts";
import { type ShopEvent, shopFold, shopSpec } from "../support/projection_shop.ts";

const ROUNDS = Number(Deno.env.get("CRASH_ROUNDS") ?? 8);
const WRITERS = 4;
const ORDERS = 150;
const CUSTOMERS = 5;
const WRITES_PER_ROUND = 25;
const PATIENCE_MS = 60_000;

interface Call {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- a test says what it expects of the body
  readonly body: any;
}

async function send(server: ServerProcess, path: string, body?: unknown): Promise<Call> {
  const { keys, operator_token } = server.credentials;
  const token = path.startsWith("/api/") ? operator_token : keys.test.write;
  const reply = await fetch(`${server.baseUrls.test}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await reply.text();
  const isJson = reply.headers.get("content-type") === "application/json";
  return { status: reply.status, headers: reply.headers, body: isJson ? JSON.parse(text) : text };
}

function deploy(server: ServerProcess, what: "spec" | "projections", body: JsonObject) {
  const { instance_id } = server.credentials;
  return send(server, `/api/instances/${instance_id}/${what}`, { environment: "test", ...body });
}

function eventOf(number: number): [path: string, data: JsonObject] {
  const customer = uuid(10_000 + number % CUSTOMERS);
  if (number % 7 === 0) {
    const data = { name: `name ${number}`, referrer: uuid(10_000 + number % 3) };
    return [`/customer/${customer}/was_registered`, data];
  }
  if (number % 50 === 1) return ["/settings/main/was_set", { currency: `C${number}` }];
  const order = uuid(number * 31 % ORDERS);
  return number % 3 === 0
    ? [`/order/${order}/was_reassigned`, { customer }]
    : [`/order/${order}/was_placed`, { customer, lines: [] }];
}

/** Writes until the server is gone; calls `onWritten` after each acknowledged write. */
async function writeUntilKilled(
  server: ServerProcess,
  next: () => number,
  onWritten: () => void,
): Promise<void> {
  for (;;) {
    const [path, data] = eventOf(next());
    const metadata = { actor: { type: "user", id: "global" } };
    const reply = await send(server, path, { data, metadata }).catch(() => undefined);
    if (reply === undefined || reply.status >= 500) return;
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    onWritten();
  }
}

async function untilWritten(isEnough: () => boolean): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (!isEnough()) {
    assert.ok(performance.now() < endMs, "the server takes writes");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** All streams as they are stored. */
async function readStreams(server: ServerProcess): Promise<Map<string, OracleStream>> {
  const streams = new Map<string, OracleStream>();
  for (const type of ["order", "customer", "settings"]) {
    const { body: { data: ids } } = await send(server, `/${type}?limit=200`);
    for (const id of ids) {
      const { body } = await send(server, `/${type}/${id}/events?count=5000`);
      assert.equal(body.truncated, false);
      const events: ShopEvent[] = body.data.map((each: { event: ShopEvent }) => each.event);
      const updatedAt = body.data.at(-1).event.metadata.timestamp;
      streams.set(`${type}:${id}`, { events, updatedAt });
    }
  }
  return streams;
}

async function readRows(server: ServerProcess): Promise<string[]> {
  const { body } = await send(server, "/_projections/orders_seen?limit=200");
  assert.equal(body.truncated, false);
  return body.data.map(({ data, metadata }: {
    data: JsonObject;
    metadata: { key: string; position: number; updated_at: number };
  }) => {
    const { key, position, updated_at: updatedAt } = metadata;
    return JSON.stringify({ key, data, position, updatedAt });
  });
}

/** Waits until nothing is being built and the rows include everything written. */
async function untilSettled(server: ServerProcess): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  const path = `/api/instances/${server.credentials.instance_id}/projections?environment=test`;
  for (;;) {
    const { body } = await send(server, path);
    const [{ state, building, lag }] = body.data;
    const csv = await send(server, "/_projections/orders_seen/export.csv?columns=customer");
    const isShown = csv.status === 200 && !csv.headers.has("x-svc-projection-lag");
    if (state === "ready" && building === undefined && lag === 0 && isShown) return;
    assert.ok(performance.now() < endMs, JSON.stringify(body));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

Deno.test("a server killed again and again keeps its views what its events say", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_views_" });
  let server = await startServer({ dataDir });
  let number = 0;
  let written = 0;
  let isBuilding = 0;
  try {
    assert.equal((await deploy(server, "spec", { spec: shopSpec() })).status, 200);
    assert.equal((await deploy(server, "projections", { projection: ORDERS_SEEN })).status, 201);
    for (let round = 0; round < ROUNDS; round++) {
      const enough = written + WRITES_PER_ROUND;
      const running = server;
      const writing = Array.from(
        { length: WRITERS },
        () => writeUntilKilled(running, () => number++, () => written++),
      );
      await untilWritten(() => written >= enough);
      // The server dies during a build, of a new spec or of a new definition.
      const second = round % 4 < 2;
      if (round % 2 === 0) await deploy(server, "spec", { spec: shopSpec(second), force: true });
      else {
        const { name: _, ...select } = ORDERS_SEEN.select as JsonObject;
        const projection = { ...ORDERS_SEEN, select: second ? select : ORDERS_SEEN.select! };
        await deploy(server, "projections", { projection });
      }
      await new Promise((resolve) => setTimeout(resolve, 20 * (round % 3)));
      await server.kill();
      await Promise.all(writing);
      server = await startServer({ dataDir });
      const path = `/api/instances/${server.credentials.instance_id}/projections?environment=test`;
      const { body } = await send(server, path);
      if (body.data[0].building !== undefined) isBuilding++;
    }
    await untilSettled(server);
    const { body } = await send(
      server,
      `/api/instances/${server.credentials.instance_id}/projections?environment=test`,
    );
    const spec = await send(
      server,
      `/api/instances/${server.credentials.instance_id}/spec?environment=test`,
    );
    const second = JSON.stringify(spec.body.spec).includes("gold");
    const wanted = projectionFromScratch(
      body.data[0].projection,
      await readStreams(server),
      shopFold(second),
    );
    assert.deepEqual(await readRows(server), wanted.map((row) => JSON.stringify(row)));
    console.log(`${written} writes, ${wanted.length} rows, ${isBuilding} kills during a build`);
    assert.ok(wanted.length > 50 && written > 100, "the load was too small to prove anything");
    assert.ok(isBuilding > 0, "no kill came during a build");
  } finally {
    await server.remove();
    await Deno.remove(dataDir, { recursive: true });
  }
});
