/** Plan allocation: every header and body by its exact value. See docs/reference/limits.md. */

import assert from "node:assert/strict";
import { faultyEngine } from "../support/faulty_engine.ts";
import { drain, reactiveSpec } from "../support/reactive_spec.ts";
import { type Answer, withWorld, type World, type WorldOptions } from "./world.ts";
import { METADATA, noteBody, uuid } from "./world_spec.ts";

interface Plan extends World {
  /** Writes `count` events. */
  write(count: number, options?: { key?: string; stream?: number }): Promise<Answer>;
  setTier(tier: string): Promise<void>;
  usage(query?: string): Promise<Answer["body"]>;
}

async function withPlan(body: (plan: Plan) => Promise<void>, options?: WorldOptions) {
  await withWorld(async (world) => {
    const instance = `/api/instances/${world.instanceId}`;
    await body({
      ...world,
      write(count, { key = "", stream = 1 } = {}) {
        const events = Array.from({ length: count }, () => ({ type: "was_filed" }));
        const headers: Record<string, string> = key === "" ? {} : { "x-idempotency-key": key };
        return world.send("POST", `/note/${uuid(stream)}`, {
          body: { events, metadata: METADATA },
          headers,
        });
      },
      async setTier(tier) {
        assert.equal((await world.send("PATCH", instance, { body: { tier } })).status, 200);
      },
      async usage(query = "?environment=test") {
        const answer = await world.send("GET", `${instance}/usage${query}`);
        assert.equal(answer.status, 200, answer.text);
        return answer.body;
      },
    });
  }, options);
}

function tellsOf({ headers }: Answer) {
  return [headers.get("x-svc-limit-warning"), headers.get("x-svc-limit-exceeded")];
}

Deno.test("from 80% a write warns, at 100% it is written, beyond it is refused whole", async () => {
  await withPlan(async ({ write, setTier, usage, send }) => {
    await setTier("free");
    const below = await write(7_999);
    assert.deepEqual([below.status, ...tellsOf(below)], [201, null, null]);
    const near = await write(1);
    assert.deepEqual(tellsOf(near), ["events_written: 8000/10000", null]);
    const tooMuch = await write(2_001);
    assert.equal(tooMuch.status, 429);
    assert.deepEqual(tellsOf(tooMuch), [null, "events_written: 8000/10000"]);
    const full = await write(2_000);
    assert.deepEqual([full.status, ...tellsOf(full)], [201, "events_written: 10000/10000", null]);

    const refused = await send("POST", `/note/${uuid(1)}/was_written`, { body: noteBody("a") });
    assert.equal(refused.status, 429);
    assert.deepEqual(tellsOf(refused), [null, "events_written: 10000/10000"]);
    assert.deepEqual(refused.body, {
      ok: false,
      error: "Limit exceeded",
      error_type: "plan_limit",
      metric: "events_written",
      usage: 10_000,
      limit: 10_000,
      message: "10000 of the 10000 events of this month are used, and this write has 1; " +
        "the count begins again at 2026-02-01T00:00:00.000Z",
      docs: "/_docs/errors/plan_limit",
    });
    assert.equal(refused.headers.get("x-ratelimit-remaining"), "595", "a rate is another thing");
    assert.equal((await usage()).events_written, 10_000);
    const { body } = await send("GET", `/note/${uuid(1)}/length`);
    assert.equal(body.length, 10_000, "nothing refused is stored, and reads go on");
  });
});

Deno.test("a month ends at midnight UTC, and the next one begins with nothing", async () => {
  await withPlan(async ({ write, setTier, host }) => {
    await setTier("free");
    host.timeMs = Date.UTC(2026, 0, 31, 23, 59, 59, 999);
    assert.equal((await write(10_000)).status, 201);
    assert.equal((await write(1)).status, 429);
    host.timeMs += 1;
    assert.deepEqual(tellsOf(await write(5)), [null, null]);
  });
  await withPlan(async ({ write, service, tenants, host }) => {
    await write(3);
    host.timeMs = Date.UTC(2026, 1, 1);
    await write(4);
    const read = async (month?: string) =>
      (await service.limits.readUsage(tenants.test, "free", month)).events_written;
    assert.deepEqual([await read("2026-01"), await read(), await read("2026-03")], [3, 4, 0]);
  });
});

Deno.test("OCC is looked at before the plan, and everything else before both", async () => {
  await withPlan(async ({ write, setTier, send }) => {
    await setTier("free");
    await write(10_000);
    const call = `/note/${uuid(1)}/was_written`;
    const ask = async (body: unknown, path = call) => (await send("POST", path, { body })).status;
    assert.equal(await ask(noteBody("a", { previous_length: 7 })), 409);
    assert.equal(await ask(noteBody("a", { previous_length: 10_000 })), 429);
    const unfit = { data: { x: 1 }, metadata: METADATA };
    assert.equal(await ask(unfit, "/order/global/was_placed"), 422);
    assert.equal(await ask(noteBody("a"), `/note/${uuid(1)}/was_unknown`), 404);
    const targets = [2, 3].map((n) => ({
      aggregate_type: "note",
      id: uuid(n),
      events: [{ type: "was_filed" }],
    }));
    assert.equal(await ask({ targets, metadata: METADATA }, "/_atomic-write"), 429);
  });
});

