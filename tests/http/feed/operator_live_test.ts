/** Live answers and pages to operator tokens. See docs/reference/feed.md. */

import assert from "node:assert/strict";
import { mintOperatorToken } from "../../../src/features/access/operator_token.ts";
import { RATES_PER_MINUTE } from "../../../src/domain/limits/plan.ts";
import { limits } from "../../../src/domain/limits.ts";
import { liveCount } from "../../../src/http/feed/live_count.ts";
import { uuid, valueOf } from "../../support/service_fixture.ts";
import { type FeedServer, readFrames, withFeedServer } from "./feed_server.ts";

/** The secret of every service of the tests. */
const SECRET = new Uint8Array(32).fill(7);

async function tokenOf(lifetimeSeconds: number, instances?: readonly string[]): Promise<string> {
  const nowMs = Date.now();
  const asked = { secret: SECRET, subject: "ada", nowMs, lifetimeSeconds, instances };
  return (await mintOperatorToken(asked)).token;
}

function naming({ tenants: { test } }: FeedServer, path: string): string {
  return `${path}&instance_id=${test.instanceId}`;
}

Deno.test("live answers to a token that expires end within five seconds, and say why", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const order = `/order/${uuid(1)}`;
    for (const path of ["/_feed?live=sse", `${order}/events?live=sse`, `${order}?live=sse`]) {
      const key = await tokenOf(3);
      const endsMs = Date.now() + 3_000;
      const frames = readFrames(await world.read(naming(world, path), { key }));
      const rest = await frames.rest();
      assert.ok(Date.now() - endsMs < 5_000, path);
      assert.ok(rest.some(({ type }) => type === "event" || type === "state"), path);
      const last = rest.at(-1)!;
      assert.deepEqual([last.type, last.data.error_type], ["refused", "unauthorized"], path);
    }
  }));

Deno.test("a long poll that a token does not outlive is 401", () =>
  withFeedServer(async (world) => {
    const key = await tokenOf(2);
    const path = naming(world, "/_feed?from=now&live=long-poll&wait=15");
    const answer = world.read(path, { key });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await world.note("late");
    const { status } = await answer;
    assert.equal(status, 401);
  }));

Deno.test("what an operator reads costs the instance no reads, and none of its live answers wait", () =>
  withFeedServer(async (world) => {
    const { access, service, tenants: { test } } = world;
    const instance = valueOf(await access.changeTier(test.instanceId, "free"));
    await world.note(...Array.from({ length: 300 }, () => "a"));
    const key = await tokenOf(60, [test.instanceId]);
    const path = naming(world, "/_feed?limit=1");
    const used: (number | string | null)[] = [];
    for (let n = 0; n < 3; n++) {
      const response = await world.read(path, { key });
      await response.body?.cancel();
      used.push(response.status, response.headers.get("x-ratelimit-scope"));
    }
    assert.deepEqual(used, [200, "ip", 200, "ip", 200, "ip"]);
    // The whole limit is still there, and then gone.
    for (let n = 0; n < RATES_PER_MINUTE.free.read; n++) {
      assert.ok((await service.limits.admit(instance, "read")).isAdmitted, `read ${n}`);
    }
    const refused = await world.get("?limit=1");
    assert.equal(refused.status, 429);
    await refused.body?.cancel();
    const frames = readFrames(await world.read(naming(world, "/_feed?live=sse"), { key }));
    const events = await frames.take(300);
    assert.deepEqual(new Set(events.map(({ type }) => type)), new Set(["event"]));
    // Those are paid for before the next one is sent.
    await world.note("b");
    const more = await frames.take(2);
    assert.deepEqual(more.map(({ type }) => type), ["caught_up", "event"]);
    await frames.cancel();
  }));

Deno.test("live answers to operator tokens take places of the instance that they read", () =>
  withFeedServer(async (world) => {
    const owner = world.tenants.test.instanceId;
    const max = limits.liveAnswersBytesPerInstanceMax;
    assert.ok(liveCount.enter(owner, max));
    try {
      const response = await world.read(naming(world, "/_feed?live=sse"), {
        key: await tokenOf(60),
      });
      assert.deepEqual([response.status, (await response.json()).error_type], [
        503,
        "unavailable",
      ]);
    } finally {
      liveCount.leave(owner, max);
    }
  }));
