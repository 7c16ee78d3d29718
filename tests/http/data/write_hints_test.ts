/** The hints about a field of a write that is in the wrong place. */

import assert from "node:assert/strict";
import {
  hintForBodyField,
  hintForEventField,
  hintForTargetField,
  type WriteForm,
} from "../../../src/http/data/write_hints.ts";

const FORMS: readonly WriteForm[] = ["single", "batch", "atomic"];
const OF_METADATA = ["actor", "target", "previous_length", "skip_occ", "timestamp"];

Deno.test("a field of the metadata is sent there, whatever the form", () => {
  for (const field of OF_METADATA) {
    for (const form of FORMS) {
      assert.equal(hintForBodyField(form, field), `\`${field}\` belongs in \`metadata\``);
    }
  }
});

Deno.test("a field that is nearly known is named", () => {
  assert.equal(hintForBodyField("single", "metdata"), 'Did you mean "metadata"?');
  assert.equal(hintForBodyField("batch", "event"), 'Did you mean "events"?');
  assert.equal(hintForBodyField("atomic", "target_s"), 'Did you mean "targets"?');
  assert.equal(hintForEventField("tpye"), 'Did you mean "type"?');
  assert.equal(hintForTargetField("aggregate_typ"), 'Did you mean "aggregate_type"?');
});

Deno.test("what no form knows is said to belong in data, or the form is shown", () => {
  for (const field of ["total", "constructor", "__proto__", "toString", ""]) {
    assert.match(hintForBodyField("single", field), /belong in `data`/);
    assert.match(hintForBodyField("batch", field), /^The body is \{"events": /);
    assert.match(hintForBodyField("atomic", field), /^The body is \{"targets": /);
    assert.match(hintForEventField(field), /belong in its `data`/);
    assert.match(hintForTargetField(field), /^A target has aggregate_type, id, events, /);
  }
});

Deno.test("a field of another form names the path that takes it", () => {
  assert.match(hintForBodyField("single", "events"), /POST \/\{type\}\/\{id\},/);
  assert.match(hintForBodyField("single", "targets"), /POST \/_atomic-write/);
  assert.match(hintForBodyField("batch", "targets"), /POST \/_atomic-write/);
  assert.match(hintForBodyField("batch", "data"), /POST \/\{type\}\/\{id\}\/\{event_type\}/);
});
