/** Whose lane begins next, and how many endpoints that takes a look at. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { limits } from "../../../src/domain/limits.ts";
import {
  type Endpoint,
  noteUnderWay,
  openEndpoints,
} from "../../../src/features/listeners/delivery_endpoints.ts";
import {
  openReadyEndpoints,
  type ReadyEndpoints,
} from "../../../src/features/listeners/ready_endpoints.ts";

/** Endpoints of an instance for each hundred of tenants, each with so many lanes that wait. */
function openWorld(
  instanceOf = (tenant: number): string | Promise<string> => `${tenant / 100 | 0}`,
) {
  const endpoints = openEndpoints(instanceOf);
  const ready = openReadyEndpoints();
  const add = (tenant: number, listener: string, lanes: number) => {
    const endpoint = endpoints.open(tenant, listener);
    for (let n = 0; n < lanes; n++) {
      endpoint.waiting.push({ tenant, listener, stream: streamKey("thing", `${n}`) });
    }
    ready.add(endpoint);
    return endpoint;
  };
  return { ready, add };
}

/** Begins lanes until none may, and returns the names of their listeners. */
function beginAll(ready: ReadyEndpoints): string[] {
  const begun: string[] = [];
  for (let underWay = 0;; underWay++) {
    const endpoint = ready.take(underWay);
    if (endpoint === undefined) return begun;
    endpoint.waiting.shift();
    noteUnderWay(endpoint, 1);
    begun.push(endpoint.listener);
    if (endpoint.waiting.length > 0) ready.add(endpoint);
  }
}

Deno.test("instances take turns, and so do the listeners of each", () => {
  const { ready, add } = openWorld();
  add(100, "a1", 2);
  add(101, "a2", 2);
  add(102, "a3", 1);
  add(200, "b1", 3);
  assert.deepEqual(beginAll(ready), ["a1", "b1", "a2", "b1", "a3", "b1", "a1", "a2"]);
});

Deno.test("an instance with many listeners leaves places for one that comes later", () => {
  const { ready, add } = openWorld();
  for (let n = 0; n < 1_000; n++) add(100, `a${n}`, 5);
  const alone = beginAll(ready).length;
  assert.equal(alone, (limits.deliveriesUnderWayMax - limits.deliveriesKeptForOthers) / 2);
  const late = add(200, "b", 1);
  assert.equal(ready.take(alone), late);
});

Deno.test("nothing begins when no place is free", () => {
  const { ready, add } = openWorld();
  add(100, "a", 1);
  assert.equal(ready.take(limits.deliveriesUnderWayMax), undefined);
});

Deno.test("a look passes over those alone that have tries under way, however many wait", () => {
  const { ready, add } = openWorld();
  let looks = 0;
  const counted = (endpoint: Endpoint) => {
    let { underWay } = endpoint;
    Object.defineProperty(endpoint, "underWay", {
      get: () => (looks++, underWay),
      set: (value: number) => underWay = value,
    });
  };
  for (let n = 0; n < 10_000; n++) counted(add(100 * (n % 500), `a${n}`, 50));
  const begun = beginAll(ready).length;
  assert.equal(begun, limits.deliveriesUnderWayMax);
  // Each lane that begins reads it twice besides, to count itself.
  assert.ok(looks < 4 * begun, `${looks} looks for ${begun} lanes`);
});

Deno.test("an endpoint whose instance becomes known waits with that one, and once", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { ready, add } = openWorld((tenant) => tenant === 1 ? promise : "known");
  const first = add(1, "first", 2);
  add(2, "second", 1);
  resolve("known");
  await promise;
  await Promise.resolve();
  ready.add(first);
  assert.deepEqual(beginAll(ready), ["second", "first", "first"]);
});
