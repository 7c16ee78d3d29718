/**
 * Appended reactions guard more than their own stream until they commit. They also conflict
 * with changes to cancelling events and to which event types somebody waits for.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { withShop, workOn } from "../../published_failures/shop.ts";
import { eventsOf, reactiveSpec, setOff, write } from "../../support/reactive_spec.ts";
import { uuid, valueOf } from "../../support/service_fixture.ts";

/** Calls off any promise; it is in a stream of its own. */
const CALL_OFF = setOff("global", "was_called_off");

/** Without promises, so that no event cancels anything. */
function specWithoutPromises(): JsonObject {
  const spec = structuredClone(reactiveSpec);
  // deno-lint-ignore no-explicit-any
  (spec.aggregate_types as any).order.events.was_promised.implications = [];
  return spec;
}

Deno.test("a cancelling event that has looked before a promise commits, and commits after it, cancels it", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const promising = shop.start();
    const { node: cancelling, held } = shop.startHeld();
    // A promise already waits for the type, so that only the next promise is new.
    await write(cancelling.service, tenant, setOff(uuid(9), "was_promised"));
    const commit = held.hold();
    const calledOff = write(cancelling.service, tenant, CALL_OFF);
    await commit.reached;
    await write(promising.service, tenant, setOff(uuid(1), "was_promised"));
    commit.release();
    await calledOff;
    assert.deepEqual(valueOf(await promising.service.data.listScheduled(tenant, {})).data, []);
    shop.pass(60_000);
    await workOn(promising);
    const events = await eventsOf(promising.service, tenant, "order", uuid(1));
    assert.deepEqual(events.map(({ type }) => type), ["was_promised"]);
  });
});

Deno.test("a promise that has looked before a cancelling event commits, and commits after it, stands", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const { node: promising, held } = shop.startHeld();
    const cancelling = shop.start();
    // Loads the spec first, so that the held commit is the promise's own.
    await write(promising.service, tenant, setOff(uuid(9), "was_paid"));
    const commit = held.hold();
    const promised = write(promising.service, tenant, setOff(uuid(1), "was_promised"));
    await commit.reached;
    await write(cancelling.service, tenant, CALL_OFF);
    commit.release();
    await promised;
    assert.equal(valueOf(await cancelling.service.data.listScheduled(tenant, {})).data.length, 1);
  });
});

Deno.test("an event that has looked before anybody waited for its type cancels what waits when it commits", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const deploying = shop.start();
    const { node: cancelling, held } = shop.startHeld();
    await write(cancelling.service, tenant, setOff(uuid(9), "was_paid"));
    const commit = held.hold();
    const calledOff = write(cancelling.service, tenant, CALL_OFF);
    await commit.reached;
    const request = { spec: reactiveSpec, force: true, dryRun: false };
    valueOf(await deploying.service.specs.deploySpec(tenant, request));
    await write(deploying.service, tenant, setOff(uuid(1), "was_promised"));
    commit.release();
    await calledOff;
    assert.deepEqual(valueOf(await deploying.service.data.listScheduled(tenant, {})).data, []);
  }, specWithoutPromises());
});
