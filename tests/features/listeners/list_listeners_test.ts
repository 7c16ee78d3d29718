/** `GET /_listeners`: many listeners with many deliveries. */

import assert from "node:assert/strict";
import { PIECE_MS_MAX } from "../../../src/domain/fairness/pieces.ts";
import { note, withListeners } from "../../support/listener_fixtures.ts";
import { uuid } from "../../support/service_fixture.ts";

const LISTENERS = 40;

Deno.test("others have turns between the listeners of a page", async () => {
  let [ms, turns] = [0, 0];
  const realHost = {
    monotonicMs: () => ms += PIECE_MS_MAX,
    yieldTurn: () => Promise.resolve(void turns++),
  };
  const names = Array.from({ length: LISTENERS }, (_, number) => `hook${number}`);
  const listeners = Object.fromEntries(names.map((name) => [name, {}]));
  await withListeners(async ({ service, test }) => {
    await note(service, test, uuid(1), "1", "2");
    const before = turns;
    const { data } = await service.data.listListeners(test, { limit: 200 });
    assert.equal(data.length, LISTENERS);
    for (const { deliveries } of data) assert.equal(deliveries.pending, 2);
    assert.ok(turns - before >= LISTENERS, `${turns - before} turns`);
  }, { listeners, realHost });
});
