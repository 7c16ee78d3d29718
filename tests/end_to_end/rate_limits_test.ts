/** Rate limits: every header and body by its exact value. See docs/reference/limits.md. */

import assert from "node:assert/strict";
import { type Answer, type SendOptions, withWorld, type World } from "./world.ts";
import { METADATA, noteBody, uuid } from "./world_spec.ts";

interface Edge extends World {
  /** Like `send`, over a connection from {@link PEER}. */
  ask: World["send"];
  setTier(tier: string): Promise<void>;
}

const NOTE = `/note/${uuid(1)}`;
const WRITE = `${NOTE}/was_written`;
const PEER = "192.0.2.7";
const NO_LIMIT = "2147483647";

async function withEdge(body: (edge: Edge) => Promise<void>, ipLimit?: number): Promise<void> {
  await withWorld(async (world) => {
    await body({
      ...world,
      ask: (method, path, options) => world.send(method, path, { peer: PEER, ...options }),
      async setTier(tier) {
        const path = `/api/instances/${world.instanceId}`;
        assert.equal((await world.send("PATCH", path, { body: { tier } })).status, 200);
      },
    });
  }, { ipLimit });
}

function ratesOf({ headers }: Answer) {
  return ["limit", "remaining", "scope", "tier"].map((name) => headers.get(`x-ratelimit-${name}`));
}

/** Counts as a write but is cheap, because it has no body. */
async function spend({ ask }: Edge, times: number, options: SendOptions = {}) {
  for (let time = 0; time < times; time++) {
    assert.equal((await ask("POST", WRITE, options)).status, 400);
  }
}

Deno.test("an instance without limits is shown none, on every answer to its keys", async () => {
  await withEdge(async ({ ask, keys }) => {
    const answers = [
      await ask("POST", WRITE, { body: noteBody("a") }),
      await ask("POST", WRITE, { body: noteBody("a", { previous_length: 7 }) }),
      await ask("GET", NOTE, { token: keys.test.read }),
      await ask("HEAD", NOTE),
      await ask("GET", `/note/${uuid(9)}`),
      await ask("POST", WRITE),
    ];
    assert.deepEqual(answers.map(({ status }) => status), [201, 409, 200, 200, 404, 400]);
    for (const answer of answers) {
      assert.deepEqual(ratesOf(answer), [NO_LIMIT, NO_LIMIT, "instance", "unlimited"]);
    }
  });
});

for (
  const [tier, writes, reads] of [
    ["free", 600, 3_000],
    ["hobby", 6_000, 30_000],
    ["pro", 12_000, 60_000],
    ["scale", 60_000, 300_000],
  ] as const
) {
  Deno.test(`${tier}: answers tell of ${writes} writes and ${reads} reads a minute`, async () => {
    await withEdge(async ({ ask, setTier }) => {
      await setTier(tier);
      const written = await ask("POST", WRITE, { body: noteBody("a") });
      assert.equal(written.status, 201);
      const [write, read] = [String(writes), String(reads)];
      assert.deepEqual(ratesOf(written), [write, String(writes - 1), "instance", tier]);
      const next = await ask("GET", NOTE);
      assert.deepEqual(ratesOf(next), [read, String(reads - 1), "instance", tier]);
      const last = await ask("GET", `${NOTE}/length`);
      assert.deepEqual(ratesOf(last), [read, String(reads - 2), "instance", tier]);
    });
  });
}

