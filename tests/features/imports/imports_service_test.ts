/**
 * A process runs few imports at once: instances share the places, and slow clients lose theirs.
 */

import assert from "node:assert/strict";
import {
  endOf,
  type ImportPlace,
  openImportPlaces,
} from "../../../src/features/imports/imports_service.ts";
import { limits } from "../../../src/domain/limits.ts";
import { accept, type Outcome } from "../../../src/domain/refusal.ts";

function setUp() {
  const clock = { nowMs: 0 };
  return { clock, places: openImportPlaces(() => clock.nowMs) };
}

/** Receives pieces of these sizes, each after the given delay. */
async function receive(
  clock: { nowMs: number },
  place: ImportPlace,
  pieces: readonly (readonly [bytes: number, afterMs: number])[],
): Promise<void> {
  async function* coming(): AsyncGenerator<Outcome<Uint8Array>> {
    for (const [bytes, afterMs] of pieces) {
      clock.nowMs += afterMs;
      yield await Promise.resolve(accept(new Uint8Array(bytes)));
    }
  }
  for await (const piece of place.watch(coming())) assert.ok(piece.ok);
}

/** Starts to wait for a piece that never comes. */
function stall(place: ImportPlace): void {
  async function* never(): AsyncGenerator<Outcome<Uint8Array>> {
    await new Promise(() => {});
    yield accept(new Uint8Array(0));
  }
  void place.watch(never())[Symbol.asyncIterator]().next();
}

function messageOf(place: ImportPlace): string {
  const end = endOf(place.ending);
  if (end === undefined) return "goes on";
  assert.equal(end.refusal.kind, "import_unavailable");
  return end.refusal.kind === "import_unavailable" ? end.refusal.message : "";
}

Deno.test("an instance that is alone has all places, and no more", () => {
  const { places } = setUp();
  const taken = [1, 2, 3, 4].map(() => places.take("a")!);
  assert.equal(places.take("a"), undefined);
  assert.ok(taken.every((place) => messageOf(place) === "goes on"));
  taken[0]!.leave();
  assert.ok(places.take("a") !== undefined);
});

Deno.test("an instance that has several gives up the newest for one that has none", () => {
  const { places } = setUp();
  const taken = [1, 2, 3, 4].map(() => places.take("a")!);
  for (const instance of ["b", "c", "d"]) assert.ok(places.take(instance) !== undefined, instance);
  assert.deepEqual(taken.map((place) => endOf(place.ending) !== undefined), [
    false,
    true,
    true,
    true,
  ]);
  assert.match(messageOf(taken[3]!), /same import_id to go on$/);
  assert.equal(places.take("b"), undefined, "who has one gets no second of another's");
});

Deno.test("where each instance has one and all send, the next is told to come later", async () => {
  const { clock, places } = setUp();
  for (const instance of ["a", "b", "c", "d"]) {
    const place = places.take(instance)!;
    await receive(clock, place, [[limits.importBytesBesideOthersMin, 5_000]]);
  }
  assert.equal(places.take("e"), undefined);
});

Deno.test("of those that let us wait the slowest gives way to another instance", async () => {
  const { clock, places } = setUp();
  const [quick, slow, slower, other] = ["a", "b", "c", "d"].map((name) => places.take(name)!);
  await receive(clock, quick!, [[limits.importBytesBesideOthersMin, 5_000]]);
  await receive(clock, slow!, [[90_000, 5_000]]);
  await receive(clock, slower!, [[70_000, 5_000]]);
  stall(other!);
  assert.ok(places.take("e") !== undefined);
  assert.match(messageOf(slower!), /came slowly/);
  assert.deepEqual(
    [quick, slow, other].map((place) => messageOf(place!)),
    Array(3).fill("goes on"),
  );
  clock.nowMs += 2_000;
  assert.ok(places.take("f") !== undefined);
  assert.match(messageOf(other!), /came slowly/, "it has sent nothing for two seconds");
});

Deno.test("a file that drips is ended after ten seconds of waiting, also where nobody else asks", async () => {
  const { clock, places } = setUp();
  const place = places.take("a")!;
  await receive(clock, place, Array(9).fill([1_000, 1_000]));
  assert.equal(messageOf(place), "goes on");
  await receive(clock, place, [[1_000, 1_000]]);
  assert.match(messageOf(place), /less than 65536 bytes in 10 s/);
});

Deno.test("time in which the server is at work does not count against the client", async () => {
  const { clock, places } = setUp();
  const place = places.take("a")!;
  for (let pieces = 0; pieces < 100; pieces++) {
    await receive(clock, place, [[1_000, 1]]);
    clock.nowMs += 60_000;
  }
  assert.equal(messageOf(place), "goes on");
});

Deno.test("64 KiB in ten seconds are enough, for as long as it takes", async () => {
  const { clock, places } = setUp();
  const place = places.take("a")!;
  for (let windows = 0; windows < 20; windows++) {
    await receive(clock, place, [[limits.importBytesMin, 10_000]]);
  }
  assert.equal(messageOf(place), "goes on");
});
