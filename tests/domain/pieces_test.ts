/** Long work in pieces: when a piece ends, and that another begins. */

import assert from "node:assert/strict";
import { openPieces } from "../../src/domain/pieces.ts";

/** A clock that the test moves, and a count of the turns that were given away. */
function newTurns() {
  const turns = {
    nowMs: 0,
    given: 0,
    monotonicMs: () => turns.nowMs,
    yieldTurn: () => {
      turns.given++;
      return Promise.resolve();
    },
  };
  return turns;
}

Deno.test("rest() gives nothing to wait for while the piece is shorter than it may be", () => {
  const turns = newTurns();
  const pieces = openPieces(turns, 4);
  turns.nowMs = 3.9;
  assert.equal(pieces.rest(), undefined);
  assert.equal(turns.given, 0);
});

Deno.test("rest() gives the thread to others when the piece has run its time, and begins a new one", async () => {
  const turns = newTurns();
  const pieces = openPieces(turns, 4);
  turns.nowMs = 4;
  await pieces.rest();
  assert.equal(turns.given, 1);
  turns.nowMs = 7;
  assert.equal(pieces.rest(), undefined);
  turns.nowMs = 8;
  await pieces.rest();
  assert.equal(turns.given, 2);
});
