/** A trace follows from one number, has the requested length, and is plain data. */

import assert from "node:assert/strict";
import { expand, substitute } from "./operation.ts";
import { makeTrace } from "./trace.ts";

Deno.test("makeTrace() gives the same operations for the same number, others for another", () => {
  const trace = makeTrace({ operations: 1_500, seed: 5 });
  assert.equal(trace.length, 1_500);
  const text = JSON.stringify(trace);
  assert.equal(JSON.stringify(makeTrace({ operations: 1_500, seed: 5 })), text);
  assert.notEqual(JSON.stringify(makeTrace({ operations: 1_500, seed: 6 })), text);
});

Deno.test("makeTrace() gives plain data, which can be kept as JSON", () => {
  const text = JSON.stringify(makeTrace({ operations: 1_500, seed: 5 }));
  assert.equal(JSON.stringify(JSON.parse(text)), text);
});

Deno.test("expand() writes out texts and lists, and keeps odd keys", () => {
  assert.deepEqual(expand({ a: { $text: 10 } }), { a: "abcdefghab" });
  assert.deepEqual(expand([{ $times: 2, $item: { at: "$index" } }]), [[{ at: 0 }, { at: 1 }]]);
  const odd = JSON.parse('{"__proto__":{"a":1}}');
  assert.equal(JSON.stringify(expand(odd)), '{"__proto__":{"a":1}}');
});

Deno.test("substitute() puts in what is known, and nothing for what is not", () => {
  assert.equal(substitute("/{{a}}/{{b}}/{c}", new Map([["a", "1"]])), "/1//{c}");
});
