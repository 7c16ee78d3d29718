/** Which route a request matches. */

import assert from "node:assert/strict";
import { createRouter, operator, path, read, write } from "../../src/http/route.ts";

function answer(): Response {
  return new Response();
}

const find = createRouter([
  path("/api/things/{id}", { GET: operator(answer), DELETE: operator(answer) }),
  path("/_fixed", { POST: write(answer) }),
  path("/{type}", { GET: read(answer) }),
  path("/{type}/{id}/length", { GET: read(answer) }),
  path("/{type}/{id}/{event}", { POST: write(answer) }),
]);

Deno.test("createRouter() tries the paths in order and gives the parameters in order", () => {
  assert.equal(find(["a", "b", "length"])?.path.pattern, "/{type}/{id}/length");
  assert.deepEqual(find(["a", "b", "length"])?.params, ["a", "b"]);
  assert.deepEqual(find(["a", "b", "c"])?.params, ["a", "b", "c"]);
});

Deno.test("createRouter() tries a fixed first segment and a parameter there in the order given", () => {
  const patterns = ["/a/{id}", "/{type}/b"];
  for (const order of [patterns, patterns.toReversed()]) {
    const findIn = createRouter(order.map((pattern) => path(pattern, { GET: read(answer) })));
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

Deno.test("path() lists its methods for Allow in the order given", () => {
  assert.equal(find(["api", "things", "7"])?.path.allow, "GET, DELETE");
  assert.equal(find(["a"])?.path.methods.has("constructor"), false);
});
