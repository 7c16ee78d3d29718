/**
 * Parsing a module's output: exactly the documented form, or `invalid`. See
 * docs/reference/modules.md.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type OutputKind, readOutput } from "../../../src/domain/wasm/call_output.ts";
import type { NameCost } from "../../../src/domain/json_text/name_cost.ts";
import { isWithinMemory, unpackRange } from "../../../src/domain/wasm/memory_range.ts";
import { limits } from "../../../src/domain/limits.ts";

const encoder = new TextEncoder();

function read(text: string, kind: OutputKind = "state") {
  return readOutput(encoder.encode(text), kind);
}

const VALUES: readonly (readonly [kind: OutputKind, text: string, json: string])[] = [
  ["state", '{"state":{}}', "{}"],
  ["state", ' { "state" : { "a" : [ 1 , 2 ] } , "more" : 1 } \n', '{"a":[1,2]}'],
  ["state", '{"state":{"n":1.50,"e":1e3}}', '{"n":1.5,"e":1000}'],
  ["state", '{"error":null,"state":{"é":"\\u00e9"}}', '{"é":"é"}'],
  ["state", '{"state":{"__proto__":{"x":1}}}', '{"__proto__":{"x":1}}'],
  ["state", '{"state":{"n":1e308,"s":"1e999"}}', '{"n":1e+308,"s":"1e999"}'],
  ["context", '{"context":{"rate":2}}', '{"rate":2}'],
  ["actions", '{"actions":[]}', "[]"],
  [
    "actions",
    '{"actions":[{"emit":{"key":"order:a:b","event_type":"x"}}]}',
    '[{"aggregate_type":"order","id":"a:b","event_type":"x","data":{}}]',
  ],
  [
    "actions",
    '{"actions":[{"emit":{"aggregate_type":"o","id":"1","event_type":"x","data":{"a":1}}}]}',
    '[{"aggregate_type":"o","id":"1","event_type":"x","data":{"a":1}}]',
  ],
  [
    "actions",
    '{"actions":[{"emit":{"aggregate_type":null,"id":null,"key":"o:1","event_type":"x","data":null}}]}',
    '[{"aggregate_type":"o","id":"1","event_type":"x","data":{}}]',
  ],
];
for (const [kind, text, json] of VALUES) {
  Deno.test(`readOutput() reads ${kind} from ${text.trim()}`, () => {
    assert.deepEqual(read(text, kind), { kind: "value", json });
  });
}

const INVALID: readonly (readonly [kind: OutputKind, text: string, says: string])[] = [
  ["state", "", "empty"],
  ["state", " ", "not JSON"],
  ["state", "{", "not JSON"],
  ["state", '{"state":{}}{}', "not JSON"],
  ["state", "{'state':{}}", "not JSON"],
  ["state", '\ufeff{"state":{}}', "not JSON"],
  ["state", '{"state":{"n":NaN}}', "not JSON"],
  ["state", "null", "not an object"],
  ["state", "[]", "not an object"],
  ["state", '"state"', "not an object"],
  ["state", "{}", "`state` is missing"],
  ["state", '{"context":{}}', "`state` is missing"],
  ["state", '{"state":null}', "`state` must be an object"],
  ["state", '{"state":[]}', "`state` must be an object"],
  ["state", '{"state":"{}"}', "`state` must be an object"],
  ["state", '{"state":{"n":1e999}}', "beyond the range of a double"],
  ["state", '{"state":{"n":[{"m":-1E+0400}]}}', "beyond the range of a double"],
  ["state", `{"state":{"n":${"9".repeat(310)}}}`, "beyond the range of a double"],
  ["context", '{"state":{}}', "`context` is missing"],
  ["actions", '{"state":{}}', "`actions` is missing"],
  ["actions", '{"actions":{}}', "`actions` must be an array"],
  ["actions", '{"actions":[1]}', "`actions[0]` must be an object"],
  ["actions", '{"actions":[{}]}', "`actions[0].emit` must be an object"],
  ["actions", '{"actions":[{"emit":{"event_type":"x"}}]}', "needs `key`"],
  ["actions", '{"actions":[{"emit":{"aggregate_type":"o","event_type":"x"}}]}', ".emit.id`"],
  ["actions", '{"actions":[{"emit":{"key":"o:1"}}]}', "event_type` must be a string"],
  ["actions", '{"actions":[{"emit":{"key":"order","event_type":"x"}}]}', '"<type>:<id>"'],
  ["actions", '{"actions":[{"emit":{"key":7,"event_type":"x"}}]}', '"<type>:<id>"'],
  ["actions", '{"actions":[{"emit":{"key":"o:1","id":"2","event_type":"x"}}]}', "both `key`"],
  ["actions", '{"actions":[{"emit":{"key":"o:1","event_type":"x","data":[]}}]}', ".emit.data`"],
  ["state", '{"error":"no"}', "`error` must be an object"],
  ["state", '{"error":{"message":"m"}}', "`error.type` must be a string"],
  ["state", '{"error":{"type":"","message":"m"}}', "`error.type` must be a string"],
  ["state", '{"error":{"type":"t"}}', "`error.message` must be a string"],
  ["state", '{"error":{"type":"t","message":"m","code":4}}', "`error.code` must be a string"],
  ["state", '{"error":{"type":"t","message":"m","context":[]}}', "`error.context` must be an"],
];
for (const [kind, text, says] of INVALID) {
  Deno.test(`readOutput() does not take ${text.slice(0, 60) || "nothing"} for ${kind}`, () => {
    const reading = read(text, kind);
    assert.equal(reading.kind, "invalid");
    assert(reading.kind === "invalid" && reading.message.includes(says), JSON.stringify(reading));
  });
}

Deno.test("readOutput() gives a module's error as it is, also beside a state, and nothing more", () => {
  const error = { type: "stock", message: "sold out", code: "E1", context: { left: 0 } };
  const text = JSON.stringify({ state: {}, error: { ...error, stack: "secret" } });
  for (const kind of ["state", "actions", "context"] as const) {
    assert.deepEqual(read(text, kind), { kind: "error", error });
  }
  const absent = '{"error":{"type":"t","message":"","code":null,"context":null}}';
  assert.deepEqual(read(absent), { kind: "error", error: { type: "t", message: "" } });
});

Deno.test("readOutput() takes an error of 16 KiB of JSON and no larger one", () => {
  const empty = JSON.stringify({ type: "tt", message: "" }).length;
  // Two bytes each in UTF-8.
  const message = "é".repeat((limits.wasmErrorBytesMax - empty) / 2);
  assert.equal(read(JSON.stringify({ error: { type: "tt", message } })).kind, "error");
  assert.equal(read(JSON.stringify({ error: { type: "ttt", message } })).kind, "invalid");
});

Deno.test("readOutput() takes 8 MiB of output and not a byte more", () => {
  const limit = limits.wasmOutputBytesMax;
  const text = `{"state":{"a":"${"x".repeat(limit - 18)}"}}`;
  assert.equal(text.length, limit);
  assert.equal(read(text).kind, "value");
  const reading = read(`${text} `);
  assert(reading.kind === "invalid" && reading.message.includes(`${limit + 1} bytes`));
});

Deno.test("readOutput() takes output that nests 1,000 levels deep and no deeper", () => {
  const nested = (levels: number) =>
    `{"state":${'{"a":'.repeat(levels - 2)}{}${"}".repeat(levels - 2)}}`;
  assert.equal(read(nested(limits.stateDepthMax)).kind, "value");
  const reading = read(nested(limits.stateDepthMax + 1));
  assert(reading.kind === "invalid" && reading.message.includes("1000 levels"));
  // Brackets in strings do not nest.
  assert.equal(read(`{"state":{"a":"${"[".repeat(5_000)}\\"[["}}`).kind, "value");
});

const NOT_UTF8 = [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]];
for (const bytes of NOT_UTF8) {
  Deno.test(`readOutput() does not take the bytes ${bytes} within a string`, () => {
    const text = [...encoder.encode('{"state":{"a":"'), ...bytes, ...encoder.encode('"}}')];
    const reading = readOutput(Uint8Array.from(text), "state");
    assert(reading.kind === "invalid" && reading.message.includes("not UTF-8"));
  });
}

Deno.test("readOutput() refuses too many actions", () => {
  const action = { emit: { key: "o:1", event_type: "x" } };
  const output = (count: number) => JSON.stringify({ actions: Array(count).fill(action) });
  assert.equal(read(output(limits.implicationActionsMax), "actions").kind, "value");
  assert.equal(read(output(limits.implicationActionsMax + 1), "actions").kind, "invalid");
});

Deno.test("readOutput() gives any state as JSON.parse() reads it", () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (state) => {
    const text = JSON.stringify({ state });
    const { state: expected } = JSON.parse(text);
    assert.deepEqual(read(text), { kind: "value", json: JSON.stringify(expected) });
  }));
});

Deno.test("readOutput() never throws, whatever the bytes are", () => {
  const text = encoder.encode('{"state":{"a":[1,"x",null]},"error":null}');
  const mutations = fc.array(fc.tuple(fc.nat(text.length - 1), fc.nat(255)), { maxLength: 4 });
  fc.assert(
    fc.property(mutations, (changes) => {
      const bytes = text.slice();
      for (const [at, byte] of changes) bytes[at] = byte;
      const reading = readOutput(bytes, "state");
      if (reading.kind === "value") JSON.parse(reading.json);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("unpackRange() is the inverse of packing two numbers without a sign", () => {
  const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  fc.assert(fc.property(number, number, (pointer, length) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setUint32(0, pointer);
    view.setUint32(4, length);
    // The engine returns a signed i64.
    assert.deepEqual(unpackRange(view.getBigInt64(0)), { pointer, length });
    assert.deepEqual(unpackRange(view.getBigUint64(0)), { pointer, length });
  }));
});

Deno.test("unpackRange() takes a negative length for a huge one", () => {
  assert.deepEqual(unpackRange(-1n), { pointer: 4294967295, length: 4294967295 });
  assert.deepEqual(unpackRange(0x0000_0010_ffff_fff0n), { pointer: 16, length: 4294967280 });
});

Deno.test("isWithinMemory() holds to the last byte, and for nothing at its end", () => {
  const cases = [[0, 0], [0, 65536], [65535, 1], [65536, 0], [0, 65537], [65536, 1], [65537, 0]];
  const answers = cases.map(([pointer, length]) =>
    isWithinMemory({ pointer: pointer!, length: length! }, 65536)
  );
  assert.deepEqual(answers, [true, true, true, true, false, false, false]);
  assert(!isWithinMemory(unpackRange(-1n), 64 * 1024 * 1024));
});

Deno.test("readOutput() refuses keys that take too long to look up", () => {
  const cost: NameCost = { namesAtOnce: Infinity, parse: () => undefined, beWary() {} };
  const reading = readOutput(new TextEncoder().encode('{"state":{"a":1}}'), "state", cost);
  assert(reading.kind === "invalid" && reading.message.includes("collide"));
});
