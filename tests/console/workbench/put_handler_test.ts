/** A handler is put into a spec at its place, and nothing else changes. */

import assert from "node:assert/strict";
import { putHandler } from "../../../console/src/workbench/put_handler.ts";

const SPEC = JSON.parse(`{
  "agent_types": ["user"],
  "__proto__": {"kept": true},
  "aggregate_types": {"order": {"events": {
    "was_placed": {"schema": {}, "handler": []},
    "was_paid": {"schema": {}, "handler": []}
  }}}
}`);
const TEXT = JSON.stringify(SPEC);
const PLACE = { type: "order", event: "was_paid", handler: '{"set": {"target": "a"}}' };

Deno.test("putHandler() changes the handler of that event type and nothing else", () => {
  const put = putHandler(TEXT, PLACE);
  assert.ok(put.ok);
  const expected = TEXT.replace(
    '"was_paid":{"schema":{},"handler":[]}',
    '"was_paid":{"schema":{},"handler":{"set":{"target":"a"}}}',
  );
  assert.notEqual(expected, TEXT);
  assert.equal(JSON.stringify(JSON.parse(put.text)), expected);
});

Deno.test("putHandler() refuses what has no such place, and what is no JSON", () => {
  const faulty = [
    putHandler("{", PLACE),
    putHandler(TEXT, { ...PLACE, event: "was_sent" }),
    putHandler(TEXT, { ...PLACE, type: "constructor" }),
    putHandler(TEXT, { ...PLACE, handler: "{" }),
    putHandler("null", PLACE),
    putHandler("", PLACE),
  ];
  assert.deepEqual(faulty.map(({ ok }) => ok), Array(6).fill(false));
});

const TYPED = `{ "aggregate_types" : {"order": {
  "events": {
    "was_placed": {"schema": {"maximum": 1.0, "minimum": 12345678901234567890}, "handler":[]},
\t"was_paid": {
\t\t"schema": { "type":"object" },
\t\t"handler":   [ ]
\t},
    "was_sent": {},
    "was_kept": {"schema": true},
    "was_lost": {
      "schema": true
    }
  } } }, "limit": 1E2 }
`;

Deno.test("putHandler() keeps every other character of the draft, and those of the handler", () => {
  const handler = '[\n  {"increment": {"target": "a", "by": 1.0}}\n]\n';
  const inLines = (indent: string) => handler.trim().split("\n").join(`\n${indent}`);
  const cases = [
    ["was_paid", '"handler":   [ ]', `"handler":   ${inLines("\t\t")}`],
    ["was_sent", '"was_sent": {}', `"was_sent": {"handler": ${inLines("    ")}}`],
    ["was_kept", '{"schema": true}', `{"schema": true, "handler": ${inLines("    ")}}`],
    [
      "was_lost",
      '"schema": true\n    }',
      `"schema": true,\n      "handler": ${inLines("      ")}\n    }`,
    ],
  ] as const;
  for (const [event, before, after] of cases) {
    const put = putHandler(TYPED, { type: "order", event, handler });
    assert.equal(put.ok && put.text, TYPED.replace(before, after), event);
    assert.equal(TYPED.split(before).length, 2, event);
  }
});

Deno.test("putHandler() changes the member that counts where two have one name", () => {
  const twice = '{"aggregate_types":{"order":{"events":{"was_paid":{"handler":[],"handler":{}}}}}}';
  const put = putHandler(twice, PLACE);
  assert.equal(put.ok && put.text, twice.replace('"handler":{}', `"handler":${PLACE.handler}`));
});

Deno.test("putHandler() refuses a handler with a number that would become another one", () => {
  const put = putHandler(TEXT, { ...PLACE, handler: '{"set": {"target": "a", "value": 1e999}}' });
  assert.match(put.ok ? "" : put.error, /Line 1: Number is beyond the range of a double/);
});
