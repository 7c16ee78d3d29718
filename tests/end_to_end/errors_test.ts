/** 5xx answers, their records under `/_errors`, and the error bodies. */

import assert from "node:assert/strict";
import type { Engine } from "../../src/kv/engine.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import { faultyEngine } from "../support/faulty_engine.ts";
import { refusal, testCases } from "./cases.ts";
import { type Answer, withWorld, type World } from "./world.ts";
import { noteBody, uuid } from "./world_spec.ts";

const DAY_MS = 24 * 3_600_000;
const MISSING = refusal("not_found", "There is no such error record, or it is older than 24 hours");

/** A world whose store a test can take away or break with a bug. */
function withFaults(
  body: (world: World, faults: { away: boolean; broken: boolean }) => Promise<void>,
): Promise<void> {
  const faults = { away: false, broken: false };
  const wrap = (inner: Engine): Engine => {
    const engine = faultyEngine(inner, [], { isAway: () => faults.away });
    const check = () => {
      if (faults.broken) throw new TypeError("secret detail in /etc/daybook/store.ts:12");
    };
    return wrapEngine(engine, {
      snapshot: async (read) => {
        check();
        return await engine.snapshot(read);
      },
    });
  };
  return withWorld(async (world) => {
    await rememberKey(world, faults);
    await body(world, faults);
  }, { wrap });
}

/** Sends reads until key and spec are known without the store. */
async function rememberKey({ send, access, keys, host }: World, faults: { away: boolean }) {
  for (let turn = 0; turn < 200; turn++) {
    await send("GET", "/note/global/length");
    faults.away = true;
    const isKnown = await access.authenticateKey(keys.test.write, "test").then(
      () => true,
      () => false,
    );
    faults.away = false;
    if (isKnown) return;
    await host.yieldTurn();
  }
  assert.fail("the key is never remembered");
}

async function fail({ send }: World, faults: { broken: boolean }): Promise<Answer> {
  faults.broken = true;
  const answer = await send("GET", `/note/${uuid(1)}/events`);
  faults.broken = false;
  assert.equal(answer.status, 500, answer.text);
  return answer;
}

Deno.test("500: x-error-id, error_type internal, a hint and the context, but no stack, path or secret", () =>
  withFaults(async (world, faults) => {
    const { headers, body, text } = await fail(world, faults);
    assert.match(headers.get("x-error-id")!, /^err_/);
    assert.equal(body.error_type, "internal");
    assert.equal(body.error_id, headers.get("x-error-id"));
    assert.equal(typeof body.hint, "string");
    assert.deepEqual(body.context, {
      operation: "GET /{type}/{id}/events",
      event_key: `note:${uuid(1)}`,
    });
    assert.ok(!text.includes("secret") && !text.includes("/etc") && !text.includes("TypeError"));
  }));

Deno.test("a stored error record is {error_id, error_type, message, context, request_id, occurred_at}", () =>
  withFaults(async (world, faults) => {
    const { headers, body: failed } = await fail(world, faults);
    const id = headers.get("x-error-id")!;
    const { status, body } = await world.send("GET", `/_errors/${id}`, {
      token: world.keys.test.read,
    });
    assert.equal(status, 200);
    assert.deepEqual(body, {
      ok: true,
      error: {
        error_id: id,
        error_type: "internal",
        message: failed.error,
        context: failed.context,
        request_id: headers.get("x-request-id"),
        occurred_at: "2026-01-01T00:00:00.000Z",
      },
    });
    assert.ok(
      failed.hint.includes(`GET /_errors/${id}`),
      "the hint leads to a record that is there",
    );
  }));

Deno.test("an error record is retrievable for 24 hours, then 404", () =>
  withFaults(async (world, faults) => {
    const id = (await fail(world, faults)).headers.get("x-error-id");
    world.host.timeMs += DAY_MS - 1;
    assert.equal((await world.send("GET", `/_errors/${id}`)).status, 200);
    world.host.timeMs += 1;
    const { status, body } = await world.send("GET", `/_errors/${id}`);
    assert.deepEqual([status, body], [404, MISSING]);
  }));

Deno.test("an error record is scoped to instance and environment", () =>
  withFaults(async (world, faults) => {
    const id = (await fail(world, faults)).headers.get("x-error-id");
    for (const environment of ["production", "staging"] as const) {
      assert.equal((await world.send("GET", `/_errors/${id}`, { environment })).status, 404);
    }
  }));

testCases("GET /_errors/{id}", [
  { name: "of an unknown id is 404", call: "GET /_errors/err_1", status: 404, answer: MISSING },
  {
    name: "needs an API key",
    call: "GET /_errors/err_1",
    token: null,
    status: 401,
    headers_out: { "www-authenticate": "Bearer" },
  },
]);

Deno.test("store unreachable: reads and writes are 503 unavailable with Retry-After, at once", () =>
  withFaults(async ({ send }, faults) => {
    faults.away = true;
    const began = performance.now();
    const body = noteBody("a");
    const answers = [
      await send("GET", "/note/global/events"),
      await send("GET", "/note/global"),
      await send("GET", "/note/global/length"),
      await send("GET", "/note"),
      await send("POST", "/note/global/was_written", { body }),
      await send("GET", "/health/ready", { token: null }),
    ];
    for (const { status, headers, body } of answers) {
      assert.deepEqual([status, body.error_type], [503, "unavailable"]);
      assert.match(headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
    }
    assert.ok(performance.now() - began < 5_000, "within 5 s");
    assert.equal((await send("GET", "/health/live", { token: null })).status, 200);
    faults.away = false;
    assert.equal((await send("POST", "/note/global/was_written", { body })).status, 201);
  }));

Deno.test("while the store is away an error record is kept in memory, and is there afterwards", () =>
  withFaults(async ({ send }, faults) => {
    faults.away = true;
    const failed = await send("GET", "/note/global/events");
    const id = failed.headers.get("x-error-id");
    assert.equal((await send("GET", `/_errors/${id}`)).body.error.error_type, "unavailable");
    faults.away = false;
    assert.equal((await send("GET", `/_errors/${id}`)).body.error.error_id, id);
  }));

Deno.test("a 5xx that belongs to no instance has an error id, and no hint to a record that is not there", () =>
  withFaults(async (world, faults) => {
    faults.broken = true;
    const answers = [
      await world.send("GET", "/api/instances"),
      await world.send("GET", `/api/instances/${world.instanceId}/keys`),
      await world.send("GET", "/note/global/length", { token: `dbk_0_test_${"A".repeat(43)}` }),
    ];
    faults.broken = false;
    for (const { status, headers, body } of answers) {
      if (status === 401) continue;
      assert.equal(status, 500);
      const id = headers.get("x-error-id")!;
      assert.ok(body.hint.includes(id));
      assert.equal(
        body.hint.includes("/_errors/"),
        (await world.send("GET", `/_errors/${id}`)).body.ok,
      );
    }
    assert.equal(answers.filter(({ status }) => status === 500).length >= 2, true);
  }));
