/** Tests the judge of histories: each fault alone, in the smallest history that shows it. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { checkHistory } from "./check_history.ts";
import { findCircle } from "./circle.ts";
import type { Heard, Operation, Part } from "./history.ts";

/** `[invokedAt, answeredAt]`; -1 means that there was no answer. */
type Span = readonly [number, number];

function write(
  [invokedAt, answeredAt]: Span,
  name: string,
  parts: readonly Part[],
  heard: Heard,
): Operation {
  const asked = { kind: "write", write: name, isKeyed: false, parts } as const;
  return { client: 1, asked, heard, invokedAt, answeredAt: answeredAt < 0 ? Infinity : answeredAt };
}

interface OneWrite {
  readonly stream: string;
  readonly value: string;
  readonly first: number;
  readonly expectedLength?: number;
}

/** Writes one value to one stream; the write has the name of the value. */
function one(span: Span, { stream, value, first, expectedLength }: OneWrite) {
  const heard = { kind: "written", first: [first] } as const;
  return write(span, value, [{ stream, values: [value], expectedLength }], heard);
}

function read([invokedAt, answeredAt]: Span, stream: string, heard: Heard): Operation {
  return { client: 2, asked: { kind: "read", stream }, heard, invokedAt, answeredAt };
}

function length(span: Span, stream: string, length: number): Operation {
  return read(span, stream, { kind: "length", length });
}

function streams(content: Record<string, string[]>) {
  return new Map(Object.entries(content));
}

interface Row {
  readonly name: string;
  readonly history: readonly Operation[];
  readonly streams: Record<string, string[]>;
  readonly fault?: RegExp;
}

const both = [{ stream: "s", values: ["x"] }, { stream: "t", values: ["y"] }];
const AB = [
  one([1, 2], { stream: "s", value: "a", first: 0 }),
  one([3, 4], { stream: "s", value: "b", first: 1 }),
];

/** Writes `b` to `t`, if `s` has at most so many values. */
function bounded(span: Span, atMost: number, heard: Heard) {
  const guards = [{ stream: "s", atMost }];
  return write(span, "b", [{ stream: "t", values: ["b"], guards }], heard);
}

const A = one([1, 2], { stream: "s", value: "a", first: 0 });
const WRITTEN: Heard = { kind: "written", first: [0] };
const JUDGED: Heard = { kind: "judged", failed: 0 };

