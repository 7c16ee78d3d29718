/** `GET /metrics` of a real server: what only the whole process can show. */

import assert from "node:assert/strict";
import { parsePrometheusText } from "../support/prometheus_text.ts";
import {
  type EnvironmentName,
  type ServerProcess,
  startServer,
} from "../support/server_process.ts";

function ask(server: ServerProcess, at: EnvironmentName, headers: HeadersInit = {}) {
  return fetch(`${server.baseUrls[at]}/metrics`, { headers });
}

async function numbersAt(server: ServerProcess, at: EnvironmentName) {
  const families = parsePrometheusText(await (await ask(server, at)).text());
  const samples = [...families.values()].flatMap(({ samples }) => [...samples]);
  return Object.fromEntries(samples) as Record<string, number>;
}

async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

Deno.test("a server shows its process, its store and the requests of all its listeners", async () => {
  const server = await startServer();
  try {
    const before = await numbersAt(server, "production");
    for (const at of ["production", "staging", "staging"] as const) {
      assert.equal(await statusOf(fetch(`${server.baseUrls[at]}/health/live`)), 200);
    }
    const email = { email: "a@example.com", password: "correct horse battery" };
    const headers = { authorization: `Bearer ${server.credentials.operator_token}` };
    const reply = fetch(`${server.baseUrls.test}/api/users`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(email),
    });
    assert.equal(await statusOf(reply), 201);
    const after = await numbersAt(server, "test");
    const moved = (name: string) => after[name]! - (before[name] ?? 0);
    const requests = 'daybook_http_requests_total{method="GET",route="/health/live",status="200"}';
    assert.equal(moved(requests), 3);
    const committed = moved('daybook_store_transactions_total{outcome="committed"}');
    assert.ok(committed >= 1, "an account is a transaction");
    assert.equal(moved("daybook_store_commit_duration_seconds_count"), committed);
    assert.ok(moved("daybook_store_commit_duration_seconds_sum") > 0);
    assert.equal(after.daybook_store_up, 1);
    assert.ok(after['daybook_store_bytes{part="database"}']! > 0);
    assert.ok(moved("process_cpu_seconds_total") > 0);
    assert.ok(after.process_resident_memory_bytes! > 10_000_000);
    const ageSeconds = Date.now() / 1000 - after.process_start_time_seconds!;
    assert.ok(ageSeconds > 0 && ageSeconds < 300, `${ageSeconds}`);
  } finally {
    await server.remove();
  }
});

for (
  const [name, env, open] of [
    ["on a loopback address", {}, 200],
    ["with trusted proxies", { DAYBOOK_TRUSTED_PROXIES: "127.0.0.1/32" }, 401],
    ["on all addresses", { DAYBOOK_HOST: "0.0.0.0" }, 401],
  ] as const
) {
  Deno.test(`/metrics without a token, of a server ${name}: ${open}`, async () => {
    const server = await startServer({ env });
    try {
      assert.equal(await statusOf(ask(server, "test")), open);
      const forwarded = { "x-forwarded-for": "192.0.2.1" };
      assert.equal(await statusOf(ask(server, "test", forwarded)), 401);
      const { operator_token: token, keys } = server.credentials;
      const operator = { authorization: `Bearer ${token}` };
      assert.equal(await statusOf(ask(server, "test", { ...forwarded, ...operator })), 200);
      const key = { authorization: `Bearer ${keys.test.write}` };
      assert.equal(await statusOf(ask(server, "test", key)), 401);
    } finally {
      await server.remove();
    }
  });
}
