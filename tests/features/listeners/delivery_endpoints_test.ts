/** What a process remembers of endpoints, and what it forgets. */

import assert from "node:assert/strict";
import { CLOSED_CIRCUIT } from "../../../src/domain/listener/circuit.ts";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { limits } from "../../../src/domain/limits.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { WorkShare } from "../../../src/features/base/share_work.ts";
import { createDeliveryRunner } from "../../../src/features/listeners/deliver_events.ts";
import {
  beginTry,
  type Endpoints,
  endTry,
  IDLE_ENDPOINTS_MAX,
  LANES_AHEAD,
  openEndpoints,
} from "../../../src/features/listeners/delivery_endpoints.ts";
import { markLane } from "../../../src/store/listeners/deliveries.ts";
import { fakeHost } from "../../support/fake_host.ts";
import {
  deliver,
  note,
  redeploy,
  scriptedSender,
  specWith,
  withListeners,
} from "../../support/listener_fixtures.ts";
import { uuid } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const URL_OF_ALL = "https://example.com/";

function namesIn(endpoints: Endpoints): string[] {
  return [...endpoints.all()].map(({ listener }) => listener);
}

/** One try at an endpoint that fails, after which it has no work. */
function fail(endpoints: Endpoints, listener: string): void {
  const endpoint = endpoints.open(1, listener);
  assert.ok(beginTry(endpoint, URL_OF_ALL, 1));
  endTry(endpoint, URL_OF_ALL, false, 1);
  endpoints.closeIdle(endpoint);
}

Deno.test("of endpoints that have failed and have no work, the ones used last are remembered", () => {
  const endpoints = openEndpoints(() => "an instance");
  const count = IDLE_ENDPOINTS_MAX + 50;
  fail(endpoints, "often");
  for (let number = 0; number < count; number++) {
    fail(endpoints, `l${number}`);
    if (number % 10 === 0 && number < 150) fail(endpoints, "often");
  }
  const left = namesIn(endpoints);
  assert.equal(left.length, IDLE_ENDPOINTS_MAX);
  assert.ok(!left.includes("l0") && left.includes(`l${count - 1}`));
  const { circuit } = endpoints.find(1, "often")!;
  assert.equal(circuit.failuresInRow, 16, "what was used again is newer than what came first");
});

Deno.test("an endpoint that has work is remembered, however many others have failed since", () => {
  const endpoints = openEndpoints(() => "an instance");
  fail(endpoints, "busy");
  const busy = endpoints.open(1, "busy");
  busy.waiting.push({ tenant: 1, listener: "busy", stream: streamKey("order", "o1") });
  endpoints.closeIdle(busy);
  for (let number = 0; number < IDLE_ENDPOINTS_MAX + 50; number++) fail(endpoints, `l${number}`);
  assert.equal(endpoints.find(1, "busy"), busy);
  assert.equal(namesIn(endpoints).length, IDLE_ENDPOINTS_MAX + 1);
});

Deno.test("an endpoint that has not failed is forgotten when it has no work", () => {
  const endpoints = openEndpoints(() => "an instance");
  const endpoint = endpoints.open(1, "hook");
  beginTry(endpoint, URL_OF_ALL, 1);
  endTry(endpoint, URL_OF_ALL, true, 1);
  endpoints.closeIdle(endpoint);
  assert.deepEqual(namesIn(endpoints), []);
});

for (const [what, listeners] of [["removed", { other: {} }], ["disabled", undefined]] as const) {
  Deno.test(`the failures of a listener that was ${what} are forgotten with its deliveries`, async () => {
    await withListeners(async ({ service, sender, test, host }) => {
      const circuit = async () =>
        (await service.data.listListeners(test, {})).data
          .find(({ name }) => name === "hook")!.circuit.state;
      sender.answer = () => ({ status: 500 });
      const count = limits.circuitFailuresMax;
      for (let number = 0; number < count; number++) await note(service, test, uuid(number), "1");
      await deliver(service);
      assert.equal(await circuit(), "open");
      await redeploy(service, test, specWith(listeners ?? { hook: { enabled: false } }));
      host.timeMs += 5_000;
      await deliver(service);
      await redeploy(service, test, specWith({ hook: {} }));
      assert.equal(await circuit(), "closed");
      sender.answer = () => ({ status: 200 });
      await note(service, test, uuid(99), "2");
      await deliver(service);
      assert.equal(sender.sent.length, count + 1, "the next delivery is tried at once");
    });
  });
}

Deno.test("an endpoint of which lanes were left in the store is forgotten when none is left", async () => {
  await withTemporaryEngine(async (engine) => {
    const leases = Array.from({ length: QUEUE_SHARDS.lane }, (_, shard) => ({ shard }));
    const share = { held: () => Promise.resolve(leases), owns: () => true, keepWhileBusy() {} };
    const runner = createDeliveryRunner({
      engine,
      host: fakeHost(),
      share: share as unknown as WorkShare,
      counters: newCounters(),
      sender: scriptedSender(),
      specs: {} as Parameters<typeof createDeliveryRunner>[0]["specs"],
      headerPrefix: "SVC",
    });
    const lanes = Array.from({ length: 4 * LANES_AHEAD }, (_, number) => (
      { tenant: 1, listener: "hook", stream: streamKey("order", String(number)) }
    ));
    await engine.transact(async (tx) => await lanes.forEach((lane) => markLane(tx, lane)));
    await runner.drain();
    assert.deepEqual(runner.circuitOf(1, "hook"), CLOSED_CIRCUIT, "it is known while it has work");
    for (let quiet = 0; quiet < 3;) {
      await runner.idle();
      quiet = await runner.drain() === 0 ? quiet + 1 : 0;
    }
    assert.equal(runner.circuitOf(1, "hook"), undefined);
    await runner.end();
  });
});
