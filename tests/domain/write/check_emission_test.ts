/** What the service itself may write: those checks of a client's write that can fail there. */

import assert from "node:assert/strict";
import { checkEmission } from "../../../src/domain/write/check_emission.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Emission } from "../../../src/domain/reaction/action.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { exampleSpec } from "../../support/example_spec.ts";

const compiled = compileSpec(exampleSpec);
assert.ok(compiled.ok);
const { spec } = compiled;

function emission(change: Partial<Emission> = {}): Emission {
  const base = {
    aggregateType: "order",
    id: "main",
    eventType: "was_noted",
    data: { text: "a" },
    ...change,
  };
  return { key: streamKey(base.aggregateType, base.id), ...base };
}

Deno.test("checkEmission() gives the data as text of an event that fits", () => {
  const checked = checkEmission(emission(), spec);
  assert.ok(checked.ok);
  const { event } = checked;
  assert.deepEqual(event, { type: "was_noted", dataJson: '{"text":"a"}', geo: undefined });
});

const refused: readonly [string, Partial<Emission>, RegExp][] = [
  ["a type that is gone", { aggregateType: "stock" }, /^Aggregate type 'stock' not found in spec$/],
  [
    "an event type that is gone",
    { eventType: "was_lost" },
    /^Event type 'was_lost' not found in spec for aggregate 'order'$/,
  ],
  ["a system event", { eventType: "_was_tombstoned" }, /not found in spec/],
  ["a singleton that is gone", { id: "elsewhere" }, /^Identifier must be/],
  [
    "data that does not fit",
    { data: { text: 1 } },
    /^Event data failed schema validation: data.text: /,
  ],
  ["data without what is required", { data: {} }, /data\.text/],
  [
    "data that is too large",
    { eventType: "was_viewed", data: { fill: "x".repeat(limits.eventDataBytesMax) } },
    /^Event data exceeds 102400 bytes/,
  ],
];

for (const [what, change, message] of refused) {
  Deno.test(`checkEmission() refuses ${what}`, () => {
    const checked = checkEmission(emission(change), spec);
    assert.ok(!checked.ok);
    assert.match(checked.message, message);
  });
}
