/** Endpoints that are left alone for a while after failures: `circuit.ts`. */

import assert from "node:assert/strict";
import {
  allowsAnother,
  allowsInstance,
  allowsTry,
  type Circuit,
  circuitAfter,
  circuitAtStart,
  CLOSED_CIRCUIT,
} from "../../../src/domain/listener/circuit.ts";
import { limits } from "../../../src/domain/limits.ts";

const NOW = Date.UTC(2026, 0, 1);

function failing(times: number, circuit: Circuit = CLOSED_CIRCUIT): Circuit {
  for (let time = 0; time < times; time++) circuit = circuitAfter(circuit, false, NOW);
  return circuit;
}

Deno.test("an endpoint is tried until it has failed as often in a row as the limit says", () => {
  assert.ok(allowsTry(failing(limits.circuitFailuresMax - 1), NOW));
  assert.ok(!allowsTry(failing(limits.circuitFailuresMax), NOW));
});

Deno.test("a success in between begins the count anew", () => {
  const once = circuitAfter(failing(limits.circuitFailuresMax - 1), true, NOW);
  assert.deepEqual(once, CLOSED_CIRCUIT);
  assert.ok(allowsTry(failing(limits.circuitFailuresMax - 1, once), NOW));
});

Deno.test("after its pause one delivery finds out, and no second one beside it", () => {
  const open = failing(limits.circuitFailuresMax);
  const laterMs = NOW + limits.circuitPauseMs;
  assert.ok(!allowsTry(open, laterMs - 1));
  assert.ok(allowsTry(open, laterMs));
  const probing = circuitAtStart(open);
  assert.ok(!allowsTry(probing, laterMs));
  assert.deepEqual(circuitAfter(probing, true, laterMs), CLOSED_CIRCUIT);
  const again = circuitAfter(probing, false, laterMs);
  assert.ok(!allowsTry(again, laterMs + limits.circuitPauseMs - 1));
  assert.ok(allowsTry(again, laterMs + limits.circuitPauseMs));
});

Deno.test("tries that began before it opened and fail later leave it open", () => {
  assert.ok(!allowsTry(failing(limits.circuitFailuresMax + 5), NOW));
});

Deno.test("a clock that was set back leaves nobody alone for longer than the pause", () => {
  const open = failing(limits.circuitFailuresMax);
  assert.ok(allowsTry(open, NOW - 1));
});

Deno.test("starting a try changes nothing while all is well", () => {
  assert.equal(circuitAtStart(CLOSED_CIRCUIT), CLOSED_CIRCUIT);
});

/**
 * This many listeners take attempts in turn until none may have more; returns each one's
 * number.
 */
function fill(listeners: number): number[] {
  const own = new Array<number>(listeners).fill(0);
  for (let hasMore = true; hasMore;) {
    hasMore = false;
    for (const index of own.keys()) {
      const all = own.reduce((sum, each) => sum + each);
      if (!allowsAnother(own[index]!, all)) continue;
      own[index]!++;
      hasMore = true;
    }
  }
  return own;
}

Deno.test("a listener alone has its share, and no more", () => {
  assert.deepEqual(fill(1), [limits.deliveriesPerListenerMax]);
});

Deno.test("however many take all they may, another may begin, as long as they are fewer than all there is", () => {
  for (const listeners of [1, 2, 5, 16, 50, 100, 200, 255]) {
    const own = fill(listeners);
    const all = own.reduce((sum, each) => sum + each);
    assert.ok(all < limits.deliveriesUnderWayMax, `${listeners} listeners have ${all}`);
    assert.ok(allowsAnother(0, all));
    assert.ok(Math.min(...own) > 0, "and each has some");
  }
});

Deno.test("more than all there is never begins", () => {
  assert.ok(!allowsAnother(0, limits.deliveriesUnderWayMax));
});

/** Instances with many listeners each, which take in turn everything that they may. */
function fillInstances(instances: number): number[] {
  const own: number[] = [];
  let all = 0;
  for (let instance = 0; instance < instances; instance++) {
    own.push(0);
    while (allowsInstance(own[instance]!, all)) {
      own[instance]!++;
      all++;
    }
  }
  return own;
}

Deno.test("an instance alone has three eighths of all, however many listeners it has", () => {
  assert.deepEqual(fillInstances(1), [96]);
});

Deno.test("the first takes most, and yet there is some for the next of sixty instances", () => {
  for (const instances of [1, 2, 3, 10, 60]) {
    const own = fillInstances(instances);
    const all = own.reduce((sum, each) => sum + each);
    assert.ok(allowsInstance(0, all) && allowsAnother(0, all), `${instances} have ${all}`);
    assert.ok(Math.min(...own) > 0, "and each has some");
  }
});
