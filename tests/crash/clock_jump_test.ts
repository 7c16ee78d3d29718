/**
 * The real server, with a clock that jumps by hours under load and between two lives. Nothing
 * acknowledged is lost or duplicated, and implied events are there once. Scheduled events fire
 * once and not before their time by the server's own clock, or are cancelled, never both. In
 * the end `fsck` finds no fault and the anchors verify.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { ANCHOR_ALL_THE_TIME, checkEvidence } from "./check_evidence.ts";
import {
  type ClockedServer,
  type ClockedWrite,
  pause,
  runLoad,
  startClocked,
  writeLast,
} from "./clock_jumps.ts";
import { createRandom, type Random } from "./random.ts";

const SEED = Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const JUMPS = Number(Deno.env.get("CRASH_ROUNDS") ?? 18);
const KILL_EACH = 8;
const BETWEEN_JUMPS_MS = 250;
/** Idempotency keys are kept for a day: no two moments of the run may be further apart. */
const AHEAD_MS_MAX = 6 * 3_600_000;
const DELAY_MS = 1_500;
/** Workers look for timers at least this often. */
const SLEEP_MS = 600;
const PATIENCE_MS = 60_000;
const MS_PER_SECOND = 1_000;

const NOTE: JsonObject = { aggregate_type: "ledger", id: "$.id", event_type: "was_noted" };
const SPEC: JsonObject = {
  aggregate_types: {
    order: {
      events: {
        was_placed: plain({ emit: { ...NOTE, data: { of: "$.data.n" } } }),
        was_promised: plain({
          schedule: {
            delay_ms: DELAY_MS,
            emit: {
              aggregate_type: "order",
              id: "$.id",
              event_type: "was_reminded",
              data: { of: "$.data.n" },
            },
            cancel_on: [{ aggregate_type: "order", id: "$.key", event_type: "was_paid" }],
          },
        }),
        was_paid: plain(),
        was_reminded: plain(),
      },
    },
    ledger: { events: { was_noted: plain() } },
  },
  agent_types: ["user"],
};

function plain(...implications: JsonObject[]): JsonObject {
  return { schema: true, handler: [], implications };
}

interface Listed {
  readonly type: string;
  readonly data: { readonly n?: number; readonly of?: number };
  readonly metadata: {
    readonly timestamp: number;
    readonly scheduled?: { readonly fire_at: string };
  };
}

// deno-lint-ignore no-explicit-any -- a test says what it expects of the body
async function get(server: ClockedServer, path: string): Promise<any> {
  const { baseUrls, credentials: { keys } } = server.process();
  const headers = { authorization: `Bearer ${keys.test.read}` };
  const reply = await fetch(`${baseUrls.test}${path}`, { headers });
  assert.equal(reply.status, 200, path);
  return await reply.json();
}

async function deploy(server: ClockedServer): Promise<void> {
  const { baseUrls, credentials: { instance_id, operator_token } } = server.process();
  const reply = await fetch(`${baseUrls.test}/api/instances/${instance_id}/spec`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${operator_token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ environment: "test", spec: SPEC }),
  });
  assert.equal(reply.status, 200, await reply.text());
}

/** Jumps by seconds, minutes or hours, within {@link AHEAD_MS_MAX}. */
function drawAhead(random: Random, aheadMs: number): number {
  const byMs = (2 * random.next() - 1) * random.pick([2_000, 90_000, 2 * AHEAD_MS_MAX]);
  return Math.round(Math.max(-AHEAD_MS_MAX, Math.min(AHEAD_MS_MAX, aheadMs + byMs)));
}

async function jumpOn(server: ClockedServer, random: Random) {
  const jumps = { forward: 0, back: 0, kills: 0 };
  for (let number = 1; number <= JUMPS; number++) {
    await pause(random.next() * 2 * BETWEEN_JUMPS_MS);
    const before = server.aheadMs();
    const ahead = drawAhead(random, before);
    if (number % KILL_EACH === 0) await server.killAndStart(ahead);
    else await server.setAhead(ahead);
    if (number % KILL_EACH === 0) jumps.kills++;
    if (ahead > before) jumps.forward++;
    else jumps.back++;
  }
  return jumps;
}

/**
 * First sets the clock hours behind everything that is still to fire, for as long as any worker
 * sleeps. Then sets it ahead of everything and waits until nothing is pending.
 */
