/** A real server against clients that hold on to it: memory, file descriptors, shutdown. */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const encoder = new TextEncoder();

/** Opens connections that send `text` and then nothing; skips those that cannot be opened. */
async function hold(server: ServerProcess, count: number, text: string): Promise<Deno.Conn[]> {
  const port = Number(new URL(server.baseUrls.test).port);
  const held: Deno.Conn[] = [];
  for (let number = 0; number < count; number++) {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      await connection.write(encoder.encode(text));
      held.push(connection);
    } catch {
      // The server is out of resources, which is what some of these tests are about.
    }
  }
  return held;
}

function release(connections: readonly Deno.Conn[]): void {
  for (const connection of connections) connection.close();
}

async function residentMiB({ pid }: ServerProcess): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
}

async function isAlive(server: ServerProcess): Promise<boolean> {
  const signal = AbortSignal.timeout(1_000);
  const reply = await fetch(`${server.baseUrls.test}/health/live`, { signal }).catch(() =>
    undefined
  );
  await reply?.body?.cancel();
  return reply?.status === 200;
}

Deno.test("a declared length costs no memory before its bytes have come", async () => {
  const server = await startServer();
  try {
    const before = await residentMiB(server);
    const head = "POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    const held = await hold(server, 100, `${head}Content-Length: 8000000\r\n\r\n{`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const grown = await residentMiB(server) - before;
    release(held);
    assert.equal(held.length, 100);
    assert.ok(grown < 150, `${grown} MiB for 100 bodies of which one byte has come`);
  } finally {
    await server.remove();
  }
});

/** Sends `bytes` on `count` connections as fast as they are accepted, and keeps these open. */
async function press(
  server: ServerProcess,
  count: number,
  bytes: Uint8Array,
): Promise<Deno.Conn[]> {
  const port = Number(new URL(server.baseUrls.test).port);
  const held: Deno.Conn[] = [];
  for (let number = 0; number < count; number++) {
    held.push(await Deno.connect({ hostname: "127.0.0.1", port }));
  }
  const sent = held.map(async (connection) => {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  });
  // The server stops reading from most of them.
  const enough = new Promise((resolve) => setTimeout(resolve, 4_000));
  await Promise.race([Promise.allSettled(sent), enough]);
  return held;
}

function request(path: string, key: string, headers = ""): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
    `Authorization: Bearer ${key}\r\n${headers}`;
}

Deno.test("a login takes 4 KiB of body at most: 413 before the rest is read", async () => {
  const server = await startServer();
  try {
    const before = await residentMiB(server);
    const bytes = 8 * 1024 * 1024;
    for (
      const headers of [`Content-Length: ${bytes}\r\n\r\n`, "Transfer-Encoding: chunked\r\n\r\n"]
    ) {
      const body = headers.startsWith("T") ? "2000\r\n" + "x".repeat(8_192) : "x".repeat(8_192);
      const text = encoder.encode(request("/api/login", "none", headers) + body);
      const [connection] = await press(server, 1, text);
      const reply = new Uint8Array(1_000);
      const length = await connection!.read(reply) ?? 0;
      assert.match(new TextDecoder().decode(reply.subarray(0, length)), /^HTTP\/1.1 413 .*4096/s);
      connection!.close();
    }
    assert.ok(await residentMiB(server) - before < 50);
  } finally {
    await server.remove();
  }
});

Deno.test("100 bodies of 8 MiB that lack their ends hold less than 96 MiB, and nothing later", async () => {
  const server = await startServer();
  try {
    const key = server.credentials.keys.test.write;
    const before = await residentMiB(server);
    const bytes = 8 * 1024 * 1024;
    const head = request("/order/global", key, `Content-Length: ${bytes}\r\n\r\n`);
    const body = encoder.encode(`${head}{"events":["${"x".repeat(bytes - 100)}`);
    const held = await press(server, 100, body);
    const grown = await residentMiB(server) - before;
    assert.ok(await isAlive(server));
    release(held);
    assert.ok(grown < 250, `${grown} MiB`);
    // The memory for bodies that they held is free again.
    const small = { method: "POST", headers: { authorization: `Bearer ${key}` } };
    const headers = { ...small.headers, "content-type": "application/json" };
    const text = `{"events":[${"{},".repeat(100_000)}{}]}`;
    const url = `${server.baseUrls.test}/order/global`;
    let status = 503;
    for (let attempt = 0; attempt < 20 && status === 503; attempt++) {
      const reply = await fetch(url, { ...small, headers, body: text });
      await reply.body?.cancel();
      status = reply.status;
      if (status === 503) await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.notEqual(status, 503);
  } finally {
    await server.remove();
  }
});

Deno.test("bodies that come byte by byte cost no more than their bytes", async () => {
  const server = await startServer();
  try {
    const key = server.credentials.keys.test.write;
    const before = await residentMiB(server);
    const head = request("/order/global", key, "Content-Length: 1000000\r\n\r\n{");
    const held = await hold(server, 50, head);
    for (let byte = 0; byte < 200; byte++) {
      await Promise.all(held.map((connection) => connection.write(encoder.encode(" "))));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const grown = await residentMiB(server) - before;
    release(held);
    assert.ok(grown < 100, `${grown} MiB for 50 bodies of 200 bytes`);
  } finally {
    await server.remove();
  }
});

Deno.test("a server that ran out of file descriptors serves again when some are free", async () => {
  const wrapper = ["bash", "-c", 'ulimit -n 150; exec "$@"', "--"];
  const server = await startServer({ wrapper });
  try {
    const held = await hold(server, 300, "GET /health/live HTTP/1.1\r\nHo");
    await new Promise((resolve) => setTimeout(resolve, 500));
    release(held);
    let alive = false;
    for (let attempt = 0; attempt < 50 && !alive; attempt++) {
      alive = await isAlive(server);
      if (!alive) await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.ok(alive, server.output());
  } finally {
    await server.remove();
  }
});

Deno.test("a client that never ends its body does not keep the server from an orderly stop", async () => {
  const server = await startServer();
  try {
    const head = "POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    const held = [
      ...await hold(server, 1, `${head}Content-Length: 100\r\n\r\n{`),
      ...await hold(server, 1, `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`),
    ];
    const began = performance.now();
    const code = await server.stop();
    const seconds = (performance.now() - began) / 1000;
    release(held);
    assert.equal(code, 0, server.output());
    assert.match(server.output(), /Stopped/);
    assert.ok(seconds < 10, `${seconds} s`);
  } finally {
    await server.remove();
  }
});
