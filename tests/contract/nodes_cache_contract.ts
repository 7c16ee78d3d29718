/**
 * A node acts on another's change within five seconds where it caches, at once where it may
 * not. A revocation works at once on the node that did it. See docs/reference/operators.md.
 */

import assert from "node:assert/strict";
import type { Environment } from "../../src/domain/tenant.ts";
import { copyOfExampleSpec } from "../support/example_spec.ts";
import { noteWrite, orderWrite, refusalOf, uuid, valueOf } from "../support/service_fixture.ts";
import { type NodesTest, OPERATOR, type TwoNodes } from "../support/two_nodes.ts";
import { until } from "../support/until.ts";
import { parsedState } from "../support/parsed_state.ts";

/** Old knowledge must not be used beyond five seconds of clock time, notified or not. */
const HEARD_MS = 4_000;

/** How the node learns: by a notification, or because its memory is too old to use. */
const WAYS = ["hears of it", "asks again after four seconds"] as const;

/** An order that can be shipped, and whose notes are now remarks. */
function nextSpec() {
  const spec = copyOfExampleSpec();
  // deno-lint-ignore no-explicit-any
  const { events } = (spec.aggregate_types as any).order;
  events.was_shipped = { schema: true, handler: { set: { target: "status", value: "shipped" } } };
  events.was_noted.handler = { append: { target: "remarks", value: "$.data.text" } };
  return spec;
}

