/** Golden cases of `src/http/paths.ts`, and that no route is left out. */

import assert from "node:assert/strict";
import type { Route } from "../../src/http/call.ts";
import { TAGS } from "../../src/http/openapi/tags.ts";
import { PATHS } from "../../src/http/paths.ts";
import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("paths");

function isRoute(value: unknown): value is Route {
  return typeof value === "object" && value !== null && "operation" in value;
}

for (const tag of Object.keys(TAGS)) {
  Deno.test(`each route of src/http/${tag} has a path of that group`, async () => {
    const paths = PATHS.filter((path) => path.tag === tag);
    const listed = paths.flatMap(({ methods }) => [...methods.values()]);
    const folder = new URL(`../../src/http/${tag}/`, import.meta.url);
    const exported: Route[] = [];
    for (const { name } of Deno.readDirSync(folder)) {
      const module: Record<string, unknown> = await import(new URL(name, folder).href);
      exported.push(...Object.values(module).filter(isRoute));
    }
    const idsOf = (routes: readonly Route[]) => routes.map(({ operation }) => operation.id).sort();
    assert.deepEqual(idsOf(exported), idsOf(listed));
  });
}
