/**
 * Who may read `GET /metrics`, from where and with which credential; which caller is a program on
 * the same machine, and which only looks like one.
 */

import assert from "node:assert/strict";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import { createApp } from "../../../src/http/app.ts";
import type { AppOptions } from "../../../src/http/call.ts";
import { parsePrometheusText } from "../../support/prometheus_text.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";
import { isLocalScrape } from "../../../src/http/platform/metrics.ts";

interface Ask {
  readonly method?: string;
  readonly host?: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

/** An app over a service that has counted nothing yet. */
function metricsApp(options: Partial<AppOptions> = {}) {
  const { service } = scriptService();
  const operations = {
    counters: newCounters(),
    measureStore: () => Promise.resolve({ isUp: true, queues: [] }),
    countLeases: () => new Map(),
    measureModules: () => ({ runners: 0, running: 0, waiting: 0 }),
    traceModules() {},
    listTraces: () => ({ isOn: false, traces: [] }),
  };
  const noQueries = { running: 0, waiting: 0, copies: 0, tables: 0, filling: 0 };
  const sql = { ...service.sql, measure: () => noQueries };
  const told = { ...service, operations, sql };
  const app = createApp(told, quietHost(), { ...TEST_LISTENER, ...options });
  return async ({ method = "GET", host = "127.0.0.1:8002", token, headers = {} }: Ask = {}) => {
    const all = new Headers({ host, ...headers });
    if (token !== undefined) all.set("authorization", `Bearer ${token}`);
    const remoteAddr = { transport: "tcp", hostname: "127.0.0.1", port: 40_000 } as const;
    const url = `http://${host}/metrics`;
    return await app.fetch(new Request(url, { method, headers: all }), { remoteAddr });
  };
}

const OPEN = { opensMetricsLocally: true };
const FORWARDED = { headers: { "x-forwarded-for": "192.0.2.1" } };

const ACCESS: readonly (readonly [string, Partial<AppOptions>, Ask, number])[] = [
  ["loopback, no credential", OPEN, {}, 200],
  ["loopback, operator", OPEN, { token: TOKENS.operator }, 200],
  ["loopback, a bad token", OPEN, { token: "aa.bb.unknown" }, 401],
  ["loopback, an API key", OPEN, { token: TOKENS.write }, 401],
  ["loopback, forwarded, no credential", OPEN, FORWARDED, 401],
  ["loopback, forwarded, operator", OPEN, { ...FORWARDED, token: TOKENS.operator }, 200],
  ["loopback, a public host name", OPEN, { host: "daybook.example.com" }, 401],
  ["reachable, no credential", {}, {}, 401],
  ["reachable, an API key", {}, { token: TOKENS.read }, 401],
  ["reachable, operator", {}, { token: TOKENS.operator }, 200],
  ["reachable, another role", {}, { token: TOKENS.viewer }, 403],
  ["reachable, a token for single instances", {}, { token: TOKENS.restricted }, 403],
  [
    "a host name that no instance has, operator",
    { environment: { kind: "host", baseDomain: "example.com" } },
    { host: "10.0.0.7:8000", token: TOKENS.operator },
    200,
  ],
  [
    "a host name that no instance has, no credential",
    { environment: { kind: "host", baseDomain: "example.com" } },
    { host: "10.0.0.7:8000" },
    401,
  ],
];

for (const [name, options, ask, status] of ACCESS) {
  Deno.test(`GET /metrics: ${name}: ${status}`, async () => {
    const response = await metricsApp(options)(ask);
    const text = await response.text();
    assert.equal(response.status, status, text);
    if (status === 200) {
      assert.ok(parsePrometheusText(text).size > 0);
      assert.equal(
        response.headers.get("content-type"),
        "text/plain; version=0.0.4; charset=utf-8",
      );
      assert.equal(response.headers.get("cache-control"), "no-store");
    } else {
      assert.equal(JSON.parse(text).ok, false);
      assert.ok(!text.includes("daybook_"), "nothing is told");
    }
  });
}

Deno.test("HEAD /metrics answers without a body, and other methods are 405", async () => {
  const ask = metricsApp(OPEN);
  const head = await ask({ method: "HEAD" });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
  const post = await ask({ method: "POST" });
  assert.deepEqual([post.status, post.headers.get("allow")], [405, "GET"]);
});

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
