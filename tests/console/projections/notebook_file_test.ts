/** A notebook as text. */

import assert from "node:assert/strict";
import {
  faultOfSize,
  formatNotebook,
  NOTEBOOK_LIMITS,
  parseNotebook,
} from "../../../console/src/projections/notebook_file.ts";

const CELLS = [
  { id: "a", sql: "SELECT :least", params: { least: "10" }, chart: { x: "day", y: "total" } },
  { id: "b", sql: "SELECT 1", params: {} },
] as const;

function errorOf(text: string): string {
  const parsed = parseNotebook(text);
  return parsed.ok ? "none" : parsed.error;
}

Deno.test("An exported notebook comes back with all its cells, without their ids", () => {
  assert.deepEqual(parseNotebook(formatNotebook(CELLS)), {
    ok: true,
    cells: [
      { sql: "SELECT :least", params: { least: "10" }, chart: { x: "day", y: "total" } },
      { sql: "SELECT 1", params: {}, chart: undefined },
    ],
  });
});

Deno.test("A file that is none is refused with what is wrong", () => {
  assert.equal(errorOf("SELECT 1"), "The file is not JSON");
  assert.match(errorOf("null"), /is not a notebook/);
  assert.match(errorOf('{"cells": []}'), /"format"/);
  const file = { format: "daybook-notebook", version: 1, cells: [{ sql: "SELECT 1" }, { sql: 7 }] };
  assert.equal(errorOf(JSON.stringify(file)), 'cells[1] has no text "sql"');
  assert.match(errorOf(JSON.stringify({ ...file, version: 2 })), /version 2/);
});

Deno.test("What a cell should not have is left out", () => {
  const file = {
    format: "daybook-notebook",
    version: 1,
    cells: [{ sql: "SELECT 1", params: { a: 7, b: "x" }, chart: { x: 1 }, id: "q", more: true }],
  };
  assert.deepEqual(parseNotebook(JSON.stringify(file)), {
    ok: true,
    cells: [{ sql: "SELECT 1", params: { b: "x" }, chart: undefined }],
  });
});

Deno.test("A notebook is bounded in cells and in bytes, and the refusal names the limit", () => {
  const { cellsMax, bytesMax } = NOTEBOOK_LIMITS;
  assert.equal(faultOfSize("x", cellsMax), undefined);
  assert.match(faultOfSize("x", cellsMax + 1)!, /at most 100 cells, and this has 101/);
  assert.equal(faultOfSize("x".repeat(bytesMax), 1), undefined);
  assert.match(faultOfSize("\u20ac".repeat(bytesMax / 2), 1)!, /1,000,000 bytes.*1,500,000/);
  assert.match(errorOf("x".repeat(bytesMax + 1)), /at most 1,000,000 bytes/);
  const many = Array.from({ length: cellsMax + 1 }, (_, at) => ({ ...CELLS[1], id: `${at}` }));
  assert.match(errorOf(formatNotebook(many)), /at most 100 cells/);
});
