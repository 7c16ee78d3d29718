/** A transferred environment continues as it would have: pending work happens there, once. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { memoryDatabase } from "../../support/memory_foundationdb.ts";
import {
  type MovingShop,
  movingSpec,
  openMovedShop,
  openMovingShop,
  withoutOrder,
} from "../../support/moving_shop.ts";
import { eventsOf } from "../../support/reactive_spec.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText } from "../../support/transfer_fixtures.ts";

const IDS = [1, 2, 3, 4].map(uuid);

/** A shop that was not transferred, with nothing in it. */
async function withShop(body: (shop: MovingShop) => Promise<void>): Promise<void> {
  await withService(async ({ engine, host, tenants: { test } }) => {
    const shop = openMovingShop(engine, host, test);
    await body(shop);
    await shop.close();
  }, { spec: movingSpec });
}

type Store = <T>(host: FakeHost, body: (engine: Engine) => Promise<T>) => Promise<T>;

const STORES: readonly (readonly [name: string, open: Store])[] = [
  ["SQLite", (_, body) => withTemporaryEngine(body)],
  ["FoundationDB", async (host, body) => {
    const engine = new FoundationdbEngine({ database: memoryDatabase(), host });
    try {
      return await body(engine);
    } finally {
      await engine.close();
    }
  }],
];

/** Exports the shop and runs `body` with its import in another store. */
async function withMoved(
  shop: MovingShop,
  open: Store,
  body: (moved: MovingShop, text: string) => Promise<void>,
): Promise<void> {
  const text = await exportText(shop.engine, shop.host, shop.tenant);
  const host = fakeHost("other");
  host.timeMs = shop.host.timeMs;
  await open(host, async (engine) => {
    const moved = await openMovedShop(engine, host, text);
    await body(moved, text);
    await moved.close();
  });
}

async function typesIn(shop: MovingShop, type: string, id: string): Promise<string[]> {
  return (await eventsOf(shop.service, shop.tenant, type, id)).map((event) => event.type);
}

for (const [name, open] of STORES) {
  Deno.test(`a reminder fires after the move, at its time, under its id, unless it is cancelled: ${name}`, async () => {
    await withShop(async (shop) => {
      for (const id of IDS.slice(0, 3)) await shop.write(id, "was_promised");
      const before = valueOf(await shop.service.data.listScheduled(shop.tenant, {}));
      await withMoved(shop, open, async (moved) => {
        const { service, tenant, host } = moved;
        assert.deepEqual(valueOf(await service.data.listScheduled(tenant, {})), before);
        await moved.write(IDS[0]!, "was_paid");
        const left = valueOf(await service.data.listScheduled(tenant, {})).data;
        assert.equal(left.length, 2, "an event cancels after the move as before it");
        const last = left.find(({ key }) => key === `order:${IDS[2]}`)!;
        valueOf(await service.data.cancelScheduled(tenant, last.scheduled_id));
        host.timeMs += 59_999;
        await moved.work();
        assert.deepEqual(await typesIn(moved, "order", IDS[1]!), ["was_promised"]);
        host.timeMs += 1;
        await moved.work();
        const [, event] = await eventsOf(service, tenant, "order", IDS[1]!);
        assert.deepEqual(event!.metadata.scheduled, {
          scheduled_id: left.find(({ key }) => key === `order:${IDS[1]}`)!.scheduled_id,
          fire_at: "2026-01-01T00:01:00.000Z",
        });
        assert.deepEqual(await typesIn(moved, "order", IDS[0]!), ["was_promised", "was_paid"]);
        assert.deepEqual(await typesIn(moved, "order", IDS[2]!), ["was_promised"]);
      });
    });
  });

  Deno.test(`sagas go on after the move: one gets its event, one its timeout, one has ended: ${name}`, async () => {
    await withShop(async (shop) => {
      for (const id of IDS.slice(0, 3)) await shop.write(id, "was_placed");
      await shop.work();
      await shop.write(IDS[2]!, "was_paid");
      await shop.work();
      await withMoved(shop, open, async (moved) => {
        assert.deepEqual(await moved.look(IDS), await shop.look(IDS));
        await moved.write(IDS[0]!, "was_paid");
        await moved.work();
        moved.host.timeMs += 45_000;
        await moved.work();
        const paid = ["was_reserved", "was_requested", "was_confirmed"];
        const unpaid = ["was_reserved", "was_requested", "was_released"];
        assert.deepEqual(await typesIn(moved, "payment", IDS[0]!), paid);
        assert.deepEqual(await typesIn(moved, "payment", IDS[1]!), unpaid);
        assert.deepEqual(await typesIn(moved, "payment", IDS[2]!), paid);
      });
    });
  });

  Deno.test(`what an event set off and nobody has done yet is done after the move, once: ${name}`, async () => {
    await withShop(async (shop) => {
      await shop.write(IDS[0]!, "was_placed", "was_placed");
      await shop.work();
      await shop.write(IDS[1]!, "was_placed");
      await withMoved(shop, open, async (moved) => {
        assert.deepEqual(await typesIn(moved, "ledger", IDS[1]!), []);
        await moved.work();
        assert.deepEqual(await typesIn(moved, "ledger", IDS[0]!), ["was_noted", "was_noted"]);
        assert.deepEqual(await typesIn(moved, "ledger", IDS[1]!), ["was_noted"]);
        assert.equal((await typesIn(moved, "payment", IDS[1]!)).length, 2, "its saga has begun");
      });
    });
  });

  Deno.test(`the file of a shop that has moved is the same to the byte, and says nothing of its store: ${name}`, async () => {
    await withShop(async (shop) => {
      for (const id of IDS) await shop.write(id, "was_placed", "was_promised");
      await shop.work();
      await shop.write(IDS[3]!, "was_paid");
      for (let number = 10; number < 60; number++) await shop.write(uuid(number), "was_placed");
      await withMoved(shop, open, async (moved, text) => {
        assert.match(text, /"record":"work","kind":"outbox_entry"/);
        assert.match(text, /"record":"work","kind":"scheduled_event"/);
        assert.match(text, /"record":"work","kind":"saga"/);
        assert.match(text, /"record":"work","kind":"saga_definition"/);
        moved.host.timeMs = shop.host.timeMs;
        assert.equal(await exportText(moved.engine, moved.host, moved.tenant), text);
        assert.notEqual(moved.tenant.number, shop.tenant.number);
      });
    });
  });
}

