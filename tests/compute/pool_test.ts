/**
 * The compute pool returns what this process would compute, whatever happens to its processes.
 * They end by themselves, hang, spin, run out of memory or cannot be started.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { FoldHead } from "../../src/compute/messages.ts";
import { type ComputeJob, type ComputePool, openComputePool } from "../../src/compute/pool.ts";
import type { StoredEvent } from "../../src/domain/event.ts";
import { FOLD_UNITS, newFoldBudget } from "../../src/domain/handler/budget.ts";
import { compileHandler } from "../../src/domain/handler/compile_handler.ts";
import { fold } from "../../src/domain/handler/fold.ts";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { limits } from "../../src/domain/limits.ts";
import type { RunnerCommand } from "../../src/runners/runner_process.ts";
import { event, handlerDefinition, state } from "../domain/handler/random_handler.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function mute(what: string): RunnerCommand {
  const program = new URL("../support/wasm/mute_runner.ts", import.meta.url).href;
  return { path: Deno.execPath(), args: ["run", "--no-prompt", "--no-config", program, what] };
}

async function withPool(
  command: RunnerCommand | undefined,
  test: (pool: ComputePool, faults: unknown[]) => Promise<void>,
): Promise<void> {
  const faults: unknown[] = [];
  const onFault = (error: unknown) => faults.push(error);
  const pool = openComputePool({ runners: 2, command, onFault });
  try {
    await test(pool, faults);
  } finally {
    await pool.close();
  }
}

interface Story {
  readonly handlers: { readonly [type: string]: JsonValue };
  readonly base?: string;
  readonly events: readonly StoredEvent[];
  readonly units?: number;
  readonly withinMs?: number;
}

let stories = 0;

/** One part for each part of the input, and one for each event. */
function jobOf({ handlers, base = "", events, units = FOLD_UNITS, withinMs }: Story) {
  const baseBytes = encoder.encode(base);
  const foldHash = `story ${stories++}`;
  const head: FoldHead = { kind: "fold", foldHash, units, baseBytes: baseBytes.length };
  const job: ComputeJob<"fold"> = {
    head,
    lane: foldHash,
    withinMs,
    *input() {
      yield { name: "handlers", bytes: encoder.encode(JSON.stringify(handlers)) };
      const half = baseBytes.length >> 1;
      yield { name: "base", bytes: baseBytes.subarray(0, half) };
      yield { name: "base", bytes: baseBytes.subarray(half) };
      for (const each of events) {
        yield { name: "events", bytes: encoder.encode(`${JSON.stringify(each)}\n`) };
      }
    },
  };
  return job;
}

function eventOf(data: JsonObject, type = "happened"): StoredEvent {
  return { key: "thing:1", type, data, metadata: { timestamp: 0 } } as unknown as StoredEvent;
}

const COUNTING = { happened: { increment: { target: "n" } } };

Deno.test("a fold in a process is the fold here, for any handlers, state and events", async () => {
  const story = fc.record({
    handlers: fc.record({ first: handlerDefinition, second: handlerDefinition }),
    base: state.map((each) => JSON.stringify(each)),
    events: fc.array(event, { maxLength: 6 }),
  });
  await withPool(undefined, async (pool) => {
    await fc.assert(
      fc.asyncProperty(story, async (each) => {
        const handlers = new Map(
          Object.entries(each.handlers).map(([type, definition]) => {
            const compiled = compileHandler(definition as JsonValue, type);
            assert.ok(compiled.ok);
            return [type, compiled.handler];
          }),
        );
        // Events arrive as text, so -0 is 0 there.
        const events = JSON.parse(JSON.stringify(each.events)) as StoredEvent[];
        const here = fold(handlers, JSON.parse(each.base), events, newFoldBudget());
        const outcome = await pool.run("instance", jobOf(each));
        assert.ok(outcome.kind === "done");
        assert.ok(here.ok && outcome.result.ok);
        assert.equal(decoder.decode(outcome.bytes), JSON.stringify(here.value));
      }),
      { numRuns: 200 },
    );
  });
});

Deno.test("a state of many pieces goes there and comes back whole", async () => {
  await withPool(undefined, async (pool) => {
    const base = JSON.stringify({ text: "é".repeat(1_500_000), n: 1 });
    const outcome = await pool.run("instance", jobOf({ handlers: COUNTING, base, events: [] }));
    assert.ok(outcome.kind === "done" && outcome.result.ok);
    assert.equal(decoder.decode(outcome.bytes), base);
  });
});

Deno.test("a state nearly as large as one may be fits into a process", async () => {
  await withPool(undefined, async (pool) => {
    const handlers = { happened: { append: { target: "list", value: "$.data" } } };
    const data = { text: "x".repeat(95_000) };
    const events = Array.from({ length: 352 }, () => eventOf(data));
    const outcome = await pool.run("instance", jobOf({ handlers, events }));
    assert.ok(outcome.kind === "done" && outcome.result.ok);
    const state = JSON.stringify({ list: events.map(() => data) });
    assert.ok(state.length > 0.99 * limits.stateBytesMax);
    assert.ok(decoder.decode(outcome.bytes) === state);
  });
});

