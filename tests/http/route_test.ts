/** Which route a request matches. */

import assert from "node:assert/strict";
import type { Route } from "../../src/http/call.ts";
import { createRouter, paths } from "../../src/http/route.ts";

const route: Route = {
  access: "open",
  operation: { id: "test", summary: "", answers: {} },
  run: () => new Response(),
};

const find = createRouter(paths("data", {
  "/api/things/{id}": { GET: route, DELETE: route },
  "/_fixed": { POST: route },
  "/{type}": { GET: route },
  "/{type}/{id}/length": { GET: route },
  "/{type}/{id}/{event}": { POST: route },
}));

Deno.test("createRouter() tries the paths in order and gives the parameters in order", () => {
  assert.equal(find(["a", "b", "length"])?.path.pattern, "/{type}/{id}/length");
  assert.deepEqual(find(["a", "b", "length"])?.params, ["a", "b"]);
  assert.deepEqual(find(["a", "b", "c"])?.params, ["a", "b", "c"]);
});

Deno.test("createRouter() tries a fixed first segment and a parameter there in the order given", () => {
  const patterns = ["/a/{id}", "/{type}/b"];
  for (const order of [patterns, patterns.toReversed()]) {
    const findIn = createRouter(
      order.flatMap((pattern) => paths("data", { [pattern]: { GET: route } })),
    );
    assert.equal(findIn(["a", "b"])?.path.pattern, order[0]);
    assert.equal(findIn(["a", "c"])?.path.pattern, "/a/{id}");
    assert.equal(findIn(["c", "b"])?.path.pattern, "/{type}/b");
    assert.equal(findIn(["c", "c"]), undefined);
  }
});

Deno.test("createRouter() takes no reserved first segment for an aggregate type", () => {
  for (const first of ["api", "health", "metrics", "_x", "_"]) {
    assert.equal(find([first]), undefined);
    assert.equal(find([first, "b", "c"]), undefined);
  }
  assert.equal(find(["_fixed"])?.path.pattern, "/_fixed");
});

Deno.test("createRouter() finds nothing for an empty segment or another number of them", () => {
  for (
    const segments of [[], [""], ["a", "", "c"], ["a", "b", ""], ["a", "b"], ["a", "b", "c", "d"]]
  ) {
    assert.equal(find(segments), undefined);
  }
});

Deno.test("paths() lists its methods for Allow in the order given", () => {
  assert.equal(find(["api", "things", "7"])?.path.allow, "GET, DELETE");
  assert.equal(find(["a"])?.path.methods.has("constructor"), false);
});
