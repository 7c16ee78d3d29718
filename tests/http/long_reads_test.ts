/** Reads with possibly long answers take turns within their instance. */

import assert from "node:assert/strict";
import { openLongReads } from "../../src/http/long_reads.ts";

const LONG = 1_000_000;

/** Reads that a test ends, with the number that is running. */
function controlled() {
  const ends: (() => void)[] = [];
  const seen = { running: 0, most: 0 };
  async function read(): Promise<number> {
    seen.most = Math.max(seen.most, ++seen.running);
    await new Promise<void>((resolve) => ends.push(resolve));
    return seen.running--;
  }
  return { ends, seen, read };
}

async function endAll(ends: (() => void)[]): Promise<void> {
  while (ends.length > 0) {
    ends.shift()!();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

Deno.test("four reads of one instance run at a time, and one once one was long", async () => {
  const reads = openLongReads(() => true);
  const { ends, seen, read } = controlled();
  const all = Array.from({ length: 40 }, () => reads.run("a", read, () => LONG)!);
  assert.equal(seen.running, 4);
  while (seen.running > 1) {
    ends.shift()!();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  seen.most = 0;
  await endAll(ends);
  await Promise.all(all);
  assert.equal(seen.most, 1);
});

Deno.test("other instances have their own turns", async () => {
  const reads = openLongReads(() => true);
  const first = controlled();
  const second = controlled();
  const all = Array.from({ length: 40 }, () => reads.run("a", first.read, () => LONG)!);
  const others = reads.run("b", second.read, () => 10)!;
  assert.equal(second.seen.running, 1);
  await endAll(second.ends);
  await others;
  await endAll(first.ends);
  await Promise.all(all);
});

Deno.test("a read that throws gives its turn to the next", async () => {
  const reads = openLongReads(() => true);
  const failing = () => Promise.reject(new Error("store away"));
  const all = Array.from({ length: 40 }, () => reads.run("a", failing, () => LONG)!);
  const ends = await Promise.allSettled(all);
  assert.ok(ends.every(({ status }) => status === "rejected"));
  assert.equal(await reads.run("a", () => Promise.resolve(1), () => 1), 1);
});

Deno.test("256 reads wait at most: the next is not taken", async () => {
  const reads = openLongReads(() => true);
  const { ends, read } = controlled();
  const all = Array.from({ length: 4 + 256 }, () => reads.run("a", read, () => 10)!);
  assert.equal(await reads.run("a", read, () => 10), undefined);
  await endAll(ends);
  await Promise.all(all);
});

Deno.test("long reads whose answers could not be kept are not begun; short ones are", async () => {
  let hasRoom = true;
  const reads = openLongReads(() => hasRoom);
  const { ends, seen, read } = controlled();
  const all = Array.from({ length: 10 }, () => reads.run("a", read, () => LONG));
  hasRoom = false;
  assert.equal(seen.running, 4);
  await endAll(ends);
  const made = await Promise.all(all);
  assert.equal(made.filter((one) => one !== undefined).length, 4);
  const short = reads.run("b", read, () => 10);
  await endAll(ends);
  assert.notEqual(await short, undefined);
});

Deno.test("mostly short reads run beside each other, until one is long: then one at a time", async () => {
  let nowMs = 0;
  const reads = openLongReads(() => true, () => nowMs);
  const short = controlled();
  const many = Array.from({ length: 40 }, () => reads.runMostlyShort("a", short.read, () => 10));
  assert.equal(short.seen.most, 40);
  await endAll(short.ends);
  await Promise.all(many);
  const first = controlled();
  const long = reads.runMostlyShort("a", first.read, () => LONG);
  await endAll(first.ends);
  await long;
  const later = controlled();
  const next = Array.from({ length: 10 }, () => reads.runMostlyShort("a", later.read, () => LONG));
  const other = controlled();
  const others = Array.from({ length: 10 }, () => reads.runMostlyShort("b", other.read, () => 10));
  assert.deepEqual([later.seen.most, other.seen.most], [1, 10]);
  await endAll(other.ends);
  await endAll(later.ends);
  await Promise.all([...next, ...others]);
  assert.equal(later.seen.most, 1);
  nowMs += 2_000;
  const calm = controlled();
  const last = Array.from({ length: 10 }, () => reads.runMostlyShort("a", calm.read, () => 10));
  assert.equal(calm.seen.most, 10, "a while after the last long one");
  await endAll(calm.ends);
  await Promise.all(last);
});

Deno.test("after a long one, a mostly short read is not begun without room for its answer", async () => {
  let hasRoom = true;
  const reads = openLongReads(() => hasRoom);
  assert.equal(await reads.runMostlyShort("a", () => Promise.resolve("x"), () => LONG), "x");
  hasRoom = false;
  assert.equal(await reads.runMostlyShort("a", () => Promise.reject(), () => LONG), undefined);
  assert.equal(await reads.runMostlyShort("b", () => Promise.resolve("y"), () => 1), "y");
});

Deno.test("what was long is not read again without room for as much, nor behind others", async () => {
  let room = LONG;
  const reads = openLongReads((_, bytes = 1) => bytes <= room);
  const read = (name: string, length = LONG) =>
    reads.runMostlyShort("a", () => Promise.resolve(name), () => length, name);
  assert.equal(await read("x"), "x");
  const held = controlled();
  const first = reads.runMostlyShort("a", held.read, () => LONG, "y");
  const behind = read("x");
  room = LONG - 1;
  assert.equal(await read("x"), undefined, "at once");
  await endAll(held.ends);
  await first;
  assert.equal(await behind, undefined, "once its turn has come");
  assert.equal(await read("z", 1), "z", "what is not known to be long is read");
  room = LONG;
  assert.equal(await read("x", 1), "x");
  room = 1;
  assert.equal(await read("x", 1), "x", "it was short the last time");
});

Deno.test("reads that have waited go on in slices, and others have turns in between", async () => {
  let [nowMs, done] = [0, 0];
  const turns: (() => void)[] = [];
  const nextTurn = () => new Promise<void>((resolve) => turns.push(resolve));
  const reads = openLongReads(() => true, () => nowMs, nextTurn);
  const read = () => {
    nowMs += 3;
    return Promise.resolve(++done);
  };
  const all = Promise.all(Array.from({ length: 40 }, () => reads.run("a", read, () => 10)));
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
  await settled();
  assert.ok(done <= 8, `${done} reads in the first turn`);
  for (; done < 40; await settled()) {
    const before = done;
    assert.ok(turns.length > 0, "the rest goes on in a later turn");
    turns.shift()!();
    await settled();
    assert.ok(done - before <= 8, `${done - before} reads in a turn`);
  }
  assert.equal((await all).length, 40);
});

Deno.test("short reads that have waited do not wait for a turn of the loop", async () => {
  const reads = openLongReads(() => true, () => 0, () => new Promise(() => {}));
  const all = Array.from({ length: 40 }, () => reads.run("a", () => Promise.resolve(1), () => 10));
  assert.equal((await Promise.all(all)).length, 40);
});
