/** Where a server listens and where its clients reach it, told by its settings. */

import { deepEqual, equal, match } from "node:assert/strict";
import { baseUrls, opensMetricsLocally, plainTextWarning } from "../src/addresses.ts";
import { type Config, parseConfig } from "../src/config.ts";

type Env = Record<string, string>;

function config(env: Env = {}): Config {
  const parsed = parseConfig(env);
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  return parsed.config;
}

Deno.test("plainTextWarning() warns of a reachable address without TLS, and only then", () => {
  const warned = ["0.0.0.0", "::", "192.168.1.7", "daybook.example.com", "2001:db8::1"];
  for (const host of warned) match(plainTextWarning(config({ DAYBOOK_HOST: host }))!, /TLS/);
  const quiet = ["127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1"];
  for (const host of quiet) equal(plainTextWarning(config({ DAYBOOK_HOST: host })), undefined);
  const tls = { DAYBOOK_TLS_CERT: "/c", DAYBOOK_TLS_KEY: "/k" };
  equal(plainTextWarning(config({ DAYBOOK_HOST: "0.0.0.0", ...tls })), undefined);
});

Deno.test("opensMetricsLocally() is for a loopback address with no sign of a proxy in front", () => {
  for (const DAYBOOK_HOST of ["127.0.0.1", "127.9.9.9", "::1", "localhost"]) {
    equal(opensMetricsLocally(config({ DAYBOOK_HOST })), true, DAYBOOK_HOST);
    const trusted = { DAYBOOK_HOST, DAYBOOK_TRUSTED_PROXIES: "127.0.0.1/32" };
    equal(opensMetricsLocally(config(trusted)), false, DAYBOOK_HOST);
    const named = { DAYBOOK_HOST, DAYBOOK_BASE_DOMAIN: "example.com" };
    equal(opensMetricsLocally(config(named)), false, DAYBOOK_HOST);
  }
  for (const DAYBOOK_HOST of ["0.0.0.0", "::", "192.168.1.7", "daybook.example.com"]) {
    equal(opensMetricsLocally(config({ DAYBOOK_HOST })), false, DAYBOOK_HOST);
  }
});

const URLS: readonly (readonly [Env, string, string])[] = [
  [{}, "http://127.0.0.1:8000", "http://127.0.0.1:8002"],
  [
    { DAYBOOK_HOST: "0.0.0.0", DAYBOOK_PORT: "9000" },
    "http://localhost:9000",
    "http://localhost:9002",
  ],
  [{ DAYBOOK_HOST: "::1" }, "http://[::1]:8000", "http://[::1]:8002"],
  [
    { DAYBOOK_TLS_CERT: "/c", DAYBOOK_TLS_KEY: "/k" },
    "https://127.0.0.1:8000",
    "https://127.0.0.1:8002",
  ],
  [{ DAYBOOK_BASE_DOMAIN: "d.example" }, "https://acme.d.example", "https://acme-test.d.example"],
  [
    { DAYBOOK_BASE_DOMAIN: "localhost" },
    "http://acme.localhost:8000",
    "http://acme-test.localhost:8000",
  ],
  [
    {
      DAYBOOK_BASE_DOMAIN: "d.example",
      DAYBOOK_PORT: "443",
      DAYBOOK_TLS_CERT: "/c",
      DAYBOOK_TLS_KEY: "/k",
    },
    "https://acme.d.example",
    "https://acme-test.d.example",
  ],
];

Deno.test("baseUrls() are where clients reach each environment", () => {
  for (const [env, production, test] of URLS) {
    const urls = baseUrls(config(env), "acme");
    deepEqual([urls.production, urls.test], [production, test]);
    equal(Object.keys(urls).join(), "production,staging,test");
  }
});
