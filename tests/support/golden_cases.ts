/** Reads test cases that are data: the list in one file below `tests/golden/`. */

import assert from "node:assert/strict";

export function readGolden<T>(file: string): readonly T[] {
  const text = Deno.readTextFileSync(new URL(`../golden/${file}`, import.meta.url));
  const cases = JSON.parse(text) as T[];
  assert.ok(cases.length > 0, `${file} has cases`);
  return cases;
}
