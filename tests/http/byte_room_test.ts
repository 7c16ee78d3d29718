/** Memory that requests share: bounded in total, and for each owner. */

import assert from "node:assert/strict";
import { openByteRoom } from "../../src/http/byte_room.ts";

Deno.test("a room holds no more than its bytes, whoever asks", () => {
  const room = openByteRoom(100);
  for (const owner of ["a", "b", "c", "d"]) assert.ok(room.open(owner).take(25));
  assert.equal(room.open("e").take(1), false);
  assert.equal(room.heldBytes(), 100);
});

Deno.test("one owner has a quarter of the room for all its requests together", () => {
  const room = openByteRoom(100);
  const first = room.open("a");
  assert.ok(first.take(20));
  const second = room.open("a");
  assert.ok(second.take(5));
  assert.equal(second.take(1), false);
  assert.ok(room.open("b").take(25), "others have theirs");
  first.leave();
  assert.ok(second.take(20));
});

Deno.test("the only request of an owner may take more than the quarter, but not more than all", () => {
  const room = openByteRoom(100);
  const only = room.open("a");
  assert.ok(only.take(60));
  assert.equal(room.open("a").take(1), false);
  assert.equal(only.take(41), false);
  assert.ok(only.take(40));
});

Deno.test("what is given back can be taken again, and leaving twice gives it back once", () => {
  const room = openByteRoom(100);
  const share = room.open("a");
  share.take(30);
  share.giveBack(10);
  assert.equal(room.heldBytes(), 20);
  share.leave();
  share.leave();
  assert.equal(room.heldBytes(), 0);
  assert.ok(room.open("b").take(100));
});

Deno.test("who waits for room has it as soon as another gives it back, who holds more first", async () => {
  const room = openByteRoom(100);
  const holder = room.open("a");
  const order: string[] = [];
  const shares = ["b", "c"].map((owner) => room.open(owner));
  shares[1]!.take(10);
  holder.take(90);
  const waits = shares.map(async (share, index) => {
    await share.takeSoon(20);
    order.push("bc"[index]!);
  });
  holder.giveBack(20);
  await waits[1];
  assert.deepEqual(order, ["c"]);
  holder.leave();
  await waits[0];
  assert.deepEqual(order, ["c", "b"]);
});

Deno.test("who waits in vain is told so", async () => {
  const room = openByteRoom(100, 10);
  const holder = room.open("a");
  holder.take(100);
  assert.equal(await room.open("b").takeSoon(20), false);
  holder.leave();
  assert.equal(room.heldBytes(), 0, "nothing is kept for who is gone");
});

Deno.test("who has left gets nothing any more, also not what it waited for", async () => {
  const room = openByteRoom(100, 10);
  const holder = room.open("a");
  holder.take(100);
  const gone = room.open("b");
  const waiting = gone.takeSoon(20);
  gone.leave();
  holder.leave();
  assert.equal(await waiting, false);
  assert.equal(gone.take(1), false);
  assert.equal(room.heldBytes(), 0);
});

Deno.test("a request waits for so long in all, however often it asks", async () => {
  const room = openByteRoom(100, 60);
  const holder = room.open("a");
  holder.take(100);
  const share = room.open("b");
  for (let asked = 0; asked < 2; asked++) {
    setTimeout(() => holder.giveBack(1), 40);
    const isTaken = await share.takeSoon(1);
    assert.equal(isTaken, asked === 0);
  }
});

Deno.test("of many requests of one owner that need more than its share, one at a time has it", async () => {
  const room = openByteRoom(1_000, 30);
  async function need(bytes: number): Promise<boolean> {
    const share = room.open("a");
    for (let taken = 0; taken < bytes; taken += 10) {
      if (!await share.takeSoon(10)) {
        share.leave();
        return false;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    share.leave();
    return true;
  }
  const ends = await Promise.all(Array.from({ length: 20 }, () => need(200)));
  assert.ok(ends.includes(true), "not all of them are in each other's way");
  assert.equal(room.heldBytes(), 0);
});
