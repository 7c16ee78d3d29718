/** Long answers that are sent in parts, and the memory that they hold meanwhile. */

import assert from "node:assert/strict";
import { openDeadlines } from "../../src/http/deadlines.ts";
import {
  answerBytesHeld,
  claimAnswer,
  listBody,
  longAnswer,
  streamAsTaken,
} from "../../src/http/long_answer.ts";

const MiB = 1024 * 1024;

function ofBytes(bytes: number): Response {
  return longAnswer([new Uint8Array(bytes)], 200);
}

Deno.test("a long answer tells its length and has all of its parts, to the last character", async () => {
  const text = "a" + "\u{1f600}é".repeat(50_000);
  const bytes = new TextEncoder().encode("b".repeat(100_000));
  const response = longAnswer([text, bytes, "", "end"], 201);
  assert.ok(claimAnswer(response, "a"));
  assert.equal(response.status, 201);
  const body = await response.bytes();
  assert.equal(response.headers.get("content-length"), String(body.length));
  assert.equal(new TextDecoder().decode(body), `${text}${"b".repeat(100_000)}end`);
  assert.equal(answerBytesHeld(), 0);
});

Deno.test("what an answer holds is given back when it is taken, and when its client goes away", async () => {
  const taken = ofBytes(MiB);
  const left = ofBytes(MiB);
  assert.ok(claimAnswer(taken, "a") && claimAnswer(left, "b"));
  assert.equal(answerBytesHeld(), 2 * MiB);
  const reader = left.body!.getReader();
  await reader.read();
  await reader.cancel();
  assert.equal(answerBytesHeld(), MiB);
  await taken.bytes();
  assert.equal(answerBytesHeld(), 0);
});

Deno.test("an owner has a quarter of the memory for its answers; another has its own", async () => {
  const first = ofBytes(40 * MiB);
  const second = ofBytes(40 * MiB);
  const others = ofBytes(40 * MiB);
  assert.ok(claimAnswer(first, "a"));
  assert.equal(claimAnswer(second, "a"), false);
  assert.ok(claimAnswer(others, "b"));
  await Promise.all([first.body!.cancel(), others.body!.cancel()]);
  assert.equal(answerBytesHeld(), 0);
});

Deno.test("an answer of which nothing is taken for a while ends too early, and is given back", async () => {
  const response = longAnswer(["x".repeat(MiB)], 200, openDeadlines(0.05));
  assert.ok(claimAnswer(response, "a"));
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(answerBytesHeld(), 0);
  assert.ok((await reader.read()).done);
  assert.ok(value!.length < MiB);
});

Deno.test("an answer that is taken slowly, but taken, comes to its end", async () => {
  const response = longAnswer(["x".repeat(300_000)], 200, openDeadlines(0.2));
  assert.ok(claimAnswer(response, "a"));
  let length = 0;
  for await (const piece of response.body!) {
    length += piece.length;
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  assert.equal(length, 300_000);
});

/** Deadlines that pass when the test says so. */
function handDeadlines() {
  const pending = new Set<() => void>();
  function start(onLate: () => void): () => void {
    pending.add(onLate);
    return () => void pending.delete(onLate);
  }
  return {
    start,
    pending,
    pass: () => [...pending].forEach((onLate) => onLate()),
  };
}

async function* threePieces(): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  for (let i = 0; i < 3; i++) yield await Promise.resolve(new Uint8Array(10));
}

Deno.test("a body made as it is taken ends once: taken whole, given up, failed or not taken", async () => {
  async function* failing(): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
    yield* threePieces();
    throw new Error("the store is away");
  }
  const ends: string[] = [];
  const deadlines = handDeadlines();
  const open = (source = threePieces()) =>
    streamAsTaken(source, (outcome) => void ends.push(outcome), deadlines);

  await new Response(open()).bytes();
  const reader = open().getReader();
  await reader.read();
  await reader.cancel();
  await assert.rejects(new Response(open(failing())).bytes(), /the store is away/);
  assert.equal(deadlines.pending.size, 0);
  const stalled = open().getReader();
  await stalled.read();
  assert.equal(deadlines.pending.size, 1);
  deadlines.pass();
  await assert.rejects(stalled.read(), /taken nothing/);
  const untouched = open();
  deadlines.pass();
  await assert.rejects(new Response(untouched).bytes(), /taken nothing/);
  assert.deepEqual(ends, [
    "is complete",
    "was ended by its client",
    "has failed: the store is away",
    "was ended: its client has taken nothing for a while",
    "was ended: its client has taken nothing for a while",
  ]);
});

Deno.test("listBody() makes a list in parts of 64 KiB, which together are the whole text", async () => {
  const entries = Array.from({ length: 5_000 }, (_, number) => ({ number, text: "x".repeat(20) }));
  const turns = { monotonicMs: () => 0, yieldTurn: () => Promise.resolve() };
  const textOf = (entry: object) => JSON.stringify(entry);
  const parts = await listBody(entries, textOf, ['{"a":1,"keys":[', "]}"], turns);
  assert.equal(parts.join(""), JSON.stringify({ a: 1, keys: entries }));
  assert.ok(parts.every(({ length }) => length < 65 * 1024));
  assert.deepEqual(await listBody([], textOf, ["[", "]"], turns), ["[]"]);
});
