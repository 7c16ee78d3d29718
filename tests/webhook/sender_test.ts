/**
 * Deliveries over real local sockets, to receivers that are healthy, slow, broken or hostile.
 * The tests resolve the names. A canary listens wherever a hostile URL may lead.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo, type Socket } from "node:net";
import type { TryAnswer } from "../../src/domain/listener/delivery.ts";
import { limits } from "../../src/domain/limits.ts";
import { systemHost } from "../../src/host.ts";
import type { Resolve } from "../../src/webhook/guard.ts";
import type { WebhookSender } from "../../src/domain/listener/webhook.ts";
import { webhookSender } from "../../src/webhook/sender.ts";
import { fakeHost } from "../support/fake_host.ts";
import { makeCertificate } from "../support/certificate.ts";
import { until } from "../support/until.ts";

interface HostileUrl {
  readonly is: string;
  readonly url: string;
  readonly addresses?: readonly string[];
}

const HOSTILE: readonly HostileUrl[] = JSON.parse(
  Deno.readTextFileSync(new URL("../golden/listeners/hostile_urls.json", import.meta.url)),
);
const HEADERS = { "content-type": "application/json", "x-test": "1" };

function resolveTo(...addresses: readonly string[]): Resolve {
  return () =>
    Promise.resolve(addresses.map((address) => ({ address, family: net.isIPv6(address) ? 6 : 4 })));
}

const LOOPBACK = resolveTo("127.0.0.1");

/** A TCP server on loopback that handles each connection with `onSocket`. */
async function withTcp(
  onSocket: (socket: Socket) => void,
  body: (port: number) => Promise<void>,
): Promise<void> {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await body((server.address() as AddressInfo).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  }
}

async function withSender<T>(
  resolve: Resolve,
  body: (sender: WebhookSender) => Promise<T>,
  { allowPrivate = true, host = systemHost() } = {},
): Promise<T> {
  const sender = webhookSender(host, { allowPrivate, resolve });
  try {
    return await body(sender);
  } finally {
    sender.close();
  }
}

/** What the sender makes of one answer, given as bytes. */
async function answerTo(respond: (socket: Socket) => void): Promise<TryAnswer> {
  let answer: TryAnswer | undefined;
  await withTcp((socket) => socket.once("data", () => respond(socket)), async (port) => {
    answer = await withSender(LOOPBACK, (sender) => sendTo(sender, `http://hook.example:${port}/`));
  });
  return answer!;
}

function sendTo(sender: WebhookSender, url: string, body = "{}"): Promise<TryAnswer> {
  return sender.send({ owner: "shop", url, headers: HEADERS, body });
}

Deno.test("at least 60 hostile forms of a URL are tried below", () => {
  assert.ok(new Set(HOSTILE.map(({ url, addresses }) => `${url} ${addresses}`)).size >= 60);
});

for (const { is, url, addresses } of HOSTILE) {
  Deno.test(`nothing connects to ${is}: ${url} ${addresses ?? ""}`, async () => {
    let connected = 0;
    const canary = (socket: Socket) => {
      connected++;
      socket.destroy();
    };
    await withTcp(canary, async (port) => {
      await withSender(resolveTo(...addresses ?? ["127.0.0.1"]), async (sender) => {
        const target = url.replace("{port}", String(port));
        if (!URL.canParse(target)) return;
        // The spec compiler accepts only http and https, so the sender never sees other
        // protocols.
        if (!/^https?:$/.test(new URL(target).protocol)) return;
        if (new URL(target).hash !== "") return;
        assert.deepEqual(await sendTo(sender, target), { failure: "address_refused" });
      }, { allowPrivate: false });
    });
    assert.equal(connected, 0);
  });
}

Deno.test("the canary of these tests hears who does connect", async () => {
  let connected = 0;
  await withTcp((socket) => {
    connected++;
    socket.destroy();
  }, async (port) => {
    await withSender(LOOPBACK, (sender) => sendTo(sender, `http://hook.example:${port}/`));
  });
  assert.ok(connected > 0);
});

Deno.test("a name that changes its meaning between two look-ups is asked for once for a connection", async () => {
  let asked = 0;
  const rebinding: Resolve = () => {
    asked++;
    return LOOPBACK("");
  };
  await withTcp((socket) => {
    socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"));
  }, async (port) => {
    await withSender(rebinding, async (sender) => {
      const url = `http://hook.example:${port}/`;
      assert.deepEqual(await sendTo(sender, url), { status: 200 });
      assert.equal(asked, 1);
      assert.deepEqual(await sendTo(sender, url), { status: 200 });
      assert.equal(asked, 2, "and again for the next one");
    });
  });
});