async function untilDone(server: ClockedServer, writes: ClockedWrite[]): Promise<void> {
  await server.setAhead(0);
  await writeLast(server, writes, "was_promised");
  await server.setAhead(-AHEAD_MS_MAX);
  await pause(SLEEP_MS);
  await server.setAhead(AHEAD_MS_MAX + 2 * DELAY_MS);
  const placed = writes.filter(({ type }) => type === "was_placed");
  const endMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const { data } = await get(server, "/_scheduled?limit=1");
    const counts = await Promise.all([...ordersOf(placed)].map(async (order) => [
      (await get(server, `/ledger/${order}/length`)).length,
      placed.filter((write) => write.order === order && write.isAcknowledged).length,
    ]));
    if (data.length === 0 && counts.every(([there, needed]) => there >= needed)) return;
    const state = JSON.stringify({ data, counts });
    assert.ok(performance.now() < endMs, `there is something left to do: ${state}`);
    await pause(100);
  }
}

function ordersOf(writes: readonly ClockedWrite[]): Set<string> {
  return new Set(writes.map(({ order }) => order));
}

async function eventsOf(server: ClockedServer, key: string): Promise<Listed[]> {
  const { data, truncated } = await get(server, `/${key}/events?count=5000`);
  assert.equal(truncated, false);
  return data.map(({ event }: { event: Listed }) => event);
}

function* faultsOf(order: string, own: readonly ClockedWrite[], events: readonly Listed[]) {
  for (const { n, type, isAcknowledged } of own) {
    const count = events.filter((event) => event.type === type && event.data.n === n).length;
    if (count > 1 || (isAcknowledged && count === 0)) yield `write ${n} is there ${count} times`;
  }
  for (const [index, { type, data: { n }, metadata }] of events.entries()) {
    if (type !== "was_promised") continue;
    const paid = events.findIndex((event, at) => at > index && event.type === "was_paid");
    const fired = events.flatMap((event, at) =>
      event.type === "was_reminded" && event.data.of === n ? [at] : []
    );
    const name = `the reminder of ${n} in ${order}`;
    if (fired.length > 1) yield `${name} fired ${fired.length} times`;
    if (fired.length === 0 && paid < 0) yield `${name} never came, and nothing cancelled it`;
    for (const at of fired) {
      if (paid >= 0 && paid < at) yield `${name} fired, and was cancelled`;
      const { timestamp, scheduled } = events[at]!.metadata;
      const fireAtMs = Date.parse(scheduled!.fire_at);
      if (timestamp < Math.floor(fireAtMs / MS_PER_SECOND)) yield `${name} fired too early`;
      const lateMs = fireAtMs - DELAY_MS - metadata.timestamp * MS_PER_SECOND;
      if (lateMs < 0 || lateMs >= MS_PER_SECOND) yield `${name} is due ${lateMs} ms off`;
    }
  }
}

Deno.test("a server whose clock jumps by hours loses nothing, repeats nothing and fires in time", async () => {
  console.log(`clock seed ${SEED}: repeat with CRASH_SEED=${SEED} CRASH_ROUNDS=${JUMPS}`);
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_clock_" });
  const server = await startClocked(dataDir, ANCHOR_ALL_THE_TIME);
  let isOver = false;
  try {
    await deploy(server);
    const loading = runLoad(server, SEED, () => isOver);
    const jumping = jumpOn(server, createRandom(SEED).fork(1_000)).finally(() => isOver = true);
    const [writes, jumps] = await Promise.all([loading, jumping]);
    await untilDone(server, writes);
    const faults: string[] = [];
    const times: number[] = [];
    let fired = 0;
    for (const order of ordersOf(writes)) {
      const own = writes.filter((write) => write.order === order);
      const events = await eventsOf(server, `order/${order}`);
      const notes = await eventsOf(server, `ledger/${order}`);
      const placed = events.filter(({ type }) => type === "was_placed").map(({ data }) => data.n);
      const noted = notes.map(({ data }) => data.of);
      assert.deepEqual(noted.toSorted(), placed.toSorted(), `what ${order} has implied`);
      times.push(...events.map(({ metadata }) => metadata.timestamp));
      fired += events.filter(({ type }) => type === "was_reminded").length;
      faults.push(...faultsOf(order, own, events));
    }
    assert.deepEqual(faults, []);
    assert.equal(await server.process().stop(), 0, server.process().output());
    assert.deepEqual(await checkEvidence(dataDir, "stopped"), []);
    console.log(`${fired} reminders, ${JSON.stringify(jumps)}`);
    const spreadS = Math.max(...times) - Math.min(...times);
    console.log(`${writes.length} writes within ${spreadS} s of the server's own time`);
    assert.ok(writes.length > 2 * JUMPS && fired > JUMPS / 8, "the load proves too little");
    if (JUMPS < KILL_EACH) return;
    assert.ok(Math.min(jumps.forward, jumps.back, jumps.kills) > 0 && spreadS > 3_600);
  } finally {
    isOver = true;
    await server.process().remove();
    await Deno.remove(dataDir, { recursive: true });
  }
});
