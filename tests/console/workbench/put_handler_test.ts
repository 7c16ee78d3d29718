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
  ];
  assert.deepEqual(faulty.map(({ ok }) => ok), [false, false, false, false, false]);
});
