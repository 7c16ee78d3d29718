/** A node cut off from the store while the other is not: it trusts nothing old and recovers. */

import assert from "node:assert/strict";
import { LEASE_RENEWAL_MS, LEASE_SILENCE_MS } from "../../src/domain/fairness/lease.ts";
import { EngineUnavailable } from "../../src/kv/engine.ts";
import { readLeases } from "../../src/store/leases.ts";
import { copyOfExampleSpec } from "../support/example_spec.ts";
import { noteWrite, refusalOf, uuid, valueOf } from "../support/service_fixture.ts";
import {
  leavingEngine,
  type OpenNodes,
  OPERATOR,
  type TwoNodes,
  withTwoNodes,
} from "../support/two_nodes.ts";
import { parsedState } from "../support/parsed_state.ts";

/** How long B may use what it remembers. */
const REMEMBERED_MS = 4_000;

export function nodesOutageContract(name: string, open: OpenNodes): void {
  /** `cut` takes the store away from B and gives it back. */
  function test(
    what: string,
    body: (nodes: TwoNodes, cut: (isCut: boolean) => void) => Promise<void>,
  ): void {
    Deno.test(`${name}, two nodes, one cut off: ${what}`, async () => {
      let isCut = false;
      const away = () => isCut ? new EngineUnavailable("cut off (planned)") : undefined;
      await withTwoNodes(open, async (nodes) => {
        await body(nodes, (is) => isCut = is);
        isCut = false;
      }, { wrapB: (engine) => leavingEngine(engine, away) });
    });
  }

  test(
    "every call is an outage, none is answered from memory, and then all goes on",
    async (nodes, cut) => {
      const { a, b, tenants: { test: tenant } } = nodes;
      const read = { aggregateType: "order", id: uuid(1), synchronous: false };
      const events = { aggregateType: "order", id: uuid(1), direction: "forwards" as const };
      const list = { aggregateType: "order", resolve: false, synchronous: false };
      valueOf(await b.service.data.writeEvents(tenant, noteWrite(uuid(1), "before")));
      valueOf(await b.service.data.readAggregate(tenant, read));
      cut(true);
      valueOf(await a.service.data.writeEvents(tenant, noteWrite(uuid(1), "meanwhile")));
      const calls = [
        () => b.service.data.writeEvents(tenant, noteWrite(uuid(1), "lost")),
        () => b.service.data.readAggregate(tenant, read),
        () => b.service.data.readLength(tenant, "order", uuid(1)),
        () => b.service.data.readEvents(tenant, events),
        () => b.service.data.listAggregates(tenant, list),
        () => b.service.ping(),
      ];
      for (const call of calls) await assert.rejects(call(), { name: "EngineUnavailable" });
      cut(false);
      await b.service.ping();
      valueOf(await b.service.data.writeEvents(tenant, noteWrite(uuid(1), "after")));
      const view = valueOf(await b.service.data.readAggregate(tenant, read));
      assert.deepEqual(parsedState(view).notes, ["before", "meanwhile", "after"]);
    },
  );

  test(
    "a key that was revoked meanwhile opens nothing once it is too old, nor afterwards",
    async (nodes, cut) => {
      const { a, b, tenants, pass } = nodes;
      const { id, key } = valueOf(await a.access.issueApiKey(tenants.test, "k", "write"));
      valueOf(await b.access.authenticateKey(key, "test"));
      // B hears of the new key; only then does it remember it.
      await new Promise((resolve) => setTimeout(resolve, 50));
      valueOf(await b.access.authenticateKey(key, "test"));
      cut(true);
      valueOf(await b.access.authenticateKey(key, "test"));
      valueOf(await a.access.revokeApiKey(OPERATOR, id));
      pass(REMEMBERED_MS);
      await assert.rejects(b.access.authenticateKey(key, "test"), { name: "EngineUnavailable" });
      cut(false);
      assert.equal(refusalOf(await b.access.authenticateKey(key, "test")).kind, "unauthorized");
    },
  );

  test("a spec that was deployed meanwhile counts at once afterwards", async (nodes, cut) => {
    const { a, b, tenants: { test: tenant }, pass } = nodes;
    valueOf(await b.service.data.writeEvents(tenant, noteWrite(uuid(1), "old spec")));
    cut(true);
    const spec = { ...copyOfExampleSpec(), agent_types: ["admin", "user", "robot"] };
    valueOf(await a.service.specs.deploySpec(tenant, { spec, force: false, dryRun: false }));
    pass(REMEMBERED_MS);
    cut(false);
    const metadata = { actor: { type: "robot", id: "global" } };
    valueOf(await b.service.data.writeEvents(tenant, noteWrite(uuid(1), "new", { metadata })));
  });

  test("an error recorded meanwhile is found by the other afterwards", async (nodes, cut) => {
    const { a, b, tenants: { test: tenant } } = nodes;
    const error = { error_type: "unavailable", message: "m", context: {}, request_id: "r" };
    cut(true);
    const ids = Array.from({ length: 40 }, () => b.service.data.recordError(tenant, error));
    await b.host.yieldTurn();
    assert.equal(valueOf(await b.service.data.readError(tenant, ids[39]!)).message, "m");
    await assert.rejects(b.service.background.saveMemory(100), { name: "EngineUnavailable" });
    cut(false);
    while (await b.service.background.saveMemory(15) > 0);
    for (const id of ids) valueOf(await a.service.data.readError(tenant, id));
  });

  test("its share of the work goes to the other, and half of it comes back", async (nodes, cut) => {
    const { a, b, pass } = nodes;
    async function turn(): Promise<void> {
      pass(LEASE_RENEWAL_MS);
      await a.service.background.renewShare();
      await b.service.background.renewShare().catch(() => {});
    }
    async function countOwners(): Promise<number> {
      const leases = await a.engine.snapshot((tx) => readLeases(tx, "rebuild"));
      return new Set(leases.map(({ owner }) => owner)).size;
    }
    for (let time = 0; time < 3; time++) await turn();
    assert.equal(await countOwners(), 2);
    cut(true);
    const turns = Math.ceil(LEASE_SILENCE_MS / LEASE_RENEWAL_MS) + 2;
    for (let time = 0; time < turns; time++) await turn();
    assert.equal(await countOwners(), 1);
    cut(false);
    for (let time = 0; time < 3; time++) await turn();
    assert.equal(await countOwners(), 2);
  });
}
