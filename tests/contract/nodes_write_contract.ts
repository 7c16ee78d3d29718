/** Writes on two nodes: idempotency, OCC and order hold across them. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { extendChain } from "../../src/domain/audit/chain.ts";
import type { Outcome } from "../../src/domain/refusal.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { Written } from "../../src/domain/write/write.ts";
import { drainErasures, erasureOf } from "../support/erasure_fixtures.ts";
import { ACTOR, noteWrite, uuid, valueOf } from "../support/service_fixture.ts";
import type { Node, NodesTest, TwoNodes } from "../support/two_nodes.ts";
import { parsedState } from "../support/parsed_state.ts";

const BODY_HASH = "aa".repeat(32);

async function eventsOf(node: Node, tenant: Tenant, id: string) {
  const request = { aggregateType: "order", id, direction: "forwards" as const };
  return valueOf(await node.service.data.readEvents(tenant, request)).entries;
}

/** What both nodes answer to the same request at once. */
function race<T>({ a, b }: TwoNodes, ask: (node: Node) => Promise<T>): Promise<[T, T]> {
  return Promise.all([ask(a), ask(b)]);
}

function kinds(outcomes: readonly Outcome<unknown>[]): string[] {
  return outcomes.map((outcome) => outcome.ok ? "accepted" : outcome.refusal.kind).sort();
}

export function nodesWriteContract(test: NodesTest): void {
  test("a keyed write raced on both has one effect and one answer", async (nodes) => {
    const { test: tenant } = nodes.tenants;
    for (let round = 0; round < 20; round++) {
      const idempotency = { key: `key-${round}`, bodyHash: BODY_HASH };
      const answers = await race(nodes, async ({ service }) => {
        const write = noteWrite(uuid(round % 3), "raced", { idempotency });
        return valueOf(await service.data.writeEvents(tenant, write));
      });
      const [first, second] = answers.map(({ replayed: _, ...rest }) => rest);
      assert.deepEqual(first, second, "word for word");
      assert.deepEqual(answers.map(({ replayed }) => replayed).sort(), [false, true]);
    }
    let count = 0;
    for (let id = 0; id < 3; id++) count += (await eventsOf(nodes.b, tenant, uuid(id))).length;
    assert.equal(count, 20);
  });

  test("states that one has cached are what the other has acknowledged or more", async (nodes) => {
    const { a, b, tenants: { test: tenant }, pass } = nodes;
    async function read(id: string) {
      const request = { aggregateType: "order", id, synchronous: false };
      return valueOf(await b.service.data.readAggregate(tenant, request));
    }
    /** How many events of each stream have been acknowledged. */
    const acknowledged = new Map<string, number>();
    async function write(id: string): Promise<void> {
      valueOf(await a.service.data.writeEvents(tenant, noteWrite(id, "x")));
      acknowledged.set(id, (acknowledged.get(id) ?? 0) + 1);
    }
    async function readOften(id: string): Promise<void> {
      for (let again = 0; again < 3; again++) {
        const least = acknowledged.get(id)!;
        const view = await read(id);
        const { length } = view;
        assert.ok(length >= least, `${length} events where ${least} were acknowledged`);
        assert.equal(parsedState(view).notes.length, length);
      }
    }
    const ids = [1, 2, 3, 4].map(uuid);
    const readers = [...ids, ...ids, ...ids];
    await Promise.all(ids.map(write));
    for (let round = 0; round < 40; round++) {
      if (round % 10 === 0) pass(1_000);
      const writing = round % 3 === 0 ? undefined : write(ids[round % ids.length]!);
      await Promise.all([...readers.map(readOften), writing]);
    }
    valueOf(await a.service.erasure.request(tenant, erasureOf(`order:${ids[0]}`)));
    await drainErasures(a.service);
    const states = await Promise.all(readers.map(() => read(ids[0]!)));
    for (const view of states) assert.equal(parsedState(view).notes, undefined);
  });

  test("a key raced with two bodies is recorded for one of them", async (nodes) => {
    const { test: tenant } = nodes.tenants;
    for (let round = 0; round < 10; round++) {
      const outcomes = await race(nodes, (node) => {
        const bodyHash = (node === nodes.a ? "aa" : "bb").repeat(32);
        const idempotency = { key: `key-${round}`, bodyHash };
        return node.service.data.writeEvents(tenant, noteWrite(uuid(1), "x", { idempotency }));
      });
      assert.deepEqual(kinds(outcomes), ["accepted", "idempotency_mismatch"]);
    }
    assert.equal((await eventsOf(nodes.a, tenant, uuid(1))).length, 10);
  });

  test("of two writes that expect the same length one is told the other's", async (nodes) => {
    const { test: tenant } = nodes.tenants;
    for (let length = 0; length < 20; length++) {
      const outcomes = await race(
        nodes,
        ({ service }) => service.data.writeEvents(tenant, guarded(uuid(1), length)),
      );
      assert.deepEqual(kinds(outcomes), ["accepted", "occ_conflict"]);
      const lost = outcomes.find((outcome) => !outcome.ok)!;
      assert.ok(!lost.ok);
      assert.deepEqual(lost.refusal, {
        kind: "occ_conflict",
        length: length + 1,
        expected: length,
      });
    }
  });

  test("unguarded writes to one stream all land, once, in an unbroken chain", async (nodes) => {
    const { test: tenant } = nodes.tenants;
    const writes: Promise<Outcome<Written>>[] = [];
    for (let n = 0; n < 60; n++) {
      const { service } = n % 2 === 0 ? nodes.a : nodes.b;
      writes.push(service.data.writeEvents(tenant, noteWrite(uuid(1), `note ${n}`)));
    }
    const firsts = (await Promise.all(writes)).map((outcome) => valueOf(outcome).targets[0]!.first);
    assert.deepEqual(firsts.toSorted((x, y) => x - y), Array.from({ length: 60 }, (_, n) => n));
    const entries = await eventsOf(nodes.b, tenant, uuid(1));
    let tip: ReturnType<typeof extendChain> | undefined;
    for (const { raw, hash } of entries) assert.equal(hash, tip = extendChain(tip, raw));
    const texts = entries.map(({ raw }) => JSON.parse(raw).data.text);
    for (const [n, first] of firsts.entries()) assert.equal(texts[first], `note ${n}`);
  });

  test("atomic writes that cross each other land whole or not at all", async (nodes) => {
    const { test: tenant } = nodes.tenants;
    const ids = [uuid(1), uuid(2), uuid(3)];
    const outcomes = await Promise.all(Array.from({ length: 30 }, (_, n) => {
      const { service } = n % 2 === 0 ? nodes.a : nodes.b;
      const chosen = n % 3 === 0 ? [ids[0]!, ids[1]!] : [ids[2]!, ids[0]!];
      return service.data.writeEvents(tenant, atomic(chosen, `write ${n}`));
    }));
    const seen = new Map<string, number>();
    for (const id of ids) {
      for (const { raw } of await eventsOf(nodes.a, tenant, id)) {
        const { text } = JSON.parse(raw).data;
        seen.set(text, (seen.get(text) ?? 0) + 1);
      }
    }
    for (const [n, outcome] of outcomes.entries()) {
      assert.equal(seen.get(`write ${n}`) ?? 0, outcome.ok ? 2 : 0);
    }
    assert.ok(outcomes.every(({ ok }) => ok), "unguarded, so none is refused");
  });

  test("whatever is acknowledged on one is in every read that begins later on any", async (nodes) => {
    const { test: tenant } = nodes.tenants;
    let round = 0;
    const step = fc.record({ onA: fc.boolean(), id: fc.nat(2), isWrite: fc.boolean() });
    const client = fc.array(step, { minLength: 2, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(client, { minLength: 3, maxLength: 3 }), async (clients) => {
        const base = 16 * ++round;
        const lengths = [0, 0, 0];
        async function run(steps: typeof clients[number]): Promise<void> {
          for (const { onA, id, isWrite } of steps) {
            const node = onA ? nodes.a : nodes.b;
            const stream = uuid(base + id);
            if (!isWrite) {
              await checkReads(node, tenant, stream, lengths[id]!);
              continue;
            }
            const outcome = await node.service.data.writeEvents(tenant, noteWrite(stream, "n"));
            lengths[id] = Math.max(lengths[id]!, valueOf(outcome).targets[0]!.first + 1);
          }
        }
        await Promise.all(clients.map(run));
        for (const [id, length] of lengths.entries()) {
          await checkReads(nodes.a, tenant, uuid(base + id), length);
          await checkReads(nodes.b, tenant, uuid(base + id), length);
        }
      }),
      { numRuns: 15 },
    );
  });
}

