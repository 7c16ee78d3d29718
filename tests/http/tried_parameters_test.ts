/**
 * Each query parameter that a route declares is tried by a test. One that nothing reads compiles,
 * because routes may pass their values on as a whole.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { openApiDocument } from "../../src/http/openapi/document.ts";
import { PATHS } from "../../src/http/paths.ts";
import { testFilesOf } from "../support/test_files.ts";

/** The query parameters of all routes, each once. */
function declaredNames(): Set<string> {
  const { paths } = openApiDocument(PATHS) as { paths: Record<string, JsonObject> };
  const operations = Object.values(paths).flatMap((path) => Object.values(path) as JsonObject[]);
  const parameters = operations.flatMap((each) => (each.parameters ?? []) as JsonObject[]);
  return new Set(parameters.filter((each) => each.in === "query").map(({ name }) => String(name)));
}

Deno.test("each query parameter that a route declares is tried by a test of the service", async () => {
  const files = await testFilesOf(["tests/end_to_end", "tests/http"]);
  const texts = await Promise.all(files.map((file) => Deno.readTextFile(file)));
  const tried = new Set(
    texts.flatMap((text) => [...text.matchAll(/[?&]([a-z_]+)(?=[=&"`])/g)].map(([, name]) => name)),
  );
  const names = declaredNames();
  assert.ok(names.size > 20, `${names.size} parameters`);
  const missing = [...names].filter((name) => !tried.has(name));
  assert.deepEqual(missing, [], "add a test that sends them");
});
