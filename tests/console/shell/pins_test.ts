/** Pinned keys as the browser keeps them: several of each scope, none of another one. */

import assert from "node:assert/strict";
import {
  addPin,
  nameOfPins,
  parsePins,
  publicKeyIn,
  removePin,
} from "../../../console/src/shell/pins.ts";

const [FIRST, SECOND] = ["0a".repeat(32), "0b".repeat(32)];
const NOW = "2026-01-01T00:00:00.000Z";

Deno.test("a scope keeps several keys, each with its date, until each is removed", () => {
  let pins = addPin([], { public_key: FIRST }, NOW);
  pins = addPin(pins, { public_key: SECOND }, "2026-02-01T00:00:00.000Z");
  pins = addPin(pins, { public_key: FIRST }, "2026-03-01T00:00:00.000Z");
  assert.deepEqual(pins, [
    { public_key: FIRST, pinned_at: NOW },
    { public_key: SECOND, pinned_at: "2026-02-01T00:00:00.000Z" },
  ]);
  assert.deepEqual(parsePins(JSON.stringify(pins)), pins);
  assert.deepEqual(removePin(pins, FIRST).map(({ public_key }) => public_key), [SECOND]);
});

Deno.test("a key from the server itself is marked, until it comes from elsewhere as well", () => {
  const fromServer = addPin([], { public_key: FIRST, from: "server" }, NOW);
  assert.deepEqual(fromServer, [{ public_key: FIRST, pinned_at: NOW, from: "server" }]);
  assert.deepEqual(parsePins(JSON.stringify(fromServer)), fromServer);
  const later = "2026-03-01T00:00:00.000Z";
  const confirmed = addPin(fromServer, { public_key: FIRST }, later);
  assert.deepEqual(confirmed, [{ public_key: FIRST, pinned_at: NOW }]);
  // What came from elsewhere stays so.
  assert.deepEqual(addPin(confirmed, { public_key: FIRST, from: "server" }, later), confirmed);
});

Deno.test("no two scopes share a name, whatever they are called", () => {
  const names = [["a", "b"], ["a.b", ""], ["", "a.b"], ['a","b', ""]].map((
    [instanceId, environment],
  ) => nameOfPins({ instanceId: instanceId!, environment: environment! }));
  assert.equal(new Set(names).size, names.length);
});

Deno.test("what is no pin is left out of what was kept", () => {
  const pin = { public_key: FIRST, pinned_at: NOW };
  const kept = [null, 1, {}, { ...pin, public_key: "0A".repeat(32) }, { public_key: FIRST }, pin];
  assert.deepEqual(parsePins(JSON.stringify(kept)), [pin]);
  for (const text of [null, "", "no JSON", "{}", FIRST]) assert.deepEqual(parsePins(text), []);
});

Deno.test("a key is taken as it was pasted, and nothing else is taken for one", () => {
  assert.equal(publicKeyIn(` ${FIRST.toUpperCase()}\n`), FIRST);
  for (const text of ["", FIRST.slice(1), `${FIRST}00`, "0g".repeat(32)]) {
    assert.equal(publicKeyIn(text), undefined);
  }
});