Deno.test("beyond the limit: 429 with the contract's body, until a minute has passed", async () => {
  await withEdge(async (edge) => {
    const { ask, setTier, host } = edge;
    await setTier("free");
    await spend(edge, 599);
    const last = await ask("POST", WRITE, { body: noteBody("a") });
    assert.deepEqual([last.status, ...ratesOf(last)], [201, "600", "0", "instance", "free"]);
    const refused = await ask("POST", WRITE, { body: noteBody("a") });
    assert.equal(refused.status, 429);
    assert.deepEqual(ratesOf(refused), ["600", "0", "instance", "free"]);
    assert.equal(refused.headers.get("retry-after"), "61");
    assert.deepEqual(refused.body, {
      ok: false,
      error: "Rate limit exceeded",
      error_type: "rate_limited",
      scope: "instance",
      limit: 600,
      window: "1m",
      tier: "free",
      docs: "/_docs/errors/rate_limited",
    });
    // Reads have their own limit.
    assert.equal((await ask("GET", NOTE)).status, 200);
    host.timeMs += 60_000;
    assert.equal((await ask("POST", WRITE, { body: noteBody("a") })).status, 429);
    host.timeMs += 100;
    assert.equal((await ask("POST", WRITE, { body: noteBody("a") })).status, 201);
    assert.equal((await ask("GET", `${NOTE}/length`)).body.length, 2);
  });
});

Deno.test("reads beyond the limit are refused with that of reads", async () => {
  await withEdge(async ({ ask, setTier }) => {
    await setTier("free");
    for (let time = 0; time < 3_000; time++) await ask("GET", "/note/-");
    const refused = await ask("GET", NOTE);
    assert.deepEqual([refused.status, refused.body.limit], [429, 3_000]);
    assert.equal((await ask("POST", WRITE, { body: noteBody("a") })).status, 201);
  });
});

Deno.test("all keys of an instance share its limits, in all environments", async () => {
  await withEdge(async (edge) => {
    await edge.setTier("free");
    await spend(edge, 300, { environment: "test" });
    await spend(edge, 200, { environment: "staging" });
    await spend(edge, 99, { environment: "production" });
    const answer = await edge.ask("POST", WRITE, { body: noteBody("a") });
    assert.deepEqual([answer.status, ...ratesOf(answer)], [201, "600", "0", "instance", "free"]);
    for (const environment of ["test", "staging", "production"] as const) {
      assert.equal((await edge.ask("POST", WRITE, { environment })).status, 429);
    }
  });
});

Deno.test("a batch is one request, and so is an atomic write", async () => {
  await withEdge(async ({ ask, setTier }) => {
    await setTier("free");
    const events = Array.from({ length: 50 }, () => ({ type: "was_filed" }));
    const batch = await ask("POST", NOTE, { body: { events, metadata: METADATA } });
    assert.deepEqual([batch.status, ratesOf(batch)[1]], [201, "599"]);
    const targets = [2, 3].map((n) => ({ aggregate_type: "note", id: uuid(n), events }));
    const atomic = await ask("POST", "/_atomic-write", { body: { targets, metadata: METADATA } });
    assert.deepEqual([atomic.status, ratesOf(atomic)[1]], [201, "598"]);
  });
});

Deno.test("what has no valid key is counted for its address, not for an instance", async () => {
  await withEdge(async ({ ask, setTier, keys, operator }) => {
    await setTier("free");
    const answers = [
      await ask("GET", NOTE, { token: null }),
      await ask("GET", NOTE, { token: "dbk_0_test_x" }),
      await ask("GET", NOTE, { token: keys.production.read }),
      await ask("POST", WRITE, { token: keys.test.read, body: noteBody("a") }),
      await ask("GET", "/no/such/path/at/all"),
      await ask("PUT", NOTE),
      await ask("GET", "/api/instances", { token: operator }),
      await ask("GET", "/api/instances", { token: "a.b.c" }),
    ];
    assert.deepEqual(answers.map(({ status }) => status), [401, 401, 403, 403, 404, 405, 200, 401]);
    for (const [index, answer] of answers.entries()) {
      assert.deepEqual(ratesOf(answer), ["30000", String(29_999 - index), "ip", null]);
    }
    assert.equal(ratesOf(await ask("POST", WRITE))[1], "599");
  });
});