Deno.test("a delivery is one POST with the path, query, host, headers and exact bytes", async () => {
  const seen: { method: string; url: string; headers: Headers; body: string }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { method, url, headers } = request;
    seen.push({ method, url, headers, body: await request.text() });
    return new Response(null, { status: 204 });
  });
  const { port } = server.addr;
  const url = `http://hook.example:${port}/a/b?c=d&e=%20`;
  const answer = await withSender(LOOPBACK, (sender) => sendTo(sender, url, '{"größe":1}'));
  await server.shutdown();
  assert.deepEqual(answer, { status: 204 });
  assert.equal(seen.length, 1);
  assert.equal(seen[0]!.method, "POST");
  assert.equal(seen[0]!.url, url);
  assert.equal(seen[0]!.headers.get("host"), `hook.example:${port}`);
  assert.equal(seen[0]!.headers.get("x-test"), "1");
  assert.equal(seen[0]!.headers.get("content-length"), "13");
  assert.equal(seen[0]!.body, '{"größe":1}');
});

Deno.test("redirects are not followed, wherever they lead", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const answer = await answerTo((socket) =>
      socket.end(`HTTP/1.1 ${status} Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n`)
    );
    assert.deepEqual(answer, { status });
  }
});

Deno.test("nobody at the address is connection_failed", async () => {
  let free = 0;
  await withTcp(() => {}, (port) => Promise.resolve(void (free = port)));
  const answer = await withSender(LOOPBACK, (s) => sendTo(s, `http://hook.example:${free}/`));
  assert.deepEqual(answer, { failure: "connection_failed" });
});

Deno.test("a name without an address, and one that cannot be asked for, is name_not_found", async () => {
  const failing: Resolve = () => Promise.reject(new Error("no such host"));
  for (const resolve of [resolveTo(), failing]) {
    const answer = await withSender(resolve, (s) => sendTo(s, "http://hook.example:1/"));
    assert.deepEqual(answer, { failure: "name_not_found" });
  }
});

Deno.test("a connection that ends before an answer is connection_failed", async () => {
  assert.deepEqual(await answerTo((socket) => socket.destroy()), { failure: "connection_failed" });
});

for (
  const [is, bytes] of [
    ["no HTTP", "SSH-2.0-OpenSSH_9.6\r\n"],
    ["a status that is no number", "HTTP/1.1 OK\r\n\r\n"],
    ["headers without an end", `HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(8_000)}\r\n`.repeat(100)}`],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na"],
  ] as const
) {
  Deno.test(`an answer with ${is} is bad_answer`, async () => {
    assert.deepEqual(await answerTo((socket) => socket.write(bytes)), { failure: "bad_answer" });
  });
}

Deno.test("an answer that never ends counts by its head, and its connection is ended", async () => {
  let isEnded = () => {};
  const ended = new Promise<void>((resolve) => isEnded = resolve);
  let sent = 0;
  await withTcp((socket) => {
    socket.on("close", isEnded);
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const pour = () => {
        sent += 16_384;
        if (!socket.destroyed && sent < 1e9) socket.write("x".repeat(16_384), pour);
      };
      pour();
    });
  }, async (port) => {
    await withSender(LOOPBACK, async (sender) => {
      assert.deepEqual(await sendTo(sender, `http://hook.example:${port}/`), { status: 200 });
      await ended;
    });
  });
  assert.ok(sent < 1e9, "the receiver could go on and on");
});

/** How long a body may take after its head. */
const BODY_MS = 1_000;

/** Counts the calls of a method while `body` runs. */
async function callsOf<K extends string>(
  of: Record<K, (...given: never[]) => unknown>,
  method: K,
  body: () => Promise<void>,
  counts: (...given: unknown[]) => boolean = () => true,
): Promise<number> {
  const before = of[method];
  let calls = 0;
  of[method] = function (this: unknown, ...given: never[]) {
    if (counts(...given)) calls++;
    return before.apply(this, given);
  };
  await body().finally(() => of[method] = before);
  return calls;
}

