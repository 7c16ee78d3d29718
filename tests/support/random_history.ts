/** Random writes to the example shop: single, batch and atomic, keyed or not, guarded or not. */

import fc from "fast-check";

/** One request as a client sends it. */
export interface HistoryStep {
  readonly path: string;
  readonly body: unknown;
  readonly idempotencyKey: string | undefined;
}

const ACTOR = { actor: { type: "user", id: "global" } };
const IDS = [
  "global",
  "main",
  "5b3e1a7c-9d24-4f6a-8b1e-000000000001",
  "5b3e1a7c-9d24-4f6a-8b1e-000000000001:tag",
  "7ZK0X9M4P",
];

const id = fc.constantFrom(...IDS);
const note = fc.record({ text: fc.string({ unit: "grapheme", maxLength: 40 }) });
const event = note.map((data) => ({ type: "was_noted", data }));
const timestamp = sometimes(fc.nat(2_000_000_000));
const length = sometimes(fc.nat(6));
const idempotencyKey = sometimes(fc.constantFrom("a", "b", "c", "d"));

/** Usually undefined. */
function sometimes<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, {
    weight: 1,
    arbitrary: value,
  });
}

function metadata(timestamp: number | undefined, previous_length?: number) {
  return { ...ACTOR, timestamp, previous_length };
}

const single = fc.record({ id, data: note, timestamp, length, idempotencyKey }).map((step) => ({
  path: `/order/${step.id}/was_noted`,
  body: { data: step.data, metadata: metadata(step.timestamp, step.length) },
  idempotencyKey: step.idempotencyKey,
}));

const events = fc.array(event, { minLength: 1, maxLength: 30 });
const batch = fc.record({ id, events, timestamp, length, idempotencyKey }).map((step) => ({
  path: `/order/${step.id}`,
  body: { events: step.events, metadata: metadata(step.timestamp, step.length) },
  idempotencyKey: step.idempotencyKey,
}));

const target = fc.record({ id, events: fc.array(event, { minLength: 1, maxLength: 3 }), length });
const atomic = fc.record({
  targets: fc.uniqueArray(target, { minLength: 2, maxLength: 4, selector: ({ id }) => id }),
  timestamp,
  idempotencyKey,
}).map((step) => ({
  path: "/_atomic-write",
  body: {
    targets: step.targets.map(({ id, events, length }) => ({
      aggregate_type: "order",
      id,
      events,
      previous_length: length,
    })),
    metadata: metadata(step.timestamp),
  },
  idempotencyKey: step.idempotencyKey,
}));

/** Up to 25 requests to up to five orders; some conflict, repeat a key or misuse one. */
export const randomHistory: fc.Arbitrary<HistoryStep[]> = fc.array(
  fc.oneof(single, batch, atomic),
  { minLength: 1, maxLength: 25 },
);

/** The orders that a history may write to. */
export const HISTORY_IDS: readonly string[] = IDS;
