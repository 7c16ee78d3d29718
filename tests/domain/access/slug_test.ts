/** Slugs are DNS labels that cannot be confused with the host name of any environment. */

import { deepEqual, equal, match } from "node:assert/strict";
import { explainSlug } from "../../../src/domain/access/slug.ts";

Deno.test("explainSlug() accepts DNS labels of 1 to 42 characters", () => {
  const good = ["default", "a", "a1", "acme-eu-2", "staging", "test", "apis", "a" + "b".repeat(41)];
  deepEqual(good.map(explainSlug), good.map(() => undefined));
});

Deno.test("explainSlug() refuses what is no DNS label, or has no room for its endings", () => {
  const bad = ["", "1a", "-a", "a-", "A", "a_b", "a.b", "ä", "a b", "a\n", "a".repeat(43), "xn--a"];
  for (const slug of bad) equal(typeof explainSlug(slug), "string", JSON.stringify(slug));
});

Deno.test("explainSlug() refuses slugs that would be read as another's environment", () => {
  match(explainSlug("acme-staging")!, /environments/);
  match(explainSlug("acme-test")!, /environments/);
});

Deno.test("explainSlug() refuses `api`, the host of operator calls", () => {
  match(explainSlug("api")!, /reserved/);
});
