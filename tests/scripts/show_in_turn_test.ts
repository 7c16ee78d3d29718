/** Outputs of runs that go on at once are shown one after the other. */

import assert from "node:assert/strict";
import { showInTurn } from "../../scripts/tests/show_in_turn.ts";

function setUp() {
  const shown: string[] = [];
  const open = showInTurn(async (bytes) => {
    await new Promise((resolve) => setTimeout(resolve, 0));
    shown.push(new TextDecoder().decode(bytes));
  });
  const openText = () => {
    const { write, end } = open();
    return { end, write: (text: string) => write(new TextEncoder().encode(text)) };
  };
  return { shown, open: openText };
}

Deno.test("the first run is seen at work, the others when it has ended", async () => {
  const { shown, open } = setUp();
  const [first, second] = [open(), open()];
  await second.write("b1");
  await first.write("a1");
  assert.deepEqual(shown, ["a1"]);
  await first.write("a2");
  await first.end();
  assert.deepEqual(shown, ["a1", "a2", "b1"]);
  await second.write("b2");
  assert.deepEqual(shown.at(-1), "b2");
  await second.end();
});

Deno.test("runs that have ended are shown before the one that is seen next", async () => {
  const { shown, open } = setUp();
  const [first, second, third] = [open(), open(), open()];
  await second.write("b1");
  await third.write("c1");
  await third.end();
  await first.end();
  assert.deepEqual(shown, ["c1", "b1"]);
  await second.end();
  assert.deepEqual(shown, ["c1", "b1"]);
});

Deno.test("a run that begins when all others have ended is seen at work", async () => {
  const { shown, open } = setUp();
  await open().end();
  const later = open();
  await later.write("a1");
  assert.deepEqual(shown, ["a1"]);
  await later.end();
});

Deno.test("what is written while another is shown keeps its order", async () => {
  const { shown, open } = setUp();
  const [first, second] = [open(), open()];
  for (const text of ["b1", "b2", "b3"]) await second.write(text);
  const ending = first.end();
  const writing = second.write("b4");
  await Promise.all([ending, writing]);
  await second.end();
  assert.deepEqual(shown, ["b1", "b2", "b3", "b4"]);
});