Deno.test("a work of several megabytes moves in parts", async () => {
  await withShop(async (shop) => {
    const { service, tenant } = shop;
    const ids = [uuid(9)];
    const text = "\u{1F600}".repeat(20_000);
    const targets = [{
      aggregateType: "order",
      id: IDS[0]!,
      events: [{ type: "was_placed", data: { text } }],
    }];
    const actor = { type: "user", id: "global" };
    const request = { form: "single", targets, metadata: { actor }, requestId: "r" } as const;
    valueOf(await service.data.writeEvents(tenant, request));
    await withMoved(shop, STORES[0]![1], async (moved, file) => {
      for (const line of file.split("\n")) assert.ok(line.length < 256 * 1024);
      assert.match(file, /"record":"work","kind":"saga","parts":[2-9]/);
      assert.deepEqual(await moved.look([...IDS, ...ids]), await shop.look([...IDS, ...ids]));
      await moved.write(IDS[0]!, "was_paid");
      await moved.work();
      assert.equal((await typesIn(moved, "payment", IDS[0]!)).at(-1), "was_confirmed");
    });
  });
});

Deno.test("scheduled events that were cancelled all at once stay behind", async () => {
  await withShop(async (shop) => {
    const many = Array<string>(600).fill("was_promised");
    await shop.write(IDS[0]!, ...many);
    await shop.write("global", "was_called_off");
    await shop.write(IDS[1]!, "was_promised");
    await withMoved(shop, STORES[0]![1], async (moved, text) => {
      assert.equal(text.match(/"kind":"scheduled_event"/g)?.length, 1);
      moved.host.timeMs += 60_000;
      await moved.work();
      assert.equal((await typesIn(moved, "order", IDS[0]!)).includes("was_reminded"), false);
      assert.deepEqual(await typesIn(moved, "order", IDS[1]!), ["was_promised", "was_reminded"]);
    });
  });
});

Deno.test("a moved shop watches only what is pending and what its spec names", async () => {
  await withShop(async (shop) => {
    await shop.write(IDS[0]!, "was_promised");
    await withMoved(shop, STORES[0]![1], async ({ engine, tenant }) => {
      const value = await engine.snapshot((tx) => tx.get(keys.watchedTypes(tenant.number)));
      assert.deepEqual(JSON.parse(new TextDecoder().decode(value)), {
        cancels: ["order.was_called_off", "order.was_paid"],
        sagas: ["order.was_called_off", "order.was_paid", "order.was_placed"],
        logged: [],
      });
    });
  });
});

type Step =
  | { readonly kind: "write"; readonly id: string; readonly types: readonly string[] }
  | { readonly kind: "work" }
  | { readonly kind: "cancel"; readonly which: number }
  | { readonly kind: "wait"; readonly ms: number };

const TYPES = ["was_placed", "was_promised", "was_delayed", "was_paid", "was_called_off"];
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("write" as const),
    id: fc.constantFrom(...IDS),
    types: fc.array(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant("work" as const) }),
  fc.record({ kind: fc.constant("cancel" as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(1_000, 10_000, 45_000) }),
);

async function play(shop: MovingShop, step: Step): Promise<void> {
  if (step.kind === "write") await shop.write(step.id, ...step.types);
  if (step.kind === "work") await shop.work();
  if (step.kind === "wait") shop.host.timeMs += step.ms;
  if (step.kind !== "cancel") return;
  // Chosen by content, because ids may differ after a transfer.
  const { data } = valueOf(await shop.service.data.listScheduled(shop.tenant, { limit: 200 }));
  const named = data.map(({ scheduled_id, ...rest }) => [JSON.stringify(rest), scheduled_id]);
  const [chosen] = named.sort(([a], [b]) => a! < b! ? -1 : 1).slice(step.which);
  if (chosen !== undefined) await shop.service.data.cancelScheduled(shop.tenant, chosen[1]!);
}

for (const [name, open] of STORES) {
  Deno.test(`whatever was pending, a shop that moves and one that stays go on alike: ${name}`, async () => {
    const steps = fc.array(anyStep, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, steps, async (before, after) => {
        await withShop(async (shop) => {
          for (const step of before) await play(shop, step);
          await withMoved(shop, open, async (moved) => {
            assert.deepEqual(await moved.look(IDS), await shop.look(IDS));
            const end: Step[] = [{ kind: "work" }, { kind: "wait", ms: 60_000 }, { kind: "work" }];
            for (const step of [...after, ...end]) {
              await play(shop, step);
              await play(moved, step);
            }
            const looks = await Promise.all([moved.look(IDS), shop.look(IDS)]);
            assert.deepEqual(withoutOrder(looks[0]!), withoutOrder(looks[1]!));
          });
        });
      }),
      { numRuns: 12 },
    );
  });
}
