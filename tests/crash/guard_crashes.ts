/**
 * Sales of one product by many writers at once, while the servers are killed with `kill -9`. Every
 * writer asks until it has an answer, under the same key. In the end exactly the stock is sold:
 * each sale was acknowledged once, and nobody gave up because of others.
 */

import assert from "node:assert/strict";
import { guardedSpec } from "../support/guarded_spec.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { uuid } from "../support/service_fixture.ts";
import { createRandom } from "./random.ts";

const WRITERS = 64;
const STOCK = 1_500;
const PRODUCT = uuid(1);
const METADATA = { actor: { type: "user", id: "global" } };
const PATIENCE_MS = 60_000;

export interface GuardCrashes {
  readonly seed: number;
  /** A server is killed at the end of each. */
  readonly rounds: number;
  /** Servers of one deployment. */
  readonly nodes: number;
  readonly env?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly error_type?: string;
  readonly error?: string;
}

async function post(
  { baseUrls, credentials }: ServerProcess,
  path: string,
  body: unknown,
  key?: string,
): Promise<Answer> {
  const isOperator = path.startsWith("/api/");
  const token = isOperator ? credentials.operator_token : credentials.keys.test.write;
  const reply = await fetch(baseUrls.test + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(key !== undefined && { "x-idempotency-key": key }),
    },
    body: JSON.stringify(body),
  });
  return { status: reply.status, ...await reply.json() };
}

/** A third of the sales also place an order, which is judged on the product before the sale. */
function sale(number: number): { path: string; body: object } {
  const sold = { type: "was_sold", data: { quantity: 1 } };
  if (number % 3 > 0) {
    return { path: `/product/${PRODUCT}/was_sold`, body: { data: sold.data, metadata: METADATA } };
  }
  const placed = { type: "was_placed", data: { product_id: PRODUCT, quantity: 1 } };
  const targets = [
    { aggregate_type: "order", id: uuid(1_000 + number), events: [placed] },
    { aggregate_type: "product", id: PRODUCT, events: [sold] },
  ];
  return { path: "/_atomic-write", body: { targets, metadata: METADATA } };
}

/** Whether it was sold. Asks until there is an answer, however many servers die meanwhile. */
async function sell(servers: readonly ServerProcess[], number: number): Promise<boolean> {
  const { path, body } = sale(number);
  const endMs = performance.now() + PATIENCE_MS;
  for (let tries = 0; performance.now() < endMs; tries++) {
    const server = servers[(number + tries) % servers.length]!;
    const answer = await post(server, path, body, `sale ${number}`).catch(() => undefined);
    if (answer?.status === 201) return true;
    if (answer?.error_type === "guard_failed") return false;
    const isPassing = answer === undefined || answer.status === 503 ||
      answer.error_type === "idempotency_in_progress";
    assert.ok(isPassing, `nobody gives up for others: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`sale ${number} has no answer`);
}

export async function runGuardCrashes({ seed, rounds, nodes, env }: GuardCrashes): Promise<void> {
  const random = createRandom(seed);
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_" });
  const start = () => startServer({ dataDir, env });
  const servers: ServerProcess[] = [];
  try {
    while (servers.length < nodes) servers.push(await start());
    const [first] = servers;
    const { instance_id } = first!.credentials;
    const spec = { spec: guardedSpec, environment: "test" };
    assert.equal((await post(first!, `/api/instances/${instance_id}/spec`, spec)).status, 200);
    const stocked = { data: { quantity: STOCK }, metadata: METADATA };
    assert.equal((await post(first!, `/product/${PRODUCT}/was_stocked`, stocked)).status, 201);

    let number = 0;
    let sold = 0;
    const writers = Array.from({ length: WRITERS }, async () => {
      while (await sell(servers, number++)) sold++;
    });
    for (let round = 0; round < rounds; round++) {
      await new Promise((resolve) => setTimeout(resolve, 50 + random.below(250)));
      const victim = random.below(servers.length);
      await servers[victim]!.kill();
      servers[victim] = await start();
    }
    await Promise.all(writers);
    assert.equal(sold, STOCK);
    const { baseUrls, credentials } = servers[0]!;
    const reply = await fetch(`${baseUrls.test}/product/${PRODUCT}?synchronous=true`, {
      headers: { authorization: `Bearer ${credentials.keys.test.read}` },
    });
    const { data, metadata } = await reply.json();
    assert.deepEqual([data, metadata.length], [{ stock: 0 }, STOCK + 1]);
  } finally {
    for (const server of servers) await server.kill();
    await Deno.remove(dataDir, { recursive: true });
  }
}
