/** Who may read `GET /metrics`, from where and with which credential. */

import assert from "node:assert/strict";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import { createApp } from "../../../src/http/app.ts";
import type { AppOptions } from "../../../src/http/call.ts";
import { parsePrometheusText } from "../../support/prometheus_text.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";

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
