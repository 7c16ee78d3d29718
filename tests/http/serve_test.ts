/** Real listeners on loopback: ports, raw sockets and bad input; the server stays up. */

import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../src/http/serve.ts";
import { quietHost, type Script, scriptService, TOKENS } from "./scripted_service.ts";

const WRITTEN = {
  ok: true,
  value: {
    form: "single",
    targets: [{ key: "order:global", first: 0, count: 1 }],
    impliedCount: 0,
    replayed: false,
    requestId: "r",
  },
};
const OPTIONS = {
  headerPrefix: "SVC",
  hostname: "127.0.0.1",
  port: 0,
  clientAddress: (peer: string) => peer,
};
const HEAD = "POST /order/global/was_placed HTTP/1.1\r\nHost: localhost\r\n" +
  `Authorization: Bearer ${TOKENS.write}\r\nContent-Type: application/json\r\n`;
const WAIT_MS = 20_000;

async function withServer(
  run: (server: RunningServer, calls: readonly (readonly unknown[])[]) => Promise<void>,
  script: Script = { writeEvents: WRITTEN, readLength: { ok: true, value: 3 } },
): Promise<void> {
  const { service, calls } = scriptService(script);
  const server = await startServer(service, quietHost(), OPTIONS);
  try {
    await run(server, calls);
    await assertAlive(server);
  } finally {
    await server.stop(1_000);
  }
}

async function assertAlive(server: RunningServer): Promise<void> {
  const response = await fetch(`${server.addresses[2]!.url}/health/live`);
  assert.deepEqual(await response.json(), { ok: true });
}

/**
 * Sends a whole request in parts over one connection to the test listener; returns everything that
 * comes back. The connection stays open for both until an answer comes: the runtime leaves without
 * an answer whoever has closed his side before.
 */
function exchange(server: RunningServer, ...parts: string[]): Promise<string> {
  return send(server, parts, true);
}

/** Sends what is no whole request, and nothing after it. */
function breakOff(server: RunningServer, ...parts: string[]): Promise<string> {
  return send(server, parts, false);
}

