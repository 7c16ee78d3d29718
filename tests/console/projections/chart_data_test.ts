/** The points of a chart. */

import assert from "node:assert/strict";
import { chartDataOf, numericColumns } from "../../../console/src/projections/chart_data.ts";

Deno.test("Numbers lie along the chart in their order", () => {
  const rows = [{ x: 3, y: 30 }, { x: 1, y: 10 }, { x: 2, y: null }];
  assert.deepEqual(chartDataOf(rows, "x", "y"), {
    axis: "number",
    xs: [1, 2, 3],
    ys: [10, null, 30],
    names: [],
  });
});

Deno.test("Dates and moments are read as times, in seconds", () => {
  const rows = [{ day: "1970-01-03", y: 2 }, { day: "1970-01-02T00:00:00.500Z", y: 1 }];
  assert.deepEqual(chartDataOf(rows, "day", "y"), {
    axis: "time",
    xs: [86_400.5, 172_800],
    ys: [1, 2],
    names: [],
  });
});

Deno.test("All else keeps the order of the rows, and each has its name", () => {
  const rows = [{ s: "paid", y: 2 }, { s: null, y: 9 }, { s: 7, y: 1 }, {
    s: "x".repeat(99),
    y: "no",
  }];
  assert.deepEqual(chartDataOf(rows, "s", "y"), {
    axis: "names",
    xs: [0, 1, 2],
    ys: [2, 1, null],
    names: ["paid", "7", "x".repeat(24)],
  });
});

Deno.test("A text that only looks like a date is a name", () => {
  assert.equal(chartDataOf([{ x: "2026-99-99", y: 1 }], "x", "y").axis, "names");
  assert.equal(chartDataOf([], "x", "y").axis, "names");
});

Deno.test("Only columns with a number can be drawn", () => {
  assert.deepEqual(numericColumns(["a", "b", "c"], [{ a: null, b: "1" }, { a: 1, b: "2" }]), ["a"]);
});
