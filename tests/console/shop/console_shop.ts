/**
 * A real server with the shop of `shop_spec.ts` in its test environment, a receiver of its
 * deliveries, and a few orders whose stories the tests look at.
 */

import { type Client, createClient } from "@daybook/client";
import { type Admin, createAdmin } from "@daybook/client/admin";
import { type ClusterProcess, startCluster } from "../../support/cluster_process.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { consoleShopSpec, ORDERS_TABLE } from "./shop_spec.ts";

export const ACTOR = { type: "user", id: "global" } as const;

/** Orders with a story each. */
export const ORDERS = {
  /** Placed, paid, and its payment captured: its timer was cancelled, its saga is complete. */
  paid: "PA1D00001",
  /** Placed; its payment is awaited, its timer will fire. */
  open: "0PEN00001",
  /** Placed; its payment was refused, its saga compensated, then it was declined. */
  declined: "DEC11NED1",
} as const;
export const CUSTOMER = "ADA000001";

export interface ConsoleShop {
  readonly server: ServerProcess;
  /** The address of the test environment. */
  readonly base: string;
  readonly db: Client;
  readonly admin: Admin;
  readonly token: string;
  readonly readKey: string;
  readonly writeKey: string;
  readonly instanceId: string;
  /** What the receiver answers to deliveries; 200 at first. */
  answer: number;
  stop(): Promise<void>;
}

export async function openConsoleShop(): Promise<ConsoleShop> {
  const receiver = openReceiver();
  const cluster = await openOwnCluster();
  const server = await startServer({
    env: {
      DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true",
      ...(cluster && { DAYBOOK_STORE: "foundationdb", FDB_CLUSTER_FILE: cluster.clusterFile }),
    },
  });
  const { instance_id, operator_token, keys } = server.credentials;
  const base = server.baseUrls.test;
  const admin = createAdmin({ url: base, token: operator_token, instanceId: instance_id });
  const db = createClient({ url: base, key: keys.test.write, actor: ACTOR });
  await admin.deploy(consoleShopSpec(receiver.url)).orThrow();
  await admin.projections.deploy(ORDERS_TABLE).orThrow();
  await tellStories(db);
  return {
    server,
    base,
    db,
    admin,
    token: operator_token,
    readKey: keys.test.read,
    writeKey: keys.test.write,
    instanceId: instance_id,
    get answer() {
      return receiver.status;
    },
    set answer(status) {
      receiver.status = status;
    },
    async stop() {
      await server.remove();
      await receiver.close();
      await cluster?.stop();
    },
  };
}

/** With `CONSOLE_TEST_STORE=foundationdb`, the server has a cluster of its own. */
async function openOwnCluster(): Promise<ClusterProcess | undefined> {
  const store = Deno.env.get("CONSOLE_TEST_STORE");
  return store === "foundationdb" ? await startCluster() : undefined;
}

function openReceiver() {
  const receiver = { status: 200 };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(null, { status: receiver.status }),
  );
  const url = `http://127.0.0.1:${server.addr.port}/daybook`;
  return Object.assign(receiver, { url, close: () => server.shutdown() });
}

async function tellStories(db: Client): Promise<void> {
  await db.customer!(CUSTOMER).was_registered!({ name: "Ada Lovelace" }).orThrow();
  for (const [at, id] of [ORDERS.paid, ORDERS.open, ORDERS.declined].entries()) {
    await db.order!(id).was_placed!({ customer: CUSTOMER, total: 10 + at }).orThrow();
  }
  // The bank answers what the saga has asked for.
  await untilLength(db, "payment", ORDERS.paid, 1);
  await db.payment!(ORDERS.paid).was_captured!({ receipt: "R-9" }).orThrow();
  await db.order!(ORDERS.paid).was_paid!({ amount: 10 }).orThrow();
  await untilLength(db, "payment", ORDERS.declined, 1);
  await db.payment!(ORDERS.declined).was_refused!({ reason: "no cover" }).orThrow();
  await db.order!(ORDERS.declined).was_declined!({ reason: "payment refused" }).orThrow();
  await untilLength(db, "stock", "main", 4);
}

/** Waits for events that the service itself writes. */
export async function untilLength(
  db: Client,
  type: string,
  id: string,
  length: number,
): Promise<void> {
  for (;;) {
    const answer = await db[type]!(id).length().orThrow();
    if (answer.length >= length) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