async function send(
  server: RunningServer,
  parts: readonly string[],
  isWhole: boolean,
): Promise<string> {
  const { hostname, port } = server.addresses[2]!;
  const connection = await Deno.connect({ hostname, port });
  const timer = setTimeout(() => connection.close(), WAIT_MS);
  const received: string[] = [];
  const encoder = new TextEncoder();
  try {
    const writer = connection.writable.getWriter();
    // A single write may take only a part; a stream takes all.
    for (const part of parts) await writer.write(encoder.encode(part));
    writer.releaseLock();
    if (!isWhole) await connection.closeWrite();
    for await (const chunk of connection.readable) {
      received.push(new TextDecoder().decode(chunk));
      if (isWhole && received.length === 1) connection.closeWrite().catch(() => {});
    }
  } catch {
    // A server may reset the connection once it has answered; what came before counts.
  } finally {
    clearTimeout(timer);
    try {
      connection.close();
    } catch { /* The stream has closed it already. */ }
  }
  return received.join("");
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

Deno.test("startServer() opens one port for each environment, in the order of the contract", () =>
  withServer(async (server) => {
    assert.deepEqual(
      server.addresses.map(({ environment }) => environment),
      ["production", "staging", "test"],
    );
    for (const { url } of server.addresses) {
      const response = await fetch(`${url}/order/global/length`, {
        headers: { authorization: `Bearer ${TOKENS.read}` },
      });
      assert.deepEqual(await response.json(), { ok: true, length: 3 });
    }
  }));

Deno.test("startServer() with a base domain opens one port and reads the Host header", async () => {
  const { service, calls } = scriptService({ readLength: { ok: true, value: 3 } });
  const options = { ...OPTIONS, baseDomain: "example.com" };
  const server = await startServer(service, quietHost(), options);
  assert.equal(server.addresses.length, 1);
  const { hostname, port } = server.addresses[0]!;
  const connection = await Deno.connect({ hostname, port });
  const request = "GET /order/global/length HTTP/1.1\r\nHost: shop-staging.example.com\r\n" +
    `Authorization: Bearer ${TOKENS.read}\r\nConnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  const text = await new Response(connection.readable).text();
  assert.match(text, /^HTTP\/1\.1 200/);
  assert.equal((calls[0]![1] as { environment: string }).environment, "staging");
  await server.stop(1_000);
});

/** The first of three consecutive ports, below the range of outgoing connections. */
function threeFreePorts(): number {
  for (let first = 15_000; first < 25_000; first += 3) {
    try {
      for (const port of [first, first + 1, first + 2]) {
        Deno.listen({ hostname: "127.0.0.1", port }).close();
      }
      return first;
    } catch {
      // One of them is taken.
    }
  }
  throw new Error("no three free ports in a row");
}

Deno.test("startServer() leaves no listener open when one port is taken", async () => {
  const port = threeFreePorts();
  const taken = Deno.listen({ hostname: "127.0.0.1", port: port + 2 });
  const { service } = scriptService();
  const started = startServer(service, quietHost(), { ...OPTIONS, port });
  await assert.rejects(started, { message: new RegExp(`127\\.0\\.0\\.1:${port + 2} is in use`) });
  taken.close();
  const server = await startServer(service, quietHost(), { ...OPTIONS, port });
  await server.stop(1_000);
});

Deno.test("stop() lets a running request end and then refuses connections", async () => {
  const { service } = scriptService();
  let finish: (value: unknown) => void = () => {};
  const data = {
    ...service.data,
    readLength: () => new Promise((resolve) => finish = resolve),
    recordError: () => "err_1",
  };
  const slow = { ...service, data } as unknown as typeof service;
  const server = await startServer(slow, quietHost(), OPTIONS);
  const { url } = server.addresses[2]!;
  const running = fetch(`${url}/order/global/length`, {
    headers: { authorization: `Bearer ${TOKENS.read}` },
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const stopped = server.stop(5_000);
  finish({ ok: true, value: 8 });
  assert.deepEqual(await (await running).json(), { ok: true, length: 8 });
  await stopped;
  await assert.rejects(fetch(url));
});

Deno.test("a body shorter than its Content-Length writes nothing", () =>
  withServer(async (server, calls) => {
    await breakOff(server, `${HEAD}Content-Length: 500\r\n\r\n{"data":{}`);
    assert.deepEqual(calls.filter(([method]) => method !== "ping"), []);
  }));

Deno.test("a chunked body that breaks off writes nothing", () =>
  withServer(async (server, calls) => {
    await breakOff(server, `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, chunk('{"data":{}'));
    assert.deepEqual(calls, []);
  }));

Deno.test("a chunked body is read to its end", () =>
  withServer(async (server) => {
    const parts = [chunk('{"data":{},'), chunk('"metadata":{}}'), "0\r\n\r\n"];
    const head = `${HEAD}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    assert.match(await exchange(server, head, ...parts), /^HTTP\/1\.1 201/);
  }));

Deno.test("a chunked body above 8 MiB is 413 without a Content-Length", () =>
  withServer(async (server, calls) => {
    const head = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
    const piece = chunk(" ".repeat(1 << 20));
    const text = await exchange(server, head, ...Array.from({ length: 9 }, () => piece));
    assert.match(text, /^HTTP\/1\.1 413/);
    assert.deepEqual(calls, []);
  }));

Deno.test("a Content-Length above 8 MiB is 413 at once", () =>
  withServer(async (server) => {
    const text = await exchange(server, `${HEAD}Content-Length: 8388609\r\n\r\n{`);
    assert.match(text, /^HTTP\/1\.1 413/);
    assert.match(text, /"limit":8388608/);
  }));

Deno.test("a client that sends a body above 8 MiB to its end reads the 413", () =>
  withServer(async (server) => {
    for (const body of [" ".repeat(9 << 20), new Blob([" ".repeat(12 << 20)]).stream()]) {
      const response = await fetch(`${server.addresses[2]!.url}/order/global/was_placed`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKENS.write}`, "content-type": "application/json" },
        body,
      });
      assert.equal(response.status, 413);
      await response.body?.cancel();
    }
  }));