Deno.test("an answer of early heads without end is bad_answer, and few of them are parsed", async () => {
  const heads = "HTTP/1.1 103 E\r\n\r\n".repeat(10_000);
  const parsed = await callsOf(http.ClientRequest.prototype as never, "emit", async () => {
    const answer = await answerTo((socket) => socket.write(heads));
    assert.deepEqual(answer, { failure: "bad_answer" });
  }, (event) => event === "information");
  assert.ok(parsed > 8 && parsed < 100, `${parsed}`);
});

Deno.test("of an answer in thousands of small chunks few are parsed", async () => {
  const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const chunks = "1\r\na\r\n".repeat(10_000);
  const parsed = await callsOf(http.IncomingMessage.prototype as never, "push", async () => {
    const answer = await answerTo((socket) => socket.write(`${head}${chunks}0\r\n\r\n`));
    assert.deepEqual(answer, { status: 200 });
  });
  assert.ok(parsed > 0 && parsed < 700, `${parsed}`);
});

for (
  const [is, head] of [
    ["a short body that does not come", "Content-Length: 5"],
    ["a body of chunks that do not come", "Transfer-Encoding: chunked"],
  ] as const
) {
  Deno.test(`a try with ${is} is under way for a second, then its socket is closed`, async () => {
    const host = fakeHost();
    let isOpen = true;
    await withTcp((socket) => {
      socket.on("close", () => isOpen = false);
      socket.once("data", () => void socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`));
    }, async (port) => {
      await withSender(LOOPBACK, async (sender) => {
        let answer: TryAnswer | undefined;
        const sending = sendTo(sender, `http://hook.example:${port}/`).then((it) => answer = it);
        await until(() => host.timersMs.includes(BODY_MS), "the head of the answer");
        host.timeMs += BODY_MS - 1;
        await new Promise((resolve) => setTimeout(resolve, 10));
        assert.deepEqual([answer, isOpen], [undefined, true]);
        host.timeMs += 1;
        await sending;
        assert.deepEqual(answer, { status: 200 });
        await until(() => !isOpen, "the end of the connection");
      }, { host });
    });
  });
}

