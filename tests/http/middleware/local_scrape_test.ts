/** Which caller is a program on the same machine, and which only looks like one. */

import assert from "node:assert/strict";
import { isLocalScrape } from "../../../src/http/middleware/local_scrape.ts";

function peer(hostname: string) {
  return { remoteAddr: { transport: "tcp", hostname, port: 40_000 } as const };
}

const HOST = { host: "127.0.0.1:8000" };

const LOCAL: readonly (readonly [string, Record<string, string>, string])[] = [
  ["an address", HOST, "127.0.0.1"],
  ["another loopback address", { host: "127.0.0.9" }, "127.0.0.2"],
  ["IPv6", { host: "[::1]:8000" }, "::1"],
  ["IPv4 in IPv6", { host: "[::ffff:127.0.0.1]" }, "::ffff:127.0.0.1"],
  ["a name", { host: "localhost:8000" }, "127.0.0.1"],
  ["a name in capitals", { host: "LOCALHOST" }, "127.0.0.1"],
  ["other headers", { ...HOST, "user-agent": "Prometheus/3.0", accept: "*/*" }, "127.0.0.1"],
];

for (const [name, headers, address] of LOCAL) {
  Deno.test(`a local scrape: ${name}`, () => {
    assert.equal(isLocalScrape(new Headers(headers), peer(address)), true);
  });
}

const FOREIGN: readonly (readonly [string, Record<string, string>, string])[] = [
  ["from another machine", HOST, "192.168.1.7"],
  ["from another machine, IPv6", HOST, "2001:db8::1"],
  ["without a host", {}, "127.0.0.1"],
  ["for a public name", { host: "daybook.example.com" }, "127.0.0.1"],
  ["for a name that begins like ours", { host: "localhost.example.com" }, "127.0.0.1"],
  ["for a name that begins like an address", { host: "127.0.0.1.example.com" }, "127.0.0.1"],
  [
    "for a name below ours, which a browser may be told to ask",
    { host: "x.localhost" },
    "127.0.0.1",
  ],
  ["forwarded", { ...HOST, forwarded: "for=192.0.2.1" }, "127.0.0.1"],
  ["forwarded for", { ...HOST, "x-forwarded-for": "127.0.0.1" }, "127.0.0.1"],
  ["forwarded for nobody", { ...HOST, "x-forwarded-for": "" }, "127.0.0.1"],
  ["forwarded host", { ...HOST, "x-forwarded-host": "localhost" }, "127.0.0.1"],
  ["forwarded protocol", { ...HOST, "x-forwarded-proto": "http" }, "127.0.0.1"],
  ["real address", { ...HOST, "x-real-ip": "127.0.0.1" }, "127.0.0.1"],
  ["passed on", { ...HOST, via: "1.1 proxy" }, "127.0.0.1"],
  ["by a page", { ...HOST, origin: "http://localhost:8000" }, "127.0.0.1"],
  ["by a page of no origin", { ...HOST, origin: "null" }, "127.0.0.1"],
];

for (const [name, headers, address] of FOREIGN) {
  Deno.test(`no local scrape: ${name}`, () => {
    assert.equal(isLocalScrape(new Headers(headers), peer(address)), false);
  });
}

Deno.test("no local scrape: a connection that says nothing of its other end", () => {
  assert.equal(isLocalScrape(new Headers(HOST), undefined), false);
  assert.equal(isLocalScrape(new Headers(HOST), {}), false);
  const socket = { remoteAddr: { transport: "unix", path: "/run/x" } as const };
  assert.equal(isLocalScrape(new Headers(HOST), socket), false);
});
