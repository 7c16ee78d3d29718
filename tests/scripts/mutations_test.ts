/** The list of bugs that the suites have to find stays true to the sources. */

import assert from "node:assert/strict";
import { MUTATIONS } from "../../scripts/mutations/list.ts";
import { ordinaryTests } from "../../scripts/tests/suites.ts";

Deno.test("each bug changes exactly one place, and its suite is there", async () => {
  assert.ok(MUTATIONS.length >= 20);
  for (const { name, path, find, put, suite } of MUTATIONS) {
    const text = await Deno.readTextFile(path);
    assert.equal(text.split(find).length - 1, 1, `${name}: in ${path}`);
    assert.notEqual(find, put, name);
    await Deno.stat(suite);
  }
  const names = MUTATIONS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
});

Deno.test("each bug is to be found by a suite that the ordinary run has", async () => {
  const { serving, computing } = await ordinaryTests();
  const files = [...serving, ...computing].flat();
  for (const { name, suite } of MUTATIONS) {
    const isRun = files.some((file) => file === suite || file.startsWith(`${suite}/`));
    assert.ok(isRun, `${name}: ${suite}`);
  }
});