Deno.test("short answers leave their connection open, with a length or in chunks", async () => {
  let connections = 0;
  const answers = [
    "Content-Length: 2\r\n\r\nok",
    "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    `Content-Length: 60000\r\n\r\n${"a".repeat(60_000)}`,
    "Content-Length: 0\r\n\r\n",
  ];
  await withTcp((socket) => {
    connections++;
    socket.on("data", () => socket.write(`HTTP/1.1 200 OK\r\n${answers.shift()}`));
  }, async (port) => {
    await withSender(LOOPBACK, async (sender) => {
      for (let left = answers.length; left > 0; left--) {
        assert.deepEqual(await sendTo(sender, `http://hook.example:${port}/`), { status: 200 });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
  });
  assert.equal(connections, 1);
});

for (
  const [is, respond] of [
    ["answers nothing", () => {}],
    ["stops within the head", (socket: Socket) => void socket.write("HTTP/1.1 200 OK\r\nx:")],
    ["says only that it goes on", (s: Socket) => void s.write("HTTP/1.1 100 Continue\r\n\r\n")],
  ] as const
) {
  Deno.test(`a receiver that ${is} is a timeout after the limit, not before`, async () => {
    const host = fakeHost();
    let [isAsked, isOpen] = [false, true];
    await withTcp((socket) => {
      socket.on("close", () => isOpen = false);
      socket.once("data", () => {
        isAsked = true;
        respond(socket);
      });
    }, async (port) => {
      await withSender(LOOPBACK, async (sender) => {
        let answer: TryAnswer | undefined;
        const sending = sendTo(sender, `http://hook.example:${port}/`).then((it) => answer = it);
        await until(() => isAsked, "the request");
        host.timeMs += limits.deliveryTryMsMax - 1;
        await new Promise((resolve) => setTimeout(resolve, 10));
        assert.equal(answer, undefined);
        host.timeMs += 1;
        await sending;
        assert.deepEqual(answer, { failure: "timeout" });
        await until(() => !isOpen, "the end of the connection");
      }, { host });
    });
  });
}

Deno.test("a name service that does not answer is a timeout", async () => {
  const host = fakeHost();
  await withSender(() => new Promise(() => {}), async (sender) => {
    const sending = sendTo(sender, "http://hook.example/");
    await new Promise((resolve) => setTimeout(resolve, 10));
    host.timeMs += limits.deliveryTryMsMax;
    assert.deepEqual(await sending, { failure: "timeout" });
  }, { host });
});

/** Answers `count` requests on a connection, then closes it at the next request. */
function answering(count: number): (socket: Socket) => void {
  return (socket) => {
    let answered = 0;
    socket.on("data", () => {
      if (answered++ >= count) return socket.destroy();
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
  };
}

Deno.test("a connection serves several deliveries, for at most a minute", async () => {
  const host = fakeHost();
  let connections = 0;
  const serve = answering(Infinity);
  await withTcp((socket) => {
    connections++;
    serve(socket);
  }, async (port) => {
    await withSender(LOOPBACK, async (sender) => {
      const url = `http://hook.example:${port}/`;
      const send = async () => {
        assert.deepEqual(await sendTo(sender, url), { status: 200 });
        await new Promise((resolve) => setTimeout(resolve, 5));
      };
      for (let time = 0; time < 5; time++) await send();
      assert.equal(connections, 1);
      host.timeMs += 60_000;
      await send();
      assert.equal(connections, 1, "this one was under way");
      await send();
      assert.equal(connections, 2);
    }, { host });
  });
});

Deno.test("a kept connection that the receiver ends is no failed try: a new one is made", async () => {
  let connections = 0;
  const serve = answering(1);
  await withTcp((socket) => {
    connections++;
    serve(socket);
  }, async (port) => {
    await withSender(LOOPBACK, async (sender) => {
      const url = `http://hook.example:${port}/`;
      for (let time = 0; time < 3; time++) {
        assert.deepEqual(await sendTo(sender, url), { status: 200 });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
  });
  assert.ok(connections >= 2);
});

/** A receiver with a self-signed certificate; returns the requests and names that it has seen. */
async function withTls(
  names: readonly string[],
  body: (port: number, certPath: string) => Promise<void>,
): Promise<{ readonly requests: number; readonly names: readonly unknown[] }> {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  const { key, cert, certPath } = await makeCertificate(directory, names);
  const seen = { requests: 0, names: [] as unknown[] };
  const server = https.createServer({ key, cert }, (_, answer) => {
    seen.requests++;
    answer.end();
  });
  server.on("tlsClientError", () => {});
  server.on("secureConnection", (socket: { servername?: unknown }) => {
    seen.names.push(socket.servername);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await body((server.address() as AddressInfo).port, certPath);
  } finally {
    server.close();
    await Deno.remove(directory, { recursive: true });
  }
  return seen;
}

/**
 * Sends from a process that trusts the certificate, the way an operator makes the server trust
 * one.
 */
async function sendTrusting(url: string, certPath: string): Promise<TryAnswer> {
  const script = new URL("trusting_sender.ts", import.meta.url).pathname;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--allow-net",
      "--allow-env",
      "--allow-read",
      "--allow-sys",
      script,
      url,
    ],
    env: { NODE_EXTRA_CA_CERTS: certPath },
  }).output();
  assert.equal(new TextDecoder().decode(stderr), "");
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("a certificate that nobody vouches for is tls_failed, and nothing is sent", async () => {
  const seen = await withTls(["DNS:hook.example"], async (port) => {
    const url = `https://hook.example:${port}/`;
    const answer = await withSender(LOOPBACK, (sender) => sendTo(sender, url));
    assert.deepEqual(answer, { failure: "tls_failed" });
  });
  assert.equal(seen.requests, 0);
});

Deno.test("TLS asks for the host of the URL by its name, though it connects to an address", async () => {
  const seen = await withTls(["DNS:hook.example"], async (port, certPath) => {
    const answer = await sendTrusting(`https://hook.example:${port}/`, certPath);
    assert.deepEqual(answer, { status: 200 });
  });
  assert.deepEqual(seen, { requests: 1, names: ["hook.example"] });
});

Deno.test("a certificate of another name is tls_failed, and nothing is sent", async () => {
  const seen = await withTls(["DNS:other.example"], async (port, certPath) => {
    const answer = await sendTrusting(`https://hook.example:${port}/`, certPath);
    assert.deepEqual(answer, { failure: "tls_failed" });
  });
  assert.equal(seen.requests, 0);
});

Deno.test("https to a receiver without TLS is tls_failed", async () => {
  await withTcp(
    (socket) => socket.once("data", () => socket.end("HTTP/1.1 400 Bad\r\n\r\n")),
    async (port) => {
      const url = `https://hook.example:${port}/`;
      const answer = await withSender(LOOPBACK, (sender) => sendTo(sender, url));
      assert.deepEqual(answer, { failure: "tls_failed" });
    },
  );
});