Deno.test("each event of a batch and of an atomic write counts, a replay and a refusal do not", async () => {
  await withPlan(async ({ write, setTier, usage, send }) => {
    await setTier("hobby");
    await write(10, { key: "k1" });
    const replay = await write(10, { key: "k1" });
    assert.equal(replay.headers.get("x-idempotency-replayed"), "true");
    assert.equal((await usage()).events_written, 10);
    const targets = [2, 3].map((n) => ({
      aggregate_type: "note",
      id: uuid(n),
      events: [{ type: "was_filed" }, { type: "was_filed" }],
    }));
    await send("POST", "/_atomic-write", { body: { targets, metadata: METADATA } });
    await send("POST", `/note/${uuid(1)}/was_written`, {
      body: noteBody("a", { previous_length: 99 }),
    });
    assert.equal((await usage()).events_written, 14);
  });
});

Deno.test("a recorded key is answered when the month is used up, without a count or a refusal", async () => {
  await withPlan(async ({ write, setTier, usage }) => {
    await setTier("free");
    await write(10_000, { key: "k1" });
    const replay = await write(10_000, { key: "k1" });
    assert.deepEqual([replay.status, ...tellsOf(replay)], [201, null, null]);
    assert.equal((await write(1, { key: "k2" })).status, 429);
    assert.equal((await write(1, { key: "k2" })).status, 429, "a refusal is not recorded");
    assert.equal((await usage()).events_written, 10_000);
  });
});

Deno.test("writes that share a transaction are counted one after the other", async () => {
  await withPlan(async ({ write, setTier, usage }) => {
    await setTier("free");
    await write(9_995);
    const streams = Array.from({ length: 20 }, (_, index) => write(1, { stream: 100 + index }));
    const statuses = (await Promise.all(streams)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 201).length, 5);
    assert.equal(statuses.filter((status) => status === 429).length, 15);
    assert.equal((await usage()).events_written, 10_000);
  });
});

for (const landed of [false, true]) {
  Deno.test(`writes whose replies are lost count once each (landed: ${landed})`, async () => {
    let isFaulty = false;
    const lost = { kind: "lose_reply", landed } as const;
    let commits = 0;
    await withPlan(async ({ write, setTier, usage }) => {
      await setTier("free");
      isFaulty = true;
      for (let time = 0; time < 5; time++) assert.equal((await write(7)).status, 201);
      isFaulty = false;
      assert.equal((await usage()).events_written, 35);
    }, {
      wrap: (engine) =>
        faultyEngine(engine, () => isFaulty && commits++ % 2 === 0 ? lost : undefined),
    });
  });
}

Deno.test("implied and scheduled events count, and are written when the month is used up", async () => {
  await withPlan(async ({ send, setTier, usage, service, host }) => {
    const post = (event: string, n: number) =>
      send("POST", `/order/${uuid(n)}/${event}`, { body: { data: {}, metadata: METADATA } });
    // The first one's implied event is written with it, the second one's events use the outbox.
    assert.equal((await post("was_placed", 1)).status, 201);
    assert.equal((await usage()).events_written, 2);
    assert.equal((await post("was_echoed", 2)).status, 201);
    await drain(service);
    assert.equal((await usage()).events_written, 2 + 1 + 8);
    assert.equal((await post("was_promised", 3)).status, 201);
    const filler = Array.from({ length: 10_000 - 12 }, () => ({ type: "was_paid" }));
    const body = { events: filler, metadata: METADATA };
    assert.equal((await send("POST", `/order/${uuid(4)}`, { body })).status, 201);
    await setTier("free");
    assert.equal((await post("was_paid", 5)).status, 429);
    host.timeMs += 60_000;
    await drain(service);
    assert.equal((await usage()).events_written, 10_001, "the scheduled event was written");
  }, { spec: reactiveSpec });
});

Deno.test("usage is that of an environment, with its plan", async () => {
  await withPlan(async ({ write, setTier, usage, instanceId, send }) => {
    await write(3);
    const view = {
      ok: true,
      instance_id: instanceId,
      environment: "test",
      tier: "unlimited",
      month: "2026-01",
      events_written: 3,
      limit: null,
      resets_at: "2026-02-01T00:00:00.000Z",
    };
    assert.deepEqual(await usage(), view);
    await setTier("pro");
    const production = { environment: "production", tier: "pro", events_written: 0 };
    assert.deepEqual(await usage("?environment=prod"), {
      ...view,
      ...production,
      limit: 10_000_000,
    });
    assert.equal((await usage("?environment=test&month=2025-12")).events_written, 0);
    const bad = await send("GET", `/api/instances/${instanceId}/usage?month=12-2025`);
    assert.deepEqual([bad.status, bad.body.path], [400, "month"]);
  });
});

Deno.test("an instance without limits is never warned", async () => {
  await withPlan(async ({ write }) => {
    assert.deepEqual(tellsOf(await write(10_000)), [null, null]);
    assert.deepEqual(tellsOf(await write(1)), [null, null]);
  });
});

Deno.test("refusals for the plan show in the metrics", async () => {
  await withPlan(async ({ write, setTier, send, operator }) => {
    await setTier("free");
    await write(10_000);
    await write(1);
    const { text } = await send("GET", "/metrics", { token: operator });
    assert.match(text, /daybook_writes_refused_total\{error_type="plan_limit"\} 1\n/);
  });
});