/** `newsMs` is how long the other node takes to know: 0 if its watches fire. */
export function nodesCacheContract(test: NodesTest, newsMs: number): void {
  async function wait(
    { pass }: TwoNodes,
    way: typeof WAYS[number],
    condition: () => Promise<boolean>,
  ): Promise<void> {
    if (way === "hears of it") {
      pass(newsMs);
      return await until(condition, "the news");
    }
    pass(HEARD_MS);
    assert.ok(await condition(), "old knowledge after four seconds");
  }

  for (const way of WAYS) {
    test(`a deploy on one is the other's spec: it ${way}`, async (nodes) => {
      const { a, b, tenants: { test: tenant } } = nodes;
      const shipped = orderWrite(uuid(1), [{ type: "was_shipped", data: {} }]);
      valueOf(await b.service.data.writeEvents(tenant, noteWrite(uuid(1), "old")));
      assert.equal(
        refusalOf(await b.service.data.writeEvents(tenant, shipped)).kind,
        "event_type_unknown",
      );
      const request = { spec: nextSpec(), force: false, dryRun: false };
      valueOf(await a.service.specs.deploySpec(tenant, request));
      valueOf(await a.service.data.writeEvents(tenant, shipped));
      await wait(nodes, way, async () => (await b.service.data.writeEvents(tenant, shipped)).ok);
      const read = { aggregateType: "order", id: uuid(1), synchronous: false };
      const view = valueOf(await b.service.data.readAggregate(tenant, read));
      assert.deepEqual(parsedState(view), { remarks: ["old"], status: "shipped" });
    });

    test(`a tier changed on one limits requests to the other: it ${way}`, async (nodes) => {
      const { a, b, tenants, instanceId } = nodes;
      const { key } = valueOf(await a.access.issueApiKey(tenants.test, "k", "write"));
      const ask = async () => valueOf(await b.access.authenticateKey(key, "test")).instance;
      assert.equal((await ask()).tier, "unlimited");
      valueOf(await a.access.changeTier(instanceId, "free"));
      await wait(nodes, way, async () => (await ask()).tier === "free");
      // The first share is a fortieth of 600, the second node's half of that.
      assert.equal((await a.service.limits.admit(await ask(), "write")).remaining, 599);
      assert.equal((await b.service.limits.admit(await ask(), "write")).remaining, 584);
      const { limit } = await b.service.limits.admit(await ask(), "read");
      assert.equal(limit, 3_000);
    });

    test(`a key revoked on one is refused by the other: it ${way}`, async (nodes) => {
      const { a, b, tenants } = nodes;
      const { id, key } = valueOf(await a.access.issueApiKey(tenants.test, "k", "write"));
      valueOf(await b.access.authenticateKey(key, "test"));
      valueOf(await a.access.revokeApiKey(OPERATOR, id));
      assert.ok(!(await a.access.authenticateKey(key, "test")).ok, "at once where it was done");
      await wait(nodes, way, async () => !(await b.access.authenticateKey(key, "test")).ok);
    });

    test(`a key rotated on one has ended on the other: it ${way}`, async (nodes) => {
      const { a, b, tenants } = nodes;
      const { id, key } = valueOf(await a.access.issueApiKey(tenants.test, "k", "write"));
      valueOf(await b.access.authenticateKey(key, "test"));
      const { key: next } = valueOf(await a.access.rotateApiKey(OPERATOR, id));
      valueOf(await b.access.authenticateKey(next, "test"));
      await wait(nodes, way, async () => !(await b.access.authenticateKey(key, "test")).ok);
    });

    test(`a tier changed on one is the other's: it ${way}`, async (nodes) => {
      const { a, b, tenants, instanceId } = nodes;
      const { key } = valueOf(await a.access.issueApiKey(tenants.test, "k", "write"));
      async function tierOnB(): Promise<string> {
        return valueOf(await b.access.authenticateKey(key, "test")).instance.tier;
      }
      assert.equal(await tierOnB(), "unlimited");
      valueOf(await a.access.changeTier(instanceId, "hobby"));
      await wait(nodes, way, async () => await tierOnB() === "hobby");
    });
  }

  test("a revocation set on one for later is kept by the other", async (nodes) => {
    const { a, b, tenants, pass } = nodes;
    const { id, key } = valueOf(await a.access.issueApiKey(tenants.test, "k", "write"));
    valueOf(await b.access.authenticateKey(key, "test"));
    const revokeAt = new Date(a.host.timeMs + 60_000).toISOString();
    valueOf(await a.access.scheduleRevocation(OPERATOR, id, revokeAt));
    pass(59_999);
    valueOf(await b.access.authenticateKey(key, "test"));
    pass(1);
    assert.equal(refusalOf(await b.access.authenticateKey(key, "test")).kind, "unauthorized");
  });

  test("what one has made, the other knows at once: instance, key, spec, account", async (nodes) => {
    const { a, b } = nodes;
    const { id } = valueOf(await a.access.createInstance("other", "free"));
    const environment: Environment = "production";
    const tenant = valueOf(await b.access.resolveTenant(OPERATOR, id, environment));
    const { key } = valueOf(await b.access.issueApiKey(tenant, "k", "read"));
    valueOf(await a.access.authenticateKey(key, environment, "other"));
    const request = { spec: copyOfExampleSpec(), force: false, dryRun: false };
    valueOf(await a.service.specs.deploySpec(tenant, request));
    valueOf(await b.service.data.writeEvents(tenant, noteWrite(uuid(1), "first")));
    valueOf(await a.access.addUser("ops@example.com", "correct horse battery"));
    const { token } = valueOf(
      await b.access.login({
        email: "ops@example.com",
        password: "correct horse battery",
        network: "",
      }),
    );
    valueOf(await a.access.authenticateOperator(token));
  });

  test("a warm cache never shows fewer events than the other has acknowledged", async (nodes) => {
    const { a, b, tenants: { test: tenant } } = nodes;
    const read = { aggregateType: "order", id: uuid(1), synchronous: false };
    const notes: string[] = [];
    for (let n = 0; n < 30; n++) {
      const [writer, reader] = n % 3 === 0 ? [b, a] : [a, b];
      notes.push(`note ${n}`);
      valueOf(await writer.service.data.writeEvents(tenant, noteWrite(uuid(1), `note ${n}`)));
      for (const node of [reader, writer]) {
        const view = valueOf(await node.service.data.readAggregate(tenant, read));
        assert.deepEqual([view.length, parsedState(view).notes], [n + 1, notes]);
      }
    }
  });
}