/** Every kind of read shows at least `acknowledged` events. */
async function checkReads(
  { service }: Node,
  tenant: Tenant,
  id: string,
  acknowledged: number,
): Promise<void> {
  if (acknowledged === 0) return;
  const request = { aggregateType: "order", id, synchronous: false };
  const view = valueOf(await service.data.readAggregate(tenant, request));
  assert.ok(view.length >= acknowledged);
  assert.equal(parsedState(view).notes.length, view.length);
  assert.ok(valueOf(await service.data.readLength(tenant, "order", id)) >= view.length);
  const list = {
    aggregateType: "order",
    resolve: true,
    synchronous: false,
    start: before(id),
    limit: 1,
  };
  const [entry] = valueOf(await service.data.listAggregates(tenant, list)).entries;
  assert.ok(entry !== undefined && "view" in entry && entry.id === id);
  assert.ok(entry.view.length >= view.length);
}

/** A cursor just before the id. */
function before(id: string): string {
  const last = id.charCodeAt(id.length - 1);
  return id.slice(0, -1) + String.fromCharCode(last - 1) + "~";
}

function guarded(id: string, previousLength: number) {
  const metadata = { actor: ACTOR, previous_length: previousLength };
  return noteWrite(id, "guarded", { metadata });
}

function atomic(ids: readonly string[], text: string) {
  const write = noteWrite(ids[0]!, text);
  const targets = ids.map((id) => ({ ...write.targets[0]!, id }));
  return { ...write, form: "atomic" as const, targets };
}