Deno.test("beyond the net everything from the address is 429, but keys of instances without limits", async () => {
  await withEdge(async ({ ask, setTier, operator, host }) => {
    for (let time = 0; time < 5; time++) await ask("GET", NOTE, { token: null });
    const refused = await ask("GET", NOTE, { token: null });
    assert.equal(refused.status, 429);
    assert.deepEqual(ratesOf(refused), ["5", "0", "ip", null]);
    assert.equal(refused.headers.get("retry-after"), "65");
    assert.deepEqual(refused.body, {
      ok: false,
      error: "Rate limit exceeded",
      error_type: "rate_limited",
      scope: "ip",
      limit: 5,
      window: "1m",
      docs: "/_docs/errors/rate_limited",
    });
    for (const path of ["/api/instances", "/api/login"]) {
      const method = path === "/api/login" ? "POST" : "GET";
      assert.equal((await ask(method, path, { token: operator })).status, 429, path);
    }
    assert.equal((await ask("GET", NOTE, { token: null, peer: "192.0.2.8" })).status, 401);
    const exempt = await ask("POST", WRITE, { body: noteBody("a") });
    assert.deepEqual([exempt.status, ratesOf(exempt)[2]], [201, "instance"]);

    await setTier("scale");
    const limited = await ask("GET", NOTE);
    assert.deepEqual([limited.status, ...ratesOf(limited)], [429, "5", "0", "ip", "scale"]);
    assert.equal(limited.body.tier, "scale");
    const elsewhere = await ask("GET", NOTE, { peer: "192.0.2.9" });
    assert.deepEqual(ratesOf(elsewhere), ["300000", "299999", "instance", "scale"]);
    host.timeMs += 65_000;
    assert.equal((await ask("GET", NOTE)).status, 200);
  }, 5);
});

Deno.test("keys of an instance without limits leave the net alone", async () => {
  await withEdge(async ({ ask }) => {
    for (let time = 0; time < 20; time++) assert.equal((await ask("GET", "/note")).status, 200);
    assert.deepEqual(ratesOf(await ask("GET", NOTE, { token: null })), ["5", "4", "ip", null]);
  }, 5);
});

Deno.test("health, metrics and preflights are never counted and never refused", async () => {
  await withEdge(async ({ ask, operator }) => {
    await ask("GET", NOTE, { token: null });
    for (let time = 0; time < 5; time++) {
      const answers = [
        await ask("GET", "/health/live", { token: null }),
        await ask("GET", "/health/ready", { token: null }),
        await ask("GET", "/metrics", { token: operator }),
        await ask("OPTIONS", NOTE, { token: null }),
      ];
      assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 204]);
      for (const answer of answers) assert.deepEqual(ratesOf(answer), [null, null, null, null]);
    }
    assert.equal((await ask("GET", NOTE, { token: null })).status, 429);
  }, 1);
});

Deno.test("a change of the tier counts from the next request on, and back again", async () => {
  await withEdge(async (edge) => {
    const { ask, setTier } = edge;
    await setTier("free");
    await spend(edge, 600);
    assert.equal((await ask("POST", WRITE)).status, 429);
    await setTier("hobby");
    assert.deepEqual(ratesOf(await ask("POST", WRITE)), ["6000", "5399", "instance", "hobby"]);
    await setTier("unlimited");
    assert.equal(ratesOf(await ask("POST", WRITE))[1], NO_LIMIT);
    await setTier("free");
    assert.equal((await ask("POST", WRITE)).status, 429);
  });
});

Deno.test("refusals show in the metrics by their scope", async () => {
  await withEdge(async (edge) => {
    await edge.setTier("free");
    await spend(edge, 600);
    await edge.ask("POST", WRITE);
    await edge.ask("POST", WRITE);
    for (let time = 602; time < 605; time++) await edge.ask("GET", NOTE, { token: null });
    await edge.ask("GET", NOTE, { token: null });
    const { text: metrics } = await edge.ask("GET", "/metrics", { token: edge.operator });
    assert.match(metrics, /daybook_rate_limited_total\{scope="instance"\} 2\n/);
    assert.match(metrics, /daybook_rate_limited_total\{scope="ip"\} 1\n/);
    assert.match(metrics, /daybook_writes_refused_total\{error_type="rate_limited"\} 2\n/);
  }, 605);
});
