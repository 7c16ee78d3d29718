/** Where a request goes: its address taken apart, its place, and the route of its path. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Route } from "../../src/http/call.ts";
import { createPlaces, createRouter, parseAddress } from "../../src/http/find_route.ts";
import { paths } from "../../src/http/paths.ts";

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

const CASES: readonly (readonly [url: string, host: string, segments: string[], query: string])[] =
  [
    ["http://a/", "a", [""], ""],
    ["http://a", "a", [""], ""],
    ["http://a?x=1", "a", [""], "x=1"],
    ["https://A.Example.COM:8443/b/c?d=/e?f#g", "a.example.com", ["b", "c"], "d=/e?f"],
    ["http://[::1]:8000/b", "[::1]", ["b"], ""],
    ["http://a./b/", "a", ["b", ""], ""],
    ["http://a/b%2Fc/%2541/%C3%A9", "a", ["b/c", "%41", "é"], ""],
    ["http://a/b#c?d", "a", ["b"], ""],
  ];

for (const [url, host, segments, query] of CASES) {
  Deno.test(`parseAddress() of ${url}`, () => {
    assert.deepEqual(parseAddress(url), { host, segments, query });
  });
}

Deno.test("parseAddress() gives no segments where the percent-encoding is broken", () => {
  for (const path of ["%", "%2", "%zz", "%ff", "%E0%A4%A", "a/%C3/b"]) {
    assert.equal(parseAddress(`http://a/${path}`).segments, undefined);
  }
});

Deno.test("parseAddress() gives back any segments that were encoded", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { minLength: 1 }), (segments) => {
      const encoded = segments.map(encodeURIComponent).join("/");
      assert.deepEqual(parseAddress(`http://a/${encoded}?q`).segments, segments);
    }),
  );
});

Deno.test("createPlaces() of a listener ignores the host name", () => {
  const findPlace = createPlaces({ kind: "listener", environment: "staging" });
  for (const host of ["", "127.0.0.1", "shop.example.com"]) {
    assert.deepEqual(findPlace(host), {
      ok: true,
      value: { environment: "staging", servesData: true },
    });
  }
});

Deno.test("createPlaces() takes a base domain in any case and api.<base> for operator calls", () => {
  const findPlace = createPlaces({ kind: "host", baseDomain: "Example.COM" });
  assert.deepEqual(findPlace("shop-test.example.com"), {
    ok: true,
    value: { environment: "test", slug: "shop", servesData: true },
  });
  assert.deepEqual(findPlace("api.example.com"), {
    ok: true,
    value: { environment: "test", servesData: false },
  });
});

Deno.test("createPlaces() repeats no more of an unknown host than DNS allows", () => {
  const outcome = createPlaces({ kind: "host", baseDomain: "example.com" })("x".repeat(9_000));
  assert.ok(!outcome.ok && outcome.refusal.kind === "not_found");
  assert.ok(outcome.refusal.message.length < 500);
});
