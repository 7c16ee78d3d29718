/** The check of packages: each rule with a tree that keeps it and one that breaks it. */

import assert from "node:assert/strict";
import { checkDependencies, type Manifest } from "../../scripts/checks/dependency_rules.ts";
import { parseSource } from "../../scripts/checks/source_tree.ts";

const INTEGRITY = `sha512-${"A".repeat(86)}==`;
const SOUND: Manifest = {
  imports: { "hono": "npm:hono@4.13.19", "@x/tests": "npm:@x/tests@1.0.0/deep.js" },
  lock: {
    specifiers: { "npm:hono@4.13.19": "4.13.19", "npm:@x/tests@1.0.0": "1.0.0" },
    npm: {
      "hono@4.13.19": { integrity: INTEGRITY },
      "@x/tests@1.0.0": { integrity: INTEGRITY },
    },
  },
  architecture: [
    "| `else` | a table elsewhere |",
    "## Dependencies",
    "| Package | Why |",
    "| `hono` | carries requests |",
    "| `@x/tests` | tests only: answers |",
    "## Where to look",
    "| `file.ts` | no package |",
  ].join("\n"),
};
const SOURCES = {
  "src/http/app.ts": `import { Hono } from "hono/tiny";`,
  "tests/a_test.ts": `import { y } from "@x/tests";`,
};

/** The faults of a change to the sound tree, as `path rule`. */
function faultsOf(change: Partial<Manifest>, sources: Record<string, string> = SOURCES): string[] {
  const parsed = Object.entries(sources).map(([path, text]) => parseSource(path, text));
  return checkDependencies({ ...SOUND, ...change }, parsed).map(({ path, rule }) =>
    `${path} ${rule}`
  );
}

Deno.test("checkDependencies() accepts packages that are pinned, locked, used and explained", () => {
  assert.deepEqual(faultsOf({}), []);
});

for (
  const specifier of [
    "npm:hono@^4.13.19",
    "npm:hono@4",
    "npm:hono",
    "npm:hono@*",
    "jsr:@hono/hono@4.1.0",
  ]
) {
  Deno.test(`checkDependencies() refuses ${specifier}, which is not one version`, () => {
    assert.deepEqual(faultsOf({ imports: { ...SOUND.imports, hono: specifier } }), [
      "deno.json pinned",
    ]);
  });
}

Deno.test("checkDependencies() refuses a version that is not in the lock file", () => {
  assert.deepEqual(faultsOf({ imports: { ...SOUND.imports, hono: "npm:hono@4.13.20" } }), [
    "deno.json locked",
  ]);
});

Deno.test("checkDependencies() refuses a package in the lock file without a hash, or a short one", () => {
  for (const integrity of [undefined, "", "sha1-abc", "sha512-abc"]) {
    const npm = { ...SOUND.lock.npm, "deep@1.0.0": { integrity } };
    assert.deepEqual(faultsOf({ lock: { ...SOUND.lock, npm } }), ["deno.lock integrity"]);
  }
});

Deno.test("checkDependencies() refuses what nothing imports", () => {
  const { "tests/a_test.ts": _, ...rest } = SOURCES;
  assert.deepEqual(faultsOf({}, rest), ["deno.json used"]);
});

Deno.test("checkDependencies() refuses a package without a reason, and a reason without a package", () => {
  const architecture = SOUND.architecture.replace("`hono`", "`koa`");
  assert.deepEqual(faultsOf({ architecture }), [
    "deno.json reason",
    "ARCHITECTURE.md stale_reason",
  ]);
});

Deno.test("checkDependencies() refuses a package for tests in the product", () => {
  const sources = { ...SOURCES, "src/kv/a.ts": `import type { y } from "@x/tests/more";` };
  assert.deepEqual(faultsOf({}, sources), ["ARCHITECTURE.md test_only"]);
});