Deno.test("two X-Idempotency-Key headers are 422 with the exact text", () =>
  withServer(async (server) => {
    const keys = "X-Idempotency-Key: a\r\nX-Idempotency-Key: b\r\n";
    const body = '{"data":{},"metadata":{}}';
    const head = `${HEAD}${keys}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
    const text = await exchange(server, head, body);
    assert.match(text, /^HTTP\/1\.1 422/);
    assert.match(text, /Multiple X-Idempotency-Key headers not allowed/);
  }));

Deno.test("two Authorization headers are 401", () =>
  withServer(async (server) => {
    const again = `Authorization: Bearer ${TOKENS.write}\r\n`;
    const text = await exchange(server, `${HEAD}${again}Content-Length: 2\r\n\r\n{}`);
    assert.match(text, /^HTTP\/1\.1 401/);
  }));

Deno.test("a percent-encoded slash arrives as part of the id", () =>
  withServer(async (server, calls) => {
    const text = await exchange(
      server,
      "GET /order/a%2Fb/length HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
        `Authorization: Bearer ${TOKENS.read}\r\n\r\n`,
    );
    assert.match(text, /^HTTP\/1\.1 200/);
    assert.equal(calls[0]![3], "a/b");
  }));

Deno.test("text that is no HTTP, an endless path and a strange method leave the server up", () =>
  withServer(async (server) => {
    await breakOff(server, "\x00\x01\x02 nonsense\r\n\r\n");
    await exchange(server, `GET /${"a".repeat(300_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await exchange(server, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const odd = "BREW /order/global HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert.match(await exchange(server, odd), /^HTTP\/1\.1 405/);
  }));

Deno.test("startServer() refuses a Host header that would become a path", async () => {
  await withServer(async (server, calls) => {
    for (const host of ["a b/c?#@", "a/order", "x@y", "[::1", "a?b", "a:b"]) {
      const request = `GET /order/global/length HTTP/1.1\r\nHost: ${host}\r\n` +
        `Authorization: Bearer ${TOKENS.read}\r\nConnection: close\r\n\r\n`;
      assert.match(await exchange(server, request), /^HTTP\/1\.1 400/, host);
    }
    assert.deepEqual(calls.filter(([name]) => name === "readLength"), []);
    for (const host of ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8000", "a-b.c_d.e"]) {
      const request = `GET /order/global/length HTTP/1.1\r\nHost: ${host}\r\n` +
        `Authorization: Bearer ${TOKENS.read}\r\nConnection: close\r\n\r\n`;
      assert.match(await exchange(server, request), /^HTTP\/1\.1 200/, host);
    }
  });
});

Deno.test("the listeners of a process count the requests of an address together", async () => {
  const { service } = scriptService();
  const server = await startServer(service, quietHost(), { ...OPTIONS, ipLimitPerMinute: 2 });
  try {
    const statuses: number[] = [];
    for (const { url } of server.addresses) {
      const response = await fetch(`${url}/order/global/length`);
      await response.body?.cancel();
      statuses.push(response.status);
    }
    assert.deepEqual(statuses, [401, 401, 429]);
  } finally {
    await server.stop(1_000);
  }
});

Deno.test("connections outlive refusals that have not read the body", () =>
  withServer(async ({ addresses }) => {
    const { port } = addresses[2]!;
    const body = JSON.stringify({ data: { text: "x".repeat(400) }, metadata: {} });
    const request = HEAD.replace(TOKENS.write, "dbk_0_test_wrong") +
      `Content-Length: ${body.length}\r\n\r\n${body}`;
    const bytes = new TextEncoder().encode(request);
    await Promise.all(Array.from({ length: 16 }, async () => {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      try {
        for (let time = 0; time < 500; time++) {
          await connection.write(bytes);
          const reply = new Uint8Array(4_096);
          const length = await connection.read(reply);
          assert.ok(length !== null, `closed after ${time} requests`);
          assert.match(new TextDecoder().decode(reply.subarray(0, length)), /^HTTP\/1.1 401 /);
        }
      } finally {
        connection.close();
      }
    }));
  }));
