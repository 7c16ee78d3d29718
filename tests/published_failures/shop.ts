/**
 * Processes over one store, which tests start, let die, wake too late and start again.
 * TEST_STORE names the store; a restart closes it and reopens it from what it had stored.
 */

import type { JsonObject } from "../../src/domain/json.ts";
import { LEASE_RENEWAL_MS, LEASE_SILENCE_MS } from "../../src/domain/fairness/lease.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { fakeHost } from "../support/fake_host.ts";
import { faultyEngine } from "../support/faulty_engine.ts";
import { type HeldEngine, heldEngine } from "../support/held_engine.ts";
import { reactiveSpec, type setOff, write } from "../support/reactive_spec.ts";
import { uuid, valueOf } from "../support/service_fixture.ts";
import { temporaryEngine } from "../support/temporary_engine.ts";
import { type Node, OPERATOR, startNode, stopNode } from "../support/two_nodes.ts";

export interface Shop {
  /** The store itself, for inspection. */
  readonly engine: Engine;
  readonly tenant: Tenant;
  /** Starts a process on the store, or on what `wrap` makes of it. */
  start(wrap?: (engine: Engine) => Engine): Node;
  /** The same on an engine whose commits a test may hold. */
  startHeld(): { readonly node: Node; readonly held: HeldEngine };
  /** Moves the clocks of all processes, including later ones. */
  pass(milliseconds: number): void;
  /** All processes die; the store is closed and reopened. */
  restart(): Promise<void>;
}

type Request = ReturnType<typeof setOff>;

const OUTLIVE_LOOKS = Math.ceil(LEASE_SILENCE_MS / LEASE_RENEWAL_MS) + 2;
/** After so many looks of a node it has the leases of all processes that were silent meanwhile. */
export const OUTLIVE_MS = OUTLIVE_LOOKS * LEASE_RENEWAL_MS;

/** The node looks at its share of the work for {@link OUTLIVE_MS}; the others do not. */
export async function outlive(shop: Shop, { service: { background } }: Node): Promise<void> {
  for (let look = 0; look < OUTLIVE_LOOKS; look++) {
    shop.pass(LEASE_RENEWAL_MS);
    await background.renewShare();
  }
}

/** Runs `body` with a store and one instance; removes everything afterwards. */
export async function withShop(
  body: (shop: Shop) => Promise<void>,
  spec: JsonObject = reactiveSpec,
): Promise<void> {
  const store = await temporaryEngine();
  let engine = store.engine;
  let nodes: Node[] = [];
  let started = 0;
  let passedMs = 0;

  function start(wrap = (inner: Engine) => inner): Node {
    const host = fakeHost(`process ${started++}`);
    host.timeMs += passedMs;
    const node = startNode(wrap(engine), host);
    nodes.push(node);
    return node;
  }

  async function restart(): Promise<void> {
    // Closed under the running processes, so that they cannot return their leases.
    await engine.close();
    for (const node of nodes) await stopNode(node).catch(() => {});
    nodes = [];
    engine = await store.reopen();
  }

  try {
    const tenant = await createTenant(start(), spec);
    await body({
      get engine() {
        return engine;
      },
      tenant,
      start,
      startHeld() {
        const held = heldEngine(engine);
        return { node: start(() => held), held };
      },
      pass(milliseconds) {
        passedMs += milliseconds;
        for (const { host } of nodes) host.timeMs += milliseconds;
      },
      restart,
    });
  } finally {
    for (const node of nodes) await stopNode(node);
    await store.dispose();
  }
}

async function createTenant({ access, service }: Node, spec: JsonObject): Promise<Tenant> {
  const { id } = valueOf(await access.createInstance("shop", "unlimited"));
  const tenant = valueOf(await access.resolveTenant(OPERATOR, id, "test"));
  valueOf(await service.specs.deploySpec(tenant, { spec, force: false, dryRun: false }));
  return tenant;
}

/** Writes as a process that dies right after its commit: the reactions are left undone. */
export async function writeAndDie(shop: Shop, request: Request): Promise<void> {
  let commits = 0;
  const node = shop.start((engine) =>
    faultyEngine(engine, () => commits++ === 0 ? undefined : { kind: "unavailable", landed: false })
  );
  await write(node.service, shop.tenant, request);
}

/** Does what is due in this process's share of the work, until nothing is. */
export async function workOn({ service: { background } }: Node): Promise<number> {
  let all = 0;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const done = await background.drainOutbox(100) + await background.drainTimers(1_600);
    all += done;
    if (done === 0) return all;
  }
  throw new Error("there was work again and again");
}

const ROUNDS_MAX = 500;

/** Event types of one stream, in order. */
export async function typesOf(
  { service }: Node,
  tenant: Tenant,
  aggregateType: string,
  id: string,
): Promise<string[]> {
  const request = { aggregateType, id, direction: "forwards", count: 1_000 } as const;
  const { entries } = valueOf(await service.data.readEvents(tenant, request));
  return entries.map(({ raw }) => JSON.parse(raw).type as string);
}

/** How many events the ledgers of these ids have: `was_placed` implies one each. */
export function countNotes(
  node: Node,
  tenant: Tenant,
  numbers: readonly number[],
): Promise<number[]> {
  return Promise.all(
    numbers.map(async (n) => (await typesOf(node, tenant, "ledger", uuid(n))).length),
  );
}

/** How much waits in all queues, parked entries included. */
export async function countLeft({ service: { background } }: Node): Promise<number> {
  return (await background.measureQueues()).reduce((sum, { depth }) => sum + depth, 0);
}
