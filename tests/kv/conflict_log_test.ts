/** The log of recent writes: what it remembers and forgets, and that forgetting is refusing. */

import assert from "node:assert/strict";
import * as occ from "../../src/kv/conflict_log.ts";

function written(...keys: string[]): occ.WrittenGroup {
  return { ...occ.openWrittenGroup(), keys: new Set(keys) };
}

const nothing = occ.openWrittenGroup();

Deno.test("findConflict() looks at versions after the read, and at the group in the making", () => {
  const log = occ.emptyConflictLog();
  for (const [version, key] of [[1, "a"], [2, "b"], [3, "c"]] as const) {
    occ.recordGroup(log, version, written(key), 0);
  }
  const guards = { keys: new Set(["b"]), ranges: [] };
  assert.equal(occ.findConflict(log, nothing, guards, 1) !== undefined, true);
  assert.equal(occ.findConflict(log, nothing, guards, 2), undefined);
  assert.equal(occ.findConflict(log, written("b"), guards, 3) !== undefined, true);
  const range = { keys: new Set<string>(), ranges: [{ begin: "aa", end: "c" }] };
  assert.equal(occ.findConflict(log, nothing, range, 0) !== undefined, true);
  assert.equal(occ.findConflict(log, nothing, range, 2), undefined);
  assert.equal(occ.findConflict(log, written("b"), range, 3) !== undefined, true);
  assert.equal(occ.findConflict(log, written("c"), range, 3), undefined);
});

Deno.test("recordGroup() forgets what no reader needs; older reads then conflict", () => {
  const log = occ.emptyConflictLog();
  occ.recordGroup(log, 1, written("a"), 0);
  occ.recordGroup(log, 2, written("b"), 1);
  assert.deepEqual(log.groups.map(({ version }) => version), [2]);
  const guards = { keys: new Set(["untouched"]), ranges: [] };
  assert.equal(occ.findConflict(log, nothing, guards, 0) !== undefined, true);
  assert.equal(occ.findConflict(log, nothing, guards, 1), undefined);
});

Deno.test("recordGroup() is bounded whoever reads, and what it dropped conflicts", () => {
  const log = occ.emptyConflictLog();
  for (let version = 1; version <= 12; version++) {
    const keys = Array.from({ length: 100_000 }, (_, i) => `${version}-${i}`);
    occ.recordGroup(log, version, written(...keys), 0);
  }
  assert.equal(log.keyCount, 1_000_000);
  const guards = { keys: new Set(["untouched"]), ranges: [] };
  assert.equal(occ.findConflict(log, nothing, guards, 0) !== undefined, true);
  assert.equal(occ.findConflict(log, nothing, guards, 2), undefined);
});
