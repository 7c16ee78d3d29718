/** A typed spec: the document, the fault of the text, and the places that refusals name. */

import assert from "node:assert/strict";
import { readSpecText, type SpecText } from "../../../console/src/spec/spec_text.ts";
import { joinIndex, joinKey, stepsOf } from "../../../src/domain/spec/fault_list.ts";

function goodText(text: string): SpecText & { readonly ok: true } {
  const read = readSpecText(text);
  assert.ok(read.ok);
  return read;
}

function marked(text: string, path: string): string {
  const { from, to } = goodText(text).locate(path);
  return text.slice(from, to);
}

Deno.test("a place is a value, or the name of an object or list", () => {
  const text = '{"a": {"odd key": [1, {"b": true}]}, "c.d": [2]}';
  assert.equal(marked(text, "a"), '"a"');
  assert.equal(marked(text, 'a["odd key"]'), '"odd key"');
  assert.equal(marked(text, 'a["odd key"][0]'), "1");
  assert.equal(marked(text, 'a["odd key"][1].b'), "true");
  assert.equal(marked(text, '["c.d"][0]'), "2");
});

Deno.test("what is missing is marked at what should hold it", () => {
  const text = '{"a": {"b": {}}}';
  assert.equal(marked(text, "a.b.schema.type"), '"b"');
  assert.equal(marked(text, "agent_types"), "{");
});

Deno.test("a long text is marked by its beginning", () => {
  const text = JSON.stringify({ a: "x".repeat(1_000) });
  assert.equal(marked(text, "a").length, 80);
});

Deno.test("a text that is no JSON is refused at its fault", () => {
  const text = '{\n  "a": 1,\n  b: 2\n}';
  const read = readSpecText(text);
  assert.ok(!read.ok);
  assert.equal(text.slice(0, read.fault.from).split("\n").length, 3);
  assert.match(read.fault.message, /^This is not JSON: /);
});

Deno.test("the first number that would change is refused at its place", () => {
  const text = '{"a": [1.5, {"b": 9007199254740993}], "c": 1e999}';
  const read = readSpecText(text);
  assert.ok(!read.ok);
  const { from, to, message } = read.fault;
  assert.equal(text.slice(from, to), "9007199254740993");
  assert.match(message, /the nearest is 9007199254740992/);
  assert.equal(readSpecText('{"a": 1e999}').ok, false);
  assert.ok(readSpecText('{"a": [0.1, 1e22, -5]}').ok);
});

Deno.test("comments, other values, and texts too deep or too long are no specs", () => {
  const texts = ["", "[]", "7", "{} // note", "[".repeat(100_000), " ".repeat(4_000_001)];
  for (const text of texts) assert.equal(readSpecText(text).ok, false);
});

Deno.test("a key __proto__ is an ordinary one", () => {
  const { spec } = goodText('{"__proto__": {"polluted": 1}}');
  assert.deepEqual(Object.keys(spec), ["__proto__"]);
  assert.equal("polluted" in spec, false);
});

Deno.test("stepsOf() takes apart what joinKey() and joinIndex() join", () => {
  const steps = ["plain", 0, "odd key", 12, 'a"b\\c]["d', "x.y", "ü"];
  const path = steps.reduce<string>(
    (path, step) => typeof step === "number" ? joinIndex(path, step) : joinKey(path, step),
    "",
  );
  assert.deepEqual(stepsOf(path), steps);
});
