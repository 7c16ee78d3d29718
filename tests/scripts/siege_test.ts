/** The siege's own rules: its rows are whole, its neighbour sees a stall, its bars are the bars. */

import assert from "node:assert/strict";
import { ATTACK_GROUPS } from "../../scripts/siege/attacks.ts";
import { blame, QUIET_BARS } from "../../scripts/siege/bars.ts";
import { makeCase, typeOf } from "../../scripts/siege/fuzz/cases.ts";
import { randomHandler } from "../../scripts/siege/fuzz/handlers.ts";
import { randomFrom } from "../../scripts/siege/fuzz/random.ts";
import { highestGrown } from "../../scripts/siege/loop_delay.ts";
import { startNeighbour } from "../../scripts/siege/neighbour.ts";
import type { Observation, ProbeSummary } from "../../scripts/siege/probes.ts";
import type { Outcome } from "../../scripts/siege/outcome.ts";
import { OPERATION_NAMES } from "../../src/domain/handler/operations.ts";
import type { Route } from "../../src/http/call.ts";
import { PATHS } from "../../src/http/paths.ts";
import { markdownTable } from "../../scripts/siege/table.ts";

const ATTACKS = ATTACK_GROUPS.flatMap(({ attacks }) => attacks);

Deno.test("each attack of the siege has a name of its own, and says what it does and needs", () => {
  assert.equal(new Set(ATTACKS.map(({ name }) => name)).size, ATTACKS.length);
  for (const { name, does, needs, waves } of ATTACKS) {
    assert(name !== "" && does !== "" && needs !== "" && waves.length > 0, name);
    assert(!name.includes("|") && !name.includes(","), `${name}: --only and the table need it so`);
  }
});

/** The route of a request; undefined if its path is none, as some attacks want it. */
function routeOf(path: string, method: string): Route | undefined {
  const sent = path.split("/");
  const fitting = PATHS.filter(({ pattern }) => {
    const parts = pattern.split("/");
    return parts.length === sent.length &&
      parts.every((part, index) => part.startsWith("{") || part === sent[index]);
  });
  const named = fitting.find(({ pattern }) => pattern.split("/")[1] === sent[1]);
  return (named ?? fitting[0])?.methods.get(method);
}

Deno.test("attacks send only query parameters that their routes take, so that they get farther", () => {
  for (const { name, waves } of ATTACKS) {
    if (name === "long queries") continue;
    for (const { request } of waves) {
      const { path, method, body } = typeof request === "function" ? request(0) : request;
      const [at = "", query = ""] = path.split("?");
      const route = routeOf(at, method ?? (body === undefined ? "GET" : "POST"));
      if (route === undefined) continue;
      const taken = Object.keys(route.operation?.query ?? {});
      for (const key of new URLSearchParams(query).keys()) {
        assert(taken.includes(key), `${name}: ${at} takes no ${key}`);
      }
    }
  }
});

Deno.test("the fuzz tries each operation of handlers", () => {
  const random = randomFrom(1);
  const handlers = Array.from({ length: 300 }, () => randomHandler(random, 0.01));
  const text = JSON.stringify(handlers);
  for (const name of OPERATION_NAMES) assert(text.includes(`{"${name}":`), name);
});

Deno.test("the neighbour counts all that was due in a stall, from when it was due", async () => {
  const stallMs = 600;
  let isStalling = false;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    if (isStalling) {
      isStalling = false;
      const until = performance.now() + stallMs;
      while (performance.now() < until);
    }
    return new Response("{}");
  });
  const neighbour = await startNeighbour();
  const { port } = server.addr;
  await neighbour.aim({
    port,
    key: "",
    operatorToken: "",
    instance: "",
    probes: ["read", "health"],
  });
  await neighbour.begin();
  setTimeout(() => isStalling = true, 500);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const { probes } = await neighbour.end();
  await neighbour.stop();
  await server.shutdown();
  for (const probe of [probes.read!, probes.health!]) {
    assert(probe.worst >= stallMs * 0.9, `worst ${probe.worst}`);
    // Of 100 that were due, some 30 were due in the stall: a median of them waited half of it.
    assert(probe.count >= 95, `${probe.count} were sent`);
    assert(probe.p99 >= stallMs * 0.8, `p99 ${probe.p99}`);
    assert.deepEqual(probe.failures, {});
  }
});

