/** Ids and names of other systems as ours. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { parseIdentifier } from "../../../src/domain/identifier.ts";
import {
  createIdMapper,
  distinctNames,
  importNameOf,
  typeNameOf,
  uuidOfName,
} from "../../../src/domain/migrate/ids.ts";
import { isTypeName } from "../../../src/domain/type_name.ts";

const NONE: ReadonlySet<string> = new Set();

Deno.test("uuidOfName() gives the example of RFC 9562, A.4, and what Python's uuid5 gives", () => {
  const dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  assert.equal(uuidOfName(dns, "www.example.com"), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
  assert.equal(uuidOfName(dns, "é✓"), "0ab2dff9-ba69-57a8-855f-ef112a00023b");
});

Deno.test("createIdMapper() keeps ids that are ours, and only in their canonical spelling", () => {
  const ids = createIdMapper(new Set(["main"]));
  const v4 = "b0b0f1d2-1d2f-4a7e-8a51-0f5f0c2f1a11";
  for (const own of [v4, `${v4}:a1`, "7KD2M9QXA", "global", "main"]) {
    assert.equal(ids.idOf(own), own);
  }
  assert.equal(ids.idOf(v4.toUpperCase()), v4);
  assert.equal(ids.idOf(""), "global");
  // Humane codes in other spellings would meet the id that they are normalized to.
  for (const other of ["7kd2m9qxa", "ORDER0001", "018e0000-0000-7000-8000-00000000000a", "42"]) {
    assert.match(ids.idOf(other), /^[0-9a-f]{8}-[0-9a-f]{4}-5/);
  }
});

const oldId = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.string({ unit: "binary", minLength: 1 }),
  fc.stringMatching(/^[0-9A-Za-z]{9}$/),
  fc.uuid(),
  fc.uuid().map((uuid) => `${uuid}:a`),
  fc.nat().map(String),
);

Deno.test("createIdMapper() makes of every id one of ours, and of two ids never one", () => {
  fc.assert(fc.property(oldId, oldId, (one, other) => {
    const ids = createIdMapper(NONE);
    const [first, second] = [ids.idOf(one), ids.idOf(other)];
    assert.equal(parseIdentifier(first, NONE)?.value, first);
    assert.equal(ids.idOf(one), first);
    assert.equal(createIdMapper(NONE).idOf(one), first);
    // The letters of a UUID have no case.
    if (one.toLowerCase() !== other.toLowerCase()) assert.notEqual(first, second);
  }));
});

Deno.test("typeNameOf() makes words of names in any style", () => {
  const names = {
    "ShoppingCartOpened": "shopping_cart_opened",
    "shopping-cart-opened": "shopping_cart_opened",
    "HTTPServerStarted": "http_server_started",
    "OrderLine2Added": "order_line2_added",
    "Übergabe erfolgt": "ubergabe_erfolgt",
    "2faEnabled": "x_2fa_enabled",
    "✓": "x",
  };
  for (const [name, expected] of Object.entries(names)) assert.equal(typeNameOf(name), expected);
});

Deno.test("distinctNames() gives each name another one, which a spec may have", () => {
  fc.assert(fc.property(fc.uniqueArray(fc.string()), fc.boolean(), (names, isShort) => {
    const found = distinctNames(names, isShort);
    assert.deepEqual([...found.keys()], names);
    assert.equal(new Set(found.values()).size, names.length);
    for (const name of found.values()) assert.ok(isTypeName(name), name);
  }));
});

Deno.test("distinctNames() drops what is in front of a name only where it stays different", () => {
  const names = ["Shop.Events.OrderPlaced, Shop", "io.shop.order-paid", "a.closed", "b.closed"];
  assert.deepEqual([...distinctNames(names, true).values()], [
    "order_placed",
    "order_paid",
    "a_closed",
    "b_closed",
  ]);
});

Deno.test("importNameOf() differs with the source, the size and the first bytes", () => {
  const bytes = new TextEncoder().encode("a");
  const names = [
    importNameOf("csv", 1, bytes),
    importNameOf("ndjson", 1, bytes),
    importNameOf("csv", 2, bytes),
    importNameOf("csv", 1, new TextEncoder().encode("b")),
  ];
  assert.equal(new Set(names).size, 4);
  assert.equal(importNameOf("csv", 1, bytes), names[0]);
});
