/** The product on real sockets: one port for each environment, hosts, TLS, proxies, bad input. */

import assert from "node:assert/strict";
import { request as httpsRequest } from "node:https";
import { clientAddress, parseAddressRanges } from "../../src/http/client_address.ts";
import { type RunningServer, type ServeOptions, startServer } from "../../src/http/serve.ts";
import { makeCertificate } from "../support/certificate.ts";
import { refusal } from "./cases.ts";
import { withWorld, type World } from "./world.ts";
import { noteBody } from "./world_spec.ts";

const WAIT_MS = 5_000;

/** Runs `body` with the world's service behind real listeners on loopback. */
function withListeners(
  options: Partial<ServeOptions>,
  body: (world: World, server: RunningServer) => Promise<void>,
): Promise<void> {
  return withWorld(async (world) => {
    const server = await startServer(world.service, world.host, {
      headerPrefix: "SVC",
      hostname: "127.0.0.1",
      port: 0,
      clientAddress: (peer) => peer,
      ...options,
    });
    try {
      await body(world, server);
    } finally {
      await server.stop(1_000);
    }
  });
}

/** Sends text over one connection and returns everything that comes back. */
async function exchange(server: RunningServer, index: number, text: string): Promise<string> {
  const { hostname, port } = server.addresses[index]!;
  const connection = await Deno.connect({ hostname, port });
  const timer = setTimeout(() => connection.close(), WAIT_MS);
  try {
    await connection.write(new TextEncoder().encode(text));
    return await new Response(connection.readable).text();
  } finally {
    clearTimeout(timer);
  }
}

function get(path: string, host: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host, connection: "close", ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `GET ${path} HTTP/1.1\r\n${head}\r\n`;
}

Deno.test("a socket: each environment has its port, a key works on its own alone", () =>
  withListeners({}, async ({ keys }, server) => {
    assert.deepEqual(
      server.addresses.map(({ environment }) => environment),
      ["production", "staging", "test"],
    );
    for (const { url, environment } of server.addresses) {
      const authorization = `Bearer ${keys[environment!].write}`;
      const written = await fetch(`${url}/note/global/was_written`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: JSON.stringify(noteBody("a")),
      });
      assert.equal(written.status, 201);
      assert.deepEqual(await written.json(), { ok: true, stream_id: "000000000000" });
      for (const other of server.addresses) {
        const response = await fetch(`${other.url}/note`, { headers: { authorization } });
        assert.equal(response.status, other.environment === environment ? 200 : 403);
        await response.body?.cancel();
      }
    }
  }));

Deno.test("a socket: with a base domain the Host header decides the environment", () =>
  withListeners({ baseDomain: "example.com" }, async ({ keys, operator }, server) => {
    assert.equal(server.addresses.length, 1);
    const rows = [
      ["shop.example.com", keys.production.read, 200],
      ["shop-staging.example.com", keys.staging.read, 200],
      ["shop-test.example.com", keys.test.read, 200],
      ["shop-test.example.com", keys.production.read, 403],
      ["api.example.com", keys.test.read, 404],
      ["other.example.org", keys.test.read, 404],
    ] as const;
    for (const [host, key, status] of rows) {
      const text = await exchange(
        server,
        0,
        get("/note", host, { authorization: `Bearer ${key}` }),
      );
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), host);
    }
    const authorization = `Bearer ${operator}`;
    const calls = await exchange(
      server,
      0,
      get("/api/instances", "api.example.com", { authorization }),
    );
    assert.match(calls, /^HTTP\/1\.1 200 /);
  }));

