/** A real server against clients that hold on to it: memory, file descriptors, the end of a run. */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const encoder = new TextEncoder();

/** Opens connections that send `text` and then nothing; one that cannot be opened is left out. */
async function hold(server: ServerProcess, count: number, text: string): Promise<Deno.Conn[]> {
  const port = Number(new URL(server.baseUrls.test).port);
  const held: Deno.Conn[] = [];
  for (let number = 0; number < count; number++) {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      await connection.write(encoder.encode(text));
      held.push(connection);
    } catch {
      // The server has no more to give, which is what some of these tests are about.
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
