/**
 * Two server processes on one store, simulated in this process. They are two services, each
 * with its own engine, host and caches. Any engine will do: see
 * `tests/contract/nodes_contract.ts`.
 */

import type { Operator } from "../../src/domain/access/access.ts";
import { type Access, createAccess } from "../../src/features/access/access_service.ts";
import { type Environment, ENVIRONMENTS, type Tenant } from "../../src/domain/tenant.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import type { Engine } from "../../src/kv/engine.ts";
import type { WebhookSettings } from "../../src/domain/listener/webhook.ts";
import { createService, type Service } from "../../src/features/service.ts";
import { exampleSpec } from "./example_spec.ts";
import { type FakeHost, fakeHost } from "./fake_host.ts";
import { valueOf } from "./service_fixture.ts";

/** Two engines on one empty store; an engine with a single owner is given twice. */
export interface OpenedNodes {
  readonly engines: readonly [Engine, Engine];
  /** Closes both and removes the store. */
  dispose(): Promise<void>;
}

export type OpenNodes = () => Promise<OpenedNodes>;

export interface Node {
  readonly engine: Engine;
  readonly service: Service;
  readonly access: Access;
  readonly host: FakeHost;
}

export interface TwoNodes {
  readonly a: Node;
  readonly b: Node;
  readonly tenants: Readonly<Record<Environment, Tenant>>;
  readonly instanceId: string;
  /** Moves both clocks forward. */
  pass(milliseconds: number): void;
}

/** Registers a test that gets two fresh nodes. */
export type NodesTest = (what: string, body: (nodes: TwoNodes) => Promise<void>) => void;

export interface TwoNodesOptions {
  /** Wraps node B's engine, for example with {@link deafEngine}. */
  readonly wrapB?: (engine: Engine) => Engine;
  /** How far B's clock is ahead of A's. */
  readonly skewMs?: number;
  /** How the nodes deliver to listeners; by default they do not. */
  readonly webhooks?: { readonly a: WebhookSettings; readonly b: WebhookSettings };
}

/** An operator who may do everything. */
export const OPERATOR: Operator = { subject: "ops@example.com" };

/**
 * Runs `body` with two nodes, one instance and the example spec; removes everything afterwards.
 */
export async function withTwoNodes(
  open: OpenNodes,
  body: (nodes: TwoNodes) => Promise<void>,
  { wrapB = (engine) => engine, skewMs = 0, webhooks }: TwoNodesOptions = {},
): Promise<void> {
  const { engines, dispose } = await open();
  const a = startNode(engines[0], fakeHost("node a"), webhooks?.a);
  const b = startNode(wrapB(engines[1]), fakeHost("node b"), webhooks?.b);
  b.host.timeMs += skewMs;
  try {
    const { id } = valueOf(await a.access.createInstance("shop", "unlimited"));
    const tenants = {} as Record<Environment, Tenant>;
    for (const environment of ENVIRONMENTS) {
      const tenant = valueOf(await a.access.resolveTenant(OPERATOR, id, environment));
      tenants[environment] = tenant;
      const request = { spec: exampleSpec, force: false, dryRun: false };
      valueOf(await a.service.specs.deploySpec(tenant, request));
    }
    // B reads what it does not know yet on demand, so nothing has to be awaited here.
    await body({ a, b, tenants, instanceId: id, pass });
  } finally {
    await stopNode(a);
    await stopNode(b);
    await dispose();
  }

  function pass(milliseconds: number): void {
    a.host.timeMs += milliseconds;
    b.host.timeMs += milliseconds;
  }
}

export function startNode(opened: Engine, host: FakeHost, webhooks?: WebhookSettings): Node {
  // Two nodes over one embedded engine share it, as processes share a cluster.
  const engine = wrapEngine(opened, {
    capabilities: { isShared: true },
    durableVersion: () => undefined,
  });
  const access = createAccess(engine, host, { jwtSecret: new Uint8Array(32).fill(7) });
  // Implied events go through the outbox, because that is where nodes meet.
  const service = createService(engine, host, access, { isDirect: false, webhooks });
  return { engine, host, access, service };
}

/** Returns leases and ends the watches, as an orderly stop does; the engine stays open. */
export async function stopNode({ service, access }: Node): Promise<void> {
  await service.close();
  await access.close();
}

/** An engine whose watches never fire: its node learns only by polling what others did. */
export function deafEngine(engine: Engine): Engine {
  return wrapEngine(engine, {
    watch() {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      return { changed: promise, cancel: () => resolve(false) };
    },
  });
}

/** An engine that fails while `isAway` returns an error. */
export function leavingEngine(engine: Engine, isAway: () => Error | undefined): Engine {
  const check = () => {
    const error = isAway();
    if (error !== undefined) throw error;
  };
  return wrapEngine(engine, {
    async transact(body, options) {
      check();
      return await engine.transact(body, options);
    },
    async snapshot(body, options) {
      check();
      return await engine.snapshot(body, options);
    },
  });
}