Deno.test("a socket: more than one X-Idempotency-Key header is 422, exact text", () =>
  withListeners({}, async ({ keys }, server) => {
    const body = JSON.stringify(noteBody("a"));
    const text = await exchange(
      server,
      2,
      "POST /note/global/was_written HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
        `Authorization: Bearer ${keys.test.write}\r\nContent-Type: application/json\r\n` +
        "X-Idempotency-Key: one\r\nX-Idempotency-Key: two\r\n" +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    assert.match(text, /^HTTP\/1\.1 422 /);
    const error = "Multiple X-Idempotency-Key headers not allowed";
    assert.ok(text.endsWith(JSON.stringify(refusal("bad_request", error))), text);
  }));

/** The HTTP parser in front of the service lets none through (RFC 9110, 5.5). */
Deno.test("a socket: a control character in a header is 400, and nothing is written", () =>
  withListeners({}, async ({ keys, send }, server) => {
    const body = JSON.stringify(noteBody("a"));
    for (const character of ["\x01", "\x7f"]) {
      const text = await exchange(
        server,
        2,
        "POST /note/global/was_written HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
          `Authorization: Bearer ${keys.test.write}\r\nContent-Type: application/json\r\n` +
          `X-Idempotency-Key: a${character}b\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      assert.match(text, /^HTTP\/1\.1 400 /);
    }
    assert.equal((await send("GET", "/note/global/length")).body.length, 0);
  }));

Deno.test("a socket: a rotation without a body, with or without Content-Length: 0, is 201", () =>
  withListeners({}, async ({ send, operator, instanceId }, server) => {
    const body = { name: "ci", scope: "read" };
    const { id } = (await send("POST", `/api/instances/${instanceId}/keys`, { body })).body;
    for (const header of ["Content-Length: 0\r\n", ""]) {
      const text = await exchange(
        server,
        2,
        `POST /api/keys/${id}/rotate HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
          `Authorization: Bearer ${operator}\r\n${header}\r\n`,
      );
      assert.match(text, /^HTTP\/1\.1 201 /);
    }
  }));

Deno.test("a socket: many writes at once to one stream all land, each with its own stream_id", () =>
  withListeners({}, async ({ keys }, server) => {
    const { url } = server.addresses[2]!;
    const headers = {
      authorization: `Bearer ${keys.test.write}`,
      "content-type": "application/json",
    };
    const answers = await Promise.all(Array.from({ length: 40 }, async (_, index) => {
      const body = JSON.stringify(noteBody(String(index)));
      const response = await fetch(`${url}/note/global/was_written`, {
        method: "POST",
        headers,
        body,
      });
      return { status: response.status, id: (await response.json()).stream_id };
    }));
    assert.ok(answers.every(({ status }) => status === 201), "without previous_length never 409");
    assert.equal(new Set(answers.map(({ id }) => id)).size, 40);
  }));

Deno.test("a socket: of many guarded writes at once exactly one lands, the others are 409", () =>
  withListeners({}, async ({ keys }, server) => {
    const { url } = server.addresses[2]!;
    const headers = {
      authorization: `Bearer ${keys.test.write}`,
      "content-type": "application/json",
    };
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => {
      const body = JSON.stringify(noteBody("a", { previous_length: 0 }));
      const response = await fetch(`${url}/note/global/was_written`, {
        method: "POST",
        headers,
        body,
      });
      await response.body?.cancel();
      return response.status;
    }));
    assert.equal(statuses.filter((status) => status === 201).length, 1);
    assert.equal(statuses.filter((status) => status === 409).length, 19);
  }));

function secureGet(
  url: string,
  ca: string,
  key: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      ca,
      headers: { authorization: `Bearer ${key}` },
      timeout: WAIT_MS,
      agent: false,
    };
    const request = httpsRequest(url, options, (response) => {
      const chunks: Uint8Array[] = [];
      response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      response.on("end", async () => {
        const text = await new Response(new Blob(chunks as BlobPart[])).text();
        resolve({ status: response.statusCode!, text });
      });
    });
    request.on("error", reject);
    request.end();
  });
}

Deno.test("a socket: with a certificate and key all environments are served over HTTPS, and only so", async () => {
  const directory = await Deno.makeTempDir({ prefix: "daybook_tls_" });
  try {
    const tls = await makeCertificate(directory, ["DNS:localhost", "IP:127.0.0.1"]);
    await withListeners({ tls }, async ({ keys }, server) => {
      for (const { url, environment, port } of server.addresses) {
        assert.ok(url.startsWith("https://127.0.0.1:"));
        const path = `https://localhost:${port}/note/global/length`;
        const { status, text } = await secureGet(path, tls.cert, keys[environment!].read);
        assert.deepEqual([status, text], [200, '{"ok":true,"length":0}']);
      }
      const plain = await exchange(server, 2, get("/health/live", "localhost", {})).catch(() => "");
      assert.ok(!plain.startsWith("HTTP/1.1 200"), "plain HTTP gets no answer");
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

for (
  const [name, trusted, expected] of [
    ["a trusted proxy's X-Forwarded-For is believed", ["127.0.0.0/8"], "203.0.113.7"],
    ["X-Forwarded-For of anybody else is not", ["10.0.0.0/8"], "127.0.0.1"],
    ["without trusted proxies X-Forwarded-For is not believed", [], "127.0.0.1"],
  ] as const
) {
  Deno.test(`a socket: ${name}: the log names ${expected}`, () => {
    const ranges = parseAddressRanges(trusted);
    const options = {
      clientAddress: (peer: string, header: string | null) => clientAddress(peer, header, ranges),
    };
    return withListeners(options, async ({ host }, server) => {
      const response = await fetch(`${server.addresses[2]!.url}/api/login`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-forwarded-for": "198.51.100.1, 203.0.113.7",
        },
        body: JSON.stringify({ email: "eve@example.com", password: "guess" }),
      });
      assert.equal(response.status, 401);
      await response.body?.cancel();
      const line = host.lines.find(({ message }) => message === "Login refused");
      assert.equal(line?.fields.client, expected);
    });
  });
}
