/** Endpoints that are left alone for a while after failures: `circuit.ts`. */

import assert from "node:assert/strict";
import {
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
