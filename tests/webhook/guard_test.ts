/** Which addresses a connection gets for a name; `sender_test.ts` tests this over sockets. */

import assert from "node:assert/strict";
import { AddressRefused, guardedLookup, NameNotFound } from "../../src/webhook/guard.ts";

const PUBLIC = [{ address: "93.184.216.34", family: 4 }, { address: "2606:4700::1111", family: 6 }];
const PRIVATE = { address: "10.0.0.1", family: 4 };

function ask(
  addresses: readonly { address: string; family: number }[],
  { allowPrivate = false, all = true } = {},
): Promise<unknown[]> {
  const lookup = guardedLookup(() => Promise.resolve(addresses), allowPrivate);
  return new Promise((resolve) => lookup("name", { all }, (...told) => resolve(told)));
}

Deno.test("a name with public addresses is told all of them, or the first", async () => {
  assert.deepEqual(await ask(PUBLIC), [null, PUBLIC]);
  assert.deepEqual(await ask(PUBLIC, { all: false }), [null, "93.184.216.34", 4]);
});

Deno.test("one private address among several refuses the name, wherever it stands", async () => {
  for (const addresses of [[PRIVATE, ...PUBLIC], [...PUBLIC, PRIVATE]]) {
    for (const all of [true, false]) {
      const [error] = await ask(addresses, { all });
      assert.ok(error instanceof AddressRefused);
    }
  }
});

Deno.test("private addresses are told where the settings allow them", async () => {
  assert.deepEqual(await ask([PRIVATE], { allowPrivate: true }), [null, [PRIVATE]]);
});

Deno.test("a name without addresses is not found", async () => {
  const [error] = await ask([]);
  assert.ok(error instanceof NameNotFound);
});