Deno.test("a fold that is refused is refused there, and the rest of its events are not sent", async () => {
  await withPool(undefined, async (pool) => {
    const events = Array.from({ length: 50 }, () => eventOf({ text: "x".repeat(1_000) }));
    const handlers = { happened: { append: { target: "all", value: "$.data" } } };
    const job = jobOf({ handlers, events, units: 5_000 });
    let sent = 0;
    const counted = {
      ...job,
      *input() {
        for (const piece of job.input() as Iterable<{ name: string; bytes: Uint8Array }>) {
          sent++;
          yield piece;
        }
      },
    };
    const outcome = await pool.run<"fold">("instance", counted);
    assert.ok(outcome.kind === "done" && !outcome.result.ok);
    assert.equal(outcome.result.refusal.kind, "fold_budget_exceeded");
    assert.ok(sent < 20, `${sent} pieces`);
  });
});

Deno.test("where the input fails the asker is told so, and the process takes the next job", async () => {
  await withPool(undefined, async (pool) => {
    const job = jobOf({ handlers: COUNTING, events: [eventOf({})] });
    const failing = {
      ...job,
      *input() {
        yield* job.input() as Iterable<never>;
        throw new Error("the store is away");
      },
    };
    await assert.rejects(pool.run("instance", failing), /the store is away/);
    const outcome = await pool.run("instance", job);
    assert.ok(outcome.kind === "done" && outcome.result.ok);
    assert.equal(decoder.decode(outcome.bytes), '{"n":1}');
    assert.equal(pool.measure().processIds.length, 1);
  });
});

Deno.test("a state that needs more memory than a process has is lost, and the next one is not", async () => {
  await withPool(undefined, async (pool) => {
    const base = `{"all":[${"{},".repeat(8_000_000)}{}]}`;
    const story = { handlers: COUNTING, base, events: [eventOf({})], withinMs: 60_000 };
    const outcome = await pool.run("instance", jobOf(story));
    assert.equal(outcome.kind, "lost");
    assert.match(JSON.stringify(outcome), /needs too much memory/);
    const next = await pool.run("other", jobOf({ handlers: COUNTING, events: [] }));
    assert.equal(next.kind, "done");
  });
});

Deno.test("a fold that does not end in time is late, and its process is gone", async () => {
  await withPool(undefined, async (pool) => {
    await pool.run("instance", jobOf({ handlers: COUNTING, events: [] }));
    const [before] = pool.measure().processIds;
    const list = JSON.stringify({ all: Array.from({ length: 200_000 }, (_, n) => n) });
    const handlers = { happened: { append_unique: { target: "all", value: "none" } } };
    const events = Array.from({ length: 2_000 }, () => eventOf({}));
    const story = { handlers, base: list, events, units: Infinity, withinMs: 300 };
    const outcome = await pool.run("instance", jobOf({ ...story, units: Number.MAX_VALUE }));
    assert.deepEqual(outcome, { kind: "late", reason: "It did not end within 300 ms" });
    assert.ok(!pool.measure().processIds.includes(before!));
  });
});

Deno.test("a job whose process ends is tried once more, and then lost", async () => {
  await withPool(mute("exit"), async (pool) => {
    const outcome = await pool.run("instance", jobOf({ handlers: COUNTING, events: [] }));
    assert.equal(outcome.kind, "lost");
  });
});

for (const what of ["hang", "spin"]) {
  Deno.test(`a process that does not answer (${what}) is killed, and its job late`, async () => {
    await withPool(mute(what), async (pool) => {
      const story = { handlers: COUNTING, events: [], withinMs: 200 };
      const outcome = await pool.run("instance", jobOf(story));
      assert.equal(outcome.kind, "late");
    });
  });
}

Deno.test("where no process can be started the job is told so, and the fault", async () => {
  await withPool({ path: "/nowhere/deno", args: [] }, async (pool, faults) => {
    const outcome = await pool.run("instance", jobOf({ handlers: COUNTING, events: [] }));
    const reason = "No process can be started for it now";
    assert.deepEqual(outcome, { kind: "unavailable", reason });
    assert.equal(faults.length, 1);
  });
});

Deno.test("what waits or runs when the pool is closed is answered", async () => {
  await withPool(mute("hang"), async (pool) => {
    const job = jobOf({ handlers: COUNTING, events: [] });
    const asked = Array.from({ length: 5 }, (_, n) => pool.run(`instance ${n}`, job));
    await pool.close();
    for (const outcome of await Promise.all(asked)) {
      assert.deepEqual(outcome, { kind: "unavailable", reason: "The server is shutting down" });
    }
    assert.equal((await pool.run("instance", job)).kind, "unavailable");
  });
});

Deno.test("one instance leaves a process to the others", async () => {
  await withPool(undefined, async (pool) => {
    const slow = jobOf({
      handlers: { happened: { append_unique: { target: "all", value: "none" } } },
      base: JSON.stringify({ all: Array.from({ length: 200_000 }, (_, n) => n) }),
      events: Array.from({ length: 2_000 }, () => eventOf({})),
      units: Number.MAX_VALUE,
      withinMs: 3_000,
    });
    const busy = Array.from(
      { length: 4 },
      (_, n) => pool.run("greedy", { ...slow, lane: `${n}` }),
    );
    const startedMs = performance.now();
    const outcome = await pool.run("modest", jobOf({ handlers: COUNTING, events: [] }));
    assert.equal(outcome.kind, "done");
    assert.ok(performance.now() - startedMs < 2_000, "it did not wait for the first");
    await pool.close();
    await Promise.all(busy);
  });
});
