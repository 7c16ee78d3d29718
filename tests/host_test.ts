/** The real host: what it promises to the rest of the code. */

import assert from "node:assert/strict";
import { openLoopTurns, systemHost } from "../src/host.ts";

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

Deno.test("systemHost() lets in what comes over the network while something yields turn after turn", async () => {
  let answered = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    answered++;
    return new Response("{}");
  });
  const asking = `for (;;) await (await fetch("http://127.0.0.1:${server.addr.port}/")).text();`;
  const client = new Deno.Command(Deno.execPath(), {
    args: ["eval", `console.log("ready"); ${asking}`],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  await client.stdout.getReader().read();
  while (answered === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const host = systemHost();
  const before = answered;
  // A second of work in slices; without looks at sockets hardly any request would be answered.
  for (const endMs = host.monotonicMs() + 1_000; host.monotonicMs() < endMs;) {
    for (const pieceMs = host.monotonicMs() + 2; host.monotonicMs() < pieceMs;);
    await host.yieldTurn();
  }
  const during = answered - before;
  client.kill();
  await client.status;
  await server.shutdown();
  assert.ok(during >= 10, `${during} answers`);
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

/** What `write` prints on standard error, as the texts of its calls. */
function errorsOf(write: () => void): string[] {
  const real = console.error;
  const texts: string[] = [];
  console.error = (text: string) => void texts.push(text);
  try {
    write();
  } finally {
    console.error = real;
  }
  return texts;
}

Deno.test("systemHost() logs one line of JSON, whatever a client has put into its fields", () => {
  const hostile = [
    '\n{"level":"error","message":"forged"}',
    "\r\x1b[2J\x07\x00",
    "\u009b31m\u0085\u2028\u2029\x7f",
    "\u202egnol si siht\u2069\ufeff",
    "\ud800 alone",
    "%s %o %c",
  ];
  for (const text of hostile) {
    const lines = errorsOf(() => systemHost().log("warn", text, { text, [text]: { text } }));
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]*$/u, text);
    const read = JSON.parse(lines[0]!);
    assert.deepEqual([read.level, read.message, read.text], ["warn", text, text]);
  }
});

Deno.test("systemHost() lets no field take the place of level, message or time", () => {
  const fields = { level: "debug", message: "another", time: "never", request_id: "r" };
  const [line] = errorsOf(() => systemHost().log("error", "This one", fields));
  const { time, ...rest } = JSON.parse(line!);
  assert.deepEqual(rest, { level: "error", message: "This one", request_id: "r" });
  assert.ok(!Number.isNaN(Date.parse(time)));
});

/** A loop whose clock a test moves; records what was asked of it. */
function openTestLoop() {
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  const loop = {
    now: 0,
    nowMs: () => loop.now,
    next() {
      asked.push("next");
      return Promise.resolve();
    },
    soon(run: () => void) {
      asked.push("soon");
      ends.push(run);
    },
  };
  /** Resolves the oldest open request. */
  async function come(): Promise<void> {
    ends.shift()!();
    for (let times = 0; times < 5; times++) await Promise.resolve();
  }
  return { loop, asked, come, turns: openLoopTurns(loop) };
}

Deno.test("who waits for rest goes on with a timer that rings on time", async () => {
  const { loop, asked, come, turns } = openTestLoop();
  let gone = 0;
  for (let times = 0; times < 2; times++) void turns.yieldTurn().then(() => gone++);
  loop.now = 20;
  await come();
  assert.equal(gone, 0, "it rang late: others are busy");
  loop.now = 22;
  await come();
  assert.equal(gone, 2);
  assert.deepEqual(asked, ["soon", "soon"]);
});

Deno.test("who waits for rest goes on after four timers that ring late", async () => {
  const { loop, come, turns } = openTestLoop();
  let gone = 0;
  void turns.yieldTurn().then(() => gone++);
  for (let times = 1; times <= 4; times++) {
    assert.equal(gone, 0);
    loop.now += 20;
    await come();
  }
  assert.equal(gone, 1);
});
