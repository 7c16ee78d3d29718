/**
 * Deliveries with several processes on one store. Each is sent once while nothing fails, even
 * while processes come and go, and none is forgotten when a process dies. On both kinds of
 * engine.
 */

import assert from "node:assert/strict";
import type { TryAnswer } from "../../../src/domain/listener/delivery.ts";
import {
  deliveries,
  note,
  redeploy,
  type ScriptedSender,
  scriptedSender,
  specWith,
  told,
  webhookSettings,
} from "../../support/listener_fixtures.ts";
import { NODE_STORES } from "../../support/node_stores.ts";
import { uuid } from "../../support/service_fixture.ts";
import {
  type Node,
  type OpenNodes,
  stopNode,
  type TwoNodes,
  withTwoNodes,
} from "../../support/two_nodes.ts";
import { until } from "../../support/until.ts";

interface Delivering extends TwoNodes {
  readonly senders: { readonly a: ScriptedSender; readonly b: ScriptedSender };
}

async function withNodes(open: OpenNodes, body: (nodes: Delivering) => Promise<void>) {
  const senders = { a: scriptedSender(), b: scriptedSender() };
  const webhooks = { a: webhookSettings(senders.a), b: webhookSettings(senders.b) };
  await withTwoNodes(open, async (nodes) => {
    await redeploy(nodes.a.service, nodes.tenants.test, specWith({ hook: {} }));
    nodes.pass(5_000);
    await nodes.b.host.yieldTurn();
    await body({ ...nodes, senders });
  }, { webhooks });
}

/** One round of a node's workers; waits for no delivery. */
async function work({ service }: Node): Promise<void> {
  await service.background.renewShare();
  await service.background.drainTimers(100);
  await service.background.drainDeliveries();
}

/** Rounds of both nodes until each has its share. */
async function share({ a, b, pass }: TwoNodes): Promise<void> {
  for (let turn = 0; turn < 6; turn++) {
    await work(a);
    await work(b);
    pass(1_000);
  }
}

/** Rounds of both nodes until `count` attempts have begun. */
async function untilSent({ a, b, senders, pass }: Delivering, count: number): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    await work(a);
    await work(b);
    await Promise.all([
      a.service.background.deliveriesIdle(),
      b.service.background.deliveriesIdle(),
    ]);
    if (senders.a.sent.length + senders.b.sent.length >= count) return;
    pass(250);
  }
  throw new Error(`only ${senders.a.sent.length} and ${senders.b.sent.length} were sent`);
}

function allTold({ senders }: Delivering): string[] {
  return [...told(senders.a.sent), ...told(senders.b.sent)].sort();
}

for (const { name, open } of NODE_STORES) {
  Deno.test(`two nodes share the lanes; each event is sent once, by one of them: ${name}`, async () => {
    await withNodes(open, async (nodes) => {
      const { a, b, senders, tenants: { test } } = nodes;
      await share(nodes);
      const texts: string[] = [];
      for (let number = 0; number < 60; number++) {
        const own = [`${number} a`, `${number} b`];
        texts.push(...own);
        await note((number % 2 === 0 ? a : b).service, test, uuid(number), ...own);
      }
      await untilSent(nodes, 120);
      await share(nodes);
      assert.deepEqual(allTold(nodes), texts.sort());
      assert.ok(senders.a.sent.length >= 20 && senders.b.sent.length >= 20, "both have helped");
    });
  });

  Deno.test(`a node that joins while deliveries are under way sends none of them again: ${name}`, async () => {
    await withNodes(open, async (nodes) => {
      const { a, b, senders, tenants: { test }, pass } = nodes;
      const { promise: answer, resolve: end } = Promise.withResolvers<TryAnswer>();
      senders.a.answer = () => answer;
      await work(a);
      for (let number = 0; number < 16; number++) await note(a.service, test, uuid(number), "x");
      await until(() => senders.a.sent.length === 16, "16 tries");
      // Longer than an unrenewed lease lasts.
      for (let turn = 0; turn < 40; turn++) {
        await work(a);
        await work(b);
        pass(500);
      }
      assert.equal(senders.b.sent.length, 0, "what is under way stays where it is");
      end({ status: 200 });
      await a.service.background.deliveriesIdle();
      await share(nodes);
      assert.equal(senders.a.sent.length + senders.b.sent.length, 16);
      assert.equal((await deliveries(b.service, test, "delivered")).length, 16);
      for (let number = 100; number < 140; number++) await note(a.service, test, uuid(number), "y");
      await untilSent(nodes, 56);
      assert.ok(senders.b.sent.length > 5, "and then it has its share");
    });
  });

  Deno.test(`a node that leaves in order hands over; one that dies is followed when its leases end: ${name}`, async () => {
    for (const dies of [false, true]) {
      await withNodes(open, async (nodes) => {
        const { a, b, senders, tenants: { test }, pass } = nodes;
        await share(nodes);
        if (!dies) await stopNode(a);
        for (let number = 0; number < 40; number++) await note(b.service, test, uuid(number), "x");
        for (let turn = 0; turn < 100 && senders.b.sent.length < 40; turn++) {
          await work(b);
          await b.service.background.deliveriesIdle();
          pass(250);
        }
        assert.equal(senders.b.sent.length, 40);
        assert.equal(senders.a.sent.length, 0);
      });
    }
  });

  Deno.test(`what one node writes wakes the node whose lane it is: ${name}`, async () => {
    await withNodes(open, async (nodes) => {
      const { a, b, tenants: { test } } = nodes;
      await work(b);
      let woken = 0;
      const end = b.service.background.followDeliveries(() => woken++);
      await until(() => woken > 0, "the first reading");
      const before = woken;
      await note(a.service, test, uuid(1), "x");
      await until(() => woken > before, "the wake-up");
      await end();
    });
  });
}
