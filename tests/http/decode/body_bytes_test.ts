/** Bytes of request bodies: bounded in number, in time and in the memory that they hold. */

import assert from "node:assert/strict";
import { accept } from "../../../src/domain/refusal.ts";
import {
  bodyBytesHeld,
  holdForBody,
  leaveBody,
  readBody,
  type Sender,
  type Sink,
} from "../../../src/http/decode/body_bytes.ts";
import { fakeHost } from "../../support/fake_host.ts";

const BLOCK = 64 * 1024;

function post(body: BodyInit, headers: Record<string, string> = {}): Request {
  return new Request("http://127.0.0.1/", { method: "POST", headers, body });
}

function from(request: Request, owner = "a"): Sender {
  return { request, owner, host: fakeHost() };
}

/** Sums up the bytes and counts the blocks. */
function counting(): Sink<{ sum: number; length: number; blocks: number }> {
  const seen = { sum: 0, length: 0, blocks: 0 };
  return {
    add(block) {
      for (const byte of block) seen.sum += byte;
      seen.length += block.length;
      seen.blocks++;
      return true;
    },
    end: () => accept(seen),
  };
}

/** A stream of `count` pieces of `bytes` bytes, each with the value 1. */
function inPieces(count: number, bytes: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    pull(controller) {
      if (count-- === 0) controller.close();
      else controller.enqueue(new Uint8Array(bytes).fill(1));
    },
  });
}

Deno.test("a body in pieces of any size comes in blocks, whole", async () => {
  for (const bytes of [1_000, 65_536, 100_000]) {
    const sender = from(post(inPieces(30, bytes)));
    const outcome = await readBody(sender, counting(), 10_000_000);
    assert.ok(outcome.ok);
    const { sum, length, blocks } = outcome.value;
    assert.deepEqual([sum, length], [30 * bytes, 30 * bytes]);
    assert.ok(blocks <= 3 + length / BLOCK, `${blocks} blocks`);
    sender.body?.leave();
  }
});

Deno.test("small bodies hold nothing, larger ones what came, until they are given back", async () => {
  const small = from(post("x".repeat(16_000)));
  assert.ok((await readBody(small, counting(), 1_000_000)).ok);
  assert.equal(small.body, undefined);
  const large = from(post(inPieces(10, BLOCK)));
  assert.ok((await readBody(large, counting(), 1_000_000)).ok);
  assert.ok(bodyBytesHeld() >= 10 * BLOCK && bodyBytesHeld() <= 12 * BLOCK);
  large.body!.leave();
  assert.equal(bodyBytesHeld(), 0);
});

Deno.test("where others of its owner hold all that it may, a body is refused with no_room", async () => {
  const first = from(post(""));
  const second = from(post(inPieces(10, BLOCK)));
  assert.equal(await holdForBody(first, 90 * 1024 * 1024), true);
  const refused = await readBody(second, counting(), 1_000_000);
  assert.ok(!refused.ok && refused.refusal.kind === "no_room");
  const others = from(post(inPieces(10, BLOCK)), "b");
  assert.ok((await readBody(others, counting(), 1_000_000)).ok);
  for (const sender of [first, second, others]) sender.body?.leave();
  assert.equal(bodyBytesHeld(), 0);
});

Deno.test("sixteen blocks of all bodies are read in one turn, however many have arrived", async () => {
  const turns: (() => void)[] = [];
  const host = { ...fakeHost(), yieldBriefly: () => new Promise<void>((go) => turns.push(go)) };
  let blocks = 0;
  const sink: Sink<void> = {
    add: () => ++blocks > 0,
    end: () => accept(undefined),
  };
  const senders = [1, 2, 3].map((): Sender => ({
    request: post(inPieces(12, BLOCK)),
    owner: "a",
    host,
  }));
  const read = Promise.all(senders.map((sender) => readBody(sender, sink, 1_000_000)));
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
  await settle();
  // Each body has a first block of a quarter, and one that waits.
  assert.equal(blocks, 3 + 16);
  turns.shift()!();
  await settle();
  assert.equal(blocks, 3 + 32);
  turns.shift()!();
  assert.ok((await read).every(({ ok }) => ok));
  for (const sender of senders) sender.body?.leave();
});

Deno.test("of bodies above 4 KiB that arrive together sixteen are handed on in a turn, and shorter ones at once", async () => {
  const turns: (() => void)[] = [];
  const host = { ...fakeHost(), yieldBriefly: () => new Promise<void>((go) => turns.push(go)) };
  const arrived = { long: 0, short: 0 };
  for (let times = 0; times < 40; times++) {
    for (const [kind, length] of [["long", 4_097], ["short", 4_096]] as const) {
      const request = post("x".repeat(length), { "content-length": String(length) });
      const sink: Sink<void> = { add: () => ++arrived[kind] > 0, end: () => accept(undefined) };
      void readBody({ request, owner: "a", host }, sink, 1_000_000);
    }
  }
  const settle = () => new Promise((resolve) => setTimeout(resolve, 20));
  for (const long of [16, 32, 40]) {
    await settle();
    assert.deepEqual(arrived, { long, short: 40 });
    turns.shift()!();
  }
});

Deno.test("bodies that are refused at the same moment are refused in turns of their own", async () => {
  const turns: (() => void)[] = [];
  const host = { ...fakeHost(), yieldBriefly: () => new Promise<void>((go) => turns.push(go)) };
  let refused = 0;
  for (let times = 0; times < 3; times++) {
    const request = post(inPieces(1, BLOCK), { "content-length": String(2_000_000) });
    void readBody({ request, owner: "a", host }, counting(), 1_000_000).then((outcome) => {
      assert.ok(!outcome.ok && outcome.refusal.kind === "payload_too_large");
      refused++;
    });
  }
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
  for (let turn = 1; turn <= 3; turn++) {
    await settle();
    assert.equal(refused, turn);
    turns.shift()!();
  }
});

Deno.test("a sink that cannot go on ends the reading", async () => {
  let blocks = 0;
  const sink: Sink<string> = { add: () => ++blocks < 3, end: () => accept("enough") };
  const sender = from(post(inPieces(100, BLOCK)));
  assert.deepEqual(await readBody(sender, sink, 10_000_000), { ok: true, value: "enough" });
  assert.equal(blocks, 3);
  sender.body?.leave();
});

Deno.test("a body that is not wanted is read where it is small, and cancelled where it is not", async () => {
  for (const [length, isRead] of [[4_096, true], [4_097, false]] as const) {
    let isCancelled = false;
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(length));
        controller.close();
      },
      cancel: () => void (isCancelled = true),
    });
    const request = post(body, { "content-length": String(length) });
    leaveBody(request);
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(request.bodyUsed || isCancelled, true);
    assert.equal(isCancelled && isRead, false);
  }
});