Deno.test("a row fails by each bar that it is beyond, and by no bar that it just reaches", () => {
  const just = outcome({
    beside: seen({ p99: 100, worst: 250 }),
    serverMiB: 512,
    childMiB: 300,
    stopMs: 10_000,
    stopCode: 0,
  });
  assert.deepEqual(blame(just, QUIET_BARS), []);
  const faults: readonly (readonly [Partial<Outcome>, string])[] = [
    [{ beside: seen({ p99: 101 }) }, "read p99 101 ms"],
    [{ beside: seen({ worst: 251 }) }, "read worst 251 ms"],
    [{ afterRestart: seen({ worst: 251 }) }, "restart: read worst 251 ms"],
    [{ beside: seen({ failures: { "503": 3 } }) }, "read: 503 x3 of 100"],
    [{ loopDelayMs: 500 }, "loop 500 ms"],
    [{ serverMiB: 513 }, "memory 513 MiB"],
    [{ serverAgainMiB: 513 }, "memory after restart 513 MiB"],
    [{ childMiB: 301 }, "runner 301 MiB"],
    [{ readyMs: 10_001 }, "ready 10001 ms"],
    [{ stopMs: 10_001 }, "stop 10001 ms"],
    [{ orphans: 1 }, "orphans 1"],
    [{ stopCode: 1 }, "stopped with 1"],
    [{ died: "SIGKILL" }, "died: SIGKILL"],
    [{ silent: ["after the attack: /health/ready: 503"] }, "after the attack: /health/ready: 503"],
    [{ failure: "the preparation was refused" }, "the preparation was refused"],
    [{ answers: new Map([["500", 2]]) }, "answered 500 x2"],
  ];
  for (const [part, told] of faults) assert.deepEqual(blame(outcome(part), QUIET_BARS), [told]);
});

Deno.test("a row that names the answers it allows fails by every other one", () => {
  const attack = { ...ATTACKS[0]!, mayHear: [403] };
  const heard = (status: string) =>
    blame(outcome({ attack, answers: new Map([[status, 1], ["closed", 1]]) }), QUIET_BARS);
  assert.deepEqual(heard("403"), []);
  assert.deepEqual(heard("200"), ["answered 200 x1"]);
});

Deno.test("the delay of the loop is the highest bucket that has grown", () => {
  const before = [[10, 5], [100, 7], [Infinity, 8]] as const;
  const buckets = (...counts: [number, number, number]) =>
    before.map(([limit], at) => [limit, counts[at]!] as const);
  assert.equal(highestGrown(before, buckets(6, 8, 9)), 10);
  assert.equal(highestGrown(before, buckets(6, 9, 10)), 100);
  assert.equal(highestGrown(before, buckets(6, 9, 11)), Infinity);
});

Deno.test("a seed makes the same case again, and a smaller scale a smaller one", () => {
  const length = (scale: number) => {
    let sum = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const made = JSON.stringify(makeCase(seed, 3, scale));
      assert.equal(JSON.stringify(makeCase(seed, 3, scale)), made);
      sum += made.length;
    }
    return sum;
  };
  assert(length(0.1) < length(1) / 2);
  assert.equal(typeOf(3), "t3");
});

Deno.test("the table has a row for each outcome, whatever its cells hold", () => {
  const table = markdownTable([outcome({ failure: "a | b\nc" }), outcome({})]);
  const lines = table.split("\n");
  assert.equal(lines.length, 4);
  const cells = lines.map((line) => line.replaceAll("\\|", "").split("|").length);
  assert.equal(new Set(cells).size, 1);
});

function outcome(part: Partial<Outcome>): Outcome {
  const whole = {
    attack: ATTACKS[0]!,
    engine: "sqlite",
    answers: new Map(),
    silent: [],
    faults: [],
    ...part,
  } as const;
  return { ...whole, faults: blame(whole, QUIET_BARS) };
}

function seen(part: Partial<ProbeSummary>): Observation {
  const quiet = { count: 100, failures: {}, p50: 1, p99: 2, worst: 3 };
  return { probes: { read: { ...quiet, ...part }, write: quiet, health: quiet }, ownDelayMs: 1 };
}
