/** The real host: what it promises to the rest. */

import assert from "node:assert/strict";
import { systemHost } from "../src/host.ts";

Deno.test("systemHost() tells the time in milliseconds since 1970", () => {
  const before = Date.now();
  const now = systemHost().nowMs();
  assert.ok(now >= before && now <= Date.now());
});

Deno.test("systemHost() gives as many random bytes as asked for, other ones each time", () => {
  const host = systemHost();
  assert.equal(host.randomBytes(32).length, 32);
  assert.notDeepEqual(host.randomBytes(32), host.randomBytes(32));
});

Deno.test("systemHost() lets what waits run before yieldTurn() resolves", async () => {
  let ran = false;
  setImmediate(() => ran = true);
  await systemHost().yieldTurn();
  assert.equal(ran, true);
});

Deno.test("systemHost() runs what a timer was started with, unless it was let go of", async () => {
  const ran: string[] = [];
  const host = systemHost();
  const letGo = host.startTimer(1, () => ran.push("let go of"));
  letGo();
  await new Promise<void>((resolve) => {
    host.startTimer(2, () => {
      ran.push("over");
      resolve();
    });
  });
  assert.deepEqual(ran, ["over"]);
});

Deno.test("systemHost() logs one line of JSON with time, level, message and fields", () => {
  const lines: string[] = [];
  const original = console.error;
  console.error = (line: string) => void lines.push(line);
  try {
    systemHost().log("warn", "Careful", { request_id: "r\n1" });
  } finally {
    console.error = original;
  }
  assert.equal(lines.length, 1);
  assert.equal(lines[0]!.includes("\n"), false);
  const { time, ...rest } = JSON.parse(lines[0]!);
  assert.deepEqual(rest, { level: "warn", message: "Careful", request_id: "r\n1" });
  assert.equal(new Date(time).toISOString(), time);
});