const ROWS: readonly Row[] = [
  {
    name: "a guard that held before the write that exceeds it, beside it",
    history: [
      one([1, 4], { stream: "s", value: "a", first: 0 }),
      bounded([2, 3], 0, WRITTEN),
    ],
    streams: { s: ["a"], t: ["b"] },
  },
  {
    name: "a guard that did not hold behind the write that exceeds it",
    history: [A, bounded([3, 4], 0, JUDGED)],
    streams: { s: ["a"], t: [] },
  },
  {
    name: "a guard that was judged on a stale state",
    history: [A, bounded([3, 4], 0, WRITTEN)],
    streams: { s: ["a"], t: ["b"] },
    fault: /no order explains/,
  },
  {
    name: "a guard over the own stream that was judged on a stale state",
    history: [
      A,
      write([1, -1], "b", [{ stream: "s", values: ["b"], guards: [{ stream: "s", atMost: 0 }] }], {
        kind: "unknown",
      }),
    ],
    streams: { s: ["a", "b"] },
    fault: /no order explains/,
  },
  {
    name: "a refusal by a guard that held",
    history: [bounded([1, 2], 0, JUDGED), one([3, 4], { stream: "s", value: "a", first: 0 })],
    streams: { s: ["a"], t: [] },
    fault: /no order explains/,
  },
  {
    name: "a refusal by a guard that always holds",
    history: [A, bounded([3, 4], 7, JUDGED)],
    streams: { s: ["a"], t: [] },
    fault: /saw more of s than there is/,
  },
  {
    name: "a write that a guard has refused, and that is there",
    history: [A, bounded([3, 4], 0, JUDGED)],
    streams: { s: ["a"], t: ["b"] },
    fault: /was refused and is there/,
  },
  {
    name: "two writes that are each judged on the state before the other",
    history: [
      write(
        [1, 4],
        "a",
        [{ stream: "s", values: ["a"], guards: [{ stream: "t", atMost: 0 }] }],
        WRITTEN,
      ),
      bounded([2, 3], 0, WRITTEN),
    ],
    streams: { s: ["a"], t: ["b"] },
    fault: /no order explains/,
  },
  { name: "nothing at all", history: [], streams: {} },
  {
    name: "writes one after the other, and reads of what was there",
    history: [...AB, read([5, 6], "s", { kind: "values", values: ["a", "b"] })],
    streams: { s: ["a", "b"] },
  },
  {
    name: "a read beside a write, which sees it or does not",
    history: [
      one([1, 6], { stream: "s", value: "a", first: 0 }),
      length([2, 3], "s", 0),
      length([4, 5], "s", 1),
    ],
    streams: { s: ["a"] },
  },
  {
    name: "a write without an answer that landed, and one that did not",
    history: [
      write([1, -1], "a", [{ stream: "s", values: ["a"] }], { kind: "unknown" }),
      write([1, -1], "b", [{ stream: "s", values: ["b"] }], { kind: "unknown" }),
    ],
    streams: { s: ["a"] },
  },
  {
    name: "a conflict with a length that the stream had",
    history: [
      one([1, 2], { stream: "s", value: "a", first: 0 }),
      write([3, 4], "b", [{ stream: "s", values: ["b"], expectedLength: 0 }], {
        kind: "conflict",
        stream: "s",
        length: 1,
      }),
    ],
    streams: { s: ["a"] },
  },
  {
    name: "an acknowledged write that is lost",
    history: AB,
    streams: { s: ["a"] },
    fault: /write b: was acknowledged and is not there/,
  },
  {
    name: "a write that landed twice",
    history: [one([1, 2], { stream: "s", value: "a", first: 0 })],
    streams: { s: ["a", "a"] },
    fault: /more than once/,
  },
  {
    name: "half of an atomic write",
    history: [write([1, -1], "w", both, { kind: "unknown" })],
    streams: { s: ["x"] },
    fault: /is there in part/,
  },
  {
    name: "a batch with another event between",
    history: [
      write([1, -1], "w", [{ stream: "s", values: ["x", "y"] }], { kind: "unknown" }),
      one([1, 2], { stream: "s", value: "a", first: 1 }),
    ],
    streams: { s: ["x", "a", "y"] },
    fault: /is there torn/,
  },
  {
    name: "a refused write that is there",
    history: [write([1, 2], "a", [{ stream: "s", values: ["a"] }], { kind: "refused" })],
    streams: { s: ["a"] },
    fault: /was refused and is there/,
  },
  {
    name: "a write elsewhere than was said",
    history: [
      one([1, 2], { stream: "s", value: "a", first: 1 }),
      one([3, 4], { stream: "s", value: "b", first: 0 }),
    ],
    streams: { s: ["a", "b"] },
    fault: /was said to be at 1, and is at 0/,
  },
  {
    name: "a lost update: a write on another length than it expected",
    history: [AB[0]!, one([3, 4], { stream: "s", value: "b", first: 1, expectedLength: 0 })],
    streams: { s: ["a", "b"] },
    fault: /expected s to have 0 events/,
  },
  {
    name: "an event that nobody wrote",
    history: [],
    streams: { s: ["a"] },
    fault: /nobody wrote/,
  },
  {
    name: "a conflict on the very length that was expected",
    history: [write([1, 2], "b", [{ stream: "s", values: ["b"], expectedLength: 0 }], {
      kind: "conflict",
      stream: "s",
      length: 0,
    })],
    streams: {},
    fault: /names a length that was expected/,
  },
  {
    name: "a conflict with a length that the stream no longer had",
    history: [
      ...AB,
      write([5, 6], "c", [{ stream: "s", values: ["c"], expectedLength: 0 }], {
        kind: "conflict",
        stream: "s",
        length: 1,
      }),
    ],
    streams: { s: ["a", "b"] },
    fault: /no order explains/,
  },
  {
    name: "a stale read: an acknowledged write is not seen",
    history: [one([1, 2], { stream: "s", value: "a", first: 0 }), length([3, 4], "s", 0)],
    streams: { s: ["a"] },
    fault: /no order explains/,
  },
  {
    name: "a read of a write that nobody had asked for yet",
    history: [length([1, 2], "s", 1), one([3, 4], { stream: "s", value: "a", first: 0 })],
    streams: { s: ["a"] },
    fault: /no order explains/,
  },
  {
    name: "two reads that go back in time",
    history: [
      one([1, 8], { stream: "s", value: "a", first: 0 }),
      length([2, 3], "s", 1),
      length([4, 5], "s", 0),
    ],
    streams: { s: ["a"] },
    fault: /no order explains/,
  },
  {
    name: "writes against the order of time",
    history: [
      one([1, 2], { stream: "s", value: "a", first: 1 }),
      one([3, 4], { stream: "s", value: "b", first: 0 }),
    ],
    streams: { s: ["b", "a"] },
    fault: /no order explains/,
  },
  {
    name: "half of a batch, seen by a read",
    history: [
      write([1, 4], "w", [{ stream: "s", values: ["x", "y"] }], { kind: "written", first: [0] }),
      length([2, 3], "s", 1),
    ],
    streams: { s: ["x", "y"] },
    fault: /saw half of write w/,
  },
  {
    name: "half of an atomic write, seen by two reads of one client",
    history: [
      write([1, 8], "w", both, { kind: "written", first: [0, 0] }),
      length([2, 3], "s", 1),
      length([4, 5], "t", 0),
    ],
    streams: { s: ["x"], t: ["y"] },
    fault: /no order explains/,
  },
  {
    name: "two atomic writes in another order in each stream",
    history: ["v", "w"].map((name) =>
      write([1, -1], name, ["s", "t"].map((stream) => ({ stream, values: [name + stream] })), {
        kind: "unknown",
      })
    ),
    streams: { s: ["vs", "ws"], t: ["wt", "vt"] },
    fault: /no order explains/,
  },
  {
    name: "a read of events that the stream has not",
    history: [...AB, read([5, 6], "s", { kind: "values", values: ["b"] })],
    streams: { s: ["a", "b"] },
    fault: /saw other events/,
  },
  {
    name: "a read of more than there is",
    history: [length([1, 2], "s", 1)],
    streams: {},
    fault: /saw more of s/,
  },
];

for (const { name, history, streams: content, fault } of ROWS) {
  Deno.test(`checkHistory() ${fault === undefined ? "accepts" : "finds"} ${name}`, () => {
    const faults = checkHistory(history, streams(content));
    if (fault === undefined) assert.deepEqual(faults, []);
    else assert.match(faults.join("\n"), fault);
  });
}

Deno.test("findCircle() finds a circle exactly where sorting by dependence does not end", () => {
  const nodes = 7;
  const edge = fc.tuple(fc.nat(nodes - 1), fc.nat(nodes - 1));
  fc.assert(fc.property(fc.array(edge, { maxLength: 12 }), (edges) => {
    const after = (node: number) => edges.filter(([from]) => from === node).map(([, to]) => to);
    const circle = findCircle(nodes, after);
    let left = Array.from({ length: nodes }, (_, node) => node);
    for (let size = -1; size !== left.length;) {
      size = left.length;
      left = left.filter((node) => edges.some(([from, to]) => to === node && left.includes(from)));
    }
    assert.equal(circle === undefined, left.length === 0);
    circle?.forEach((node, index) =>
      assert.ok(after(node).includes(circle[(index + 1) % circle.length]!))
    );
  }));
});
