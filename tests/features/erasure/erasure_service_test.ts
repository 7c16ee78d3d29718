/** What every node forgets when a stream is erased, wherever that happened. */

import assert from "node:assert/strict";
import { followErasures } from "../../../src/features/erasure/erasure_service.ts";
import { openStateCache } from "../../../src/features/states/state_cache.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { noteWrite, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const STREAM = streamKey("order", uuid(2));
const WAIT_MS = 10;
const WAITS_MAX = 1_000;

async function until(isSo: () => boolean): Promise<void> {
  for (let waits = 0; waits < WAITS_MAX && !isSo(); waits++) {
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
  assert.ok(isSo());
}

Deno.test("followErasures() clears what is in memory after each erasure, and nothing between", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    const states = openStateCache();
    let cleared = 0;
    const counting = { clear: () => void cleared++ };
    const close = followErasures(engine, fakeHost(), [states, counting]);
    await until(() => cleared === 1);
    const state = { length: 1, bytes: 10, generation: 0, stateJson: '{"name":"Grete"}' };
    states.set(test.number, STREAM, "fold", state);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    assert.deepEqual(states.get(test.number, STREAM, "fold")?.stateJson, state.stateJson);
    await erase(fixture, streamKey("order", uuid(1)));
    await until(() => cleared === 2);
    assert.equal(states.get(test.number, STREAM, "fold"), undefined);
    await close();
  });
});
