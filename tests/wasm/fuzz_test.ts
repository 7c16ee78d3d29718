/**
 * Mutated modules and outputs: none brings down a runner, hangs or leaves anything behind. That
 * is, no memory, threads or processes. `WASM_FUZZ_RUNS` says how many (500 in the ordinary
 * run), `WASM_FUZZ_SEED` which.
 */

import assert from "node:assert/strict";
import type { WasmTarget } from "../../src/wasm/job.ts";
import type { WasmPool } from "../../src/wasm/pool.ts";
import { framed, handler, moduleFile, returning } from "../support/wasm/build_module.ts";
import {
  callOnce,
  kindOf,
  messageOf,
  TENANT,
  upload,
  withPool,
} from "../support/wasm/open_pool.ts";

const RUNS = Number(Deno.env.get("WASM_FUZZ_RUNS") ?? 500);
const SEED = Number(Deno.env.get("WASM_FUZZ_SEED") ?? 20_260_101);
/** How a call of any module may end. */
const ENDINGS = [
  "ok",
  "wasm_trap",
  "wasm_timeout",
  "wasm_memory",
  "invalid_output",
  "handler_error",
];
/** Short, because many mutated modules loop forever and use their whole time. */
const TIMEOUT_MS = 5;
/** Limit of one runner, whatever a call does: its own memory and the pages of its program. */
const RESIDENT_MEGABYTES_MAX = 300;

type Random = () => number;

/** Marsaglia's xorshift: the same numbers for the same seed. */
function randomFrom(seed: number): Random {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)]!;
}

/** Bytes with much meaning in modules: ends of ranges, opcodes, section numbers. */
const BYTES = [0x00, 0x01, 0x7f, 0x80, 0xff, 0x0b, 0x40, 0x41, 0x10, 0x03, 0x0c, 0xfc, 0xfd, 0x70];

function mutate(random: Random, original: Uint8Array): Uint8Array<ArrayBuffer> {
  let bytes = [...original];
  for (let changes = 1 + Math.floor(random() * 4); changes > 0; changes--) {
    const at = Math.floor(random() * bytes.length);
    const length = Math.floor(random() * 12);
    switch (Math.floor(random() * 6)) {
      case 0:
        bytes[at] = Math.floor(random() * 256);
        break;
      case 1:
        bytes[at] = pick(random, BYTES);
        break;
      case 2:
        bytes[at] = (bytes[at]! ^ (1 << Math.floor(random() * 8))) & 0xff;
        break;
      case 3:
        bytes.splice(at, length);
        break;
      case 4:
        bytes.splice(at, 0, ...bytes.slice(at, at + length));
        break;
      case 5:
        bytes = [...bytes.slice(0, at), pick(random, BYTES), ...bytes.slice(at)];
    }
    if (bytes.length === 0) bytes = [0];
  }
  return Uint8Array.from(bytes);
}

async function corpus(): Promise<Uint8Array<ArrayBuffer>[]> {
  const names = ["digest", "counter", "instructions"];
  const endless = handler("(loop (br_if 0 (local.get $length))) (i64.const 0)");
  return [
    ...await Promise.all(names.map(moduleFile)),
    await framed(returning('{"state":{"a":[1,2,{"b":"c"}]}}')),
    await framed(`(func $s (drop (memory.grow (i32.const 1000)))) (start $s) ${endless}`),
    await framed(endless),
  ];
}

function census(pool: WasmPool) {
  return pool.measure().processIds.map((pid) => {
    const status = Deno.readTextFileSync(`/proc/${pid}/status`);
    const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]);
    return { pid, megabytes: read("VmRSS") / 1024, threads: read("Threads") };
  });
}

/** After many calls there may be the same processes, no larger than allowed. */
function expectNothingLeft(pool: WasmPool, threadsMax: number): void {
  const runners = census(pool);
  assert(runners.length <= 3, `${runners.length} processes`);
  for (const { megabytes, threads } of runners) {
    assert(megabytes < RESIDENT_MEGABYTES_MAX, `${megabytes} MiB`);
    assert(threads <= threadsMax, `${threads} threads`);
  }
}

Deno.test(`${RUNS} mutated modules are refused or run, and leave nothing behind`, async () => {
  const random = randomFrom(SEED);
  const seeds = await corpus();
  const counted: Record<string, number> = {};
  await withPool(async (pool) => {
    const fine = await upload(pool, seeds[0]!);
    await callOnce(pool, fine);
    // The platform's threads, and one that watches the time.
    const threadsMax = Math.max(...census(pool).map(({ threads }) => threads)) + 8;
    for (let run = 0; run < RUNS; run++) {
      const bytes = mutate(random, pick(random, seeds));
      const check = await pool.checkModule(TENANT, bytes);
      assert(check.ok, `run ${run}: ${JSON.stringify(check)}`);
      if (!check.value.ok) {
        count(counted, check.value.violation.rule);
        continue;
      }
      const { bytes: kept, entrypoints } = check.value.module;
      const module = { digest: `run ${run}`, load: () => Promise.resolve(kept) };
      const entrypoint = pick(random, entrypoints);
      const target: WasmTarget = { module, entrypoint, timeoutMs: TIMEOUT_MS };
      // A separate tenant for each, so that they are not paused because of each other.
      const event = { target, eventJson: '{"n":1}' };
      const outcome = await pool.foldEvents(`tenant ${run}`, "{}", [event]);
      const kind = kindOf(outcome);
      assert(ENDINGS.includes(kind), `run ${run}: ${kind}: ${messageOf(outcome)}`);
      count(counted, kind);
    }
    assert.equal(kindOf(await callOnce(pool, fine)), "ok");
    expectNothingLeft(pool, threadsMax);
  });
  // The mutations must be such that much gets through to the engine, and much does not.
  for (const kind of ["ok", "module_malformed", "wasm_timeout"]) {
    assert((counted[kind] ?? 0) > RUNS / 500, `${kind}: ${JSON.stringify(counted)}`);
  }
});

Deno.test(`${RUNS} mutated outputs are read or refused as JSON.parse() would`, async () => {
  const random = randomFrom(SEED + 1);
  const encoder = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const text = encoder.encode('{"state":{"a":[1,-2.5e3,"xé\\n"],"b":{"c":null}},"error":null}');
  await withPool(async (pool) => {
    for (let run = 0; run < RUNS; run++) {
      const output = mutate(random, text);
      const expected = stateOf(() => decoder.decode(output));
      const target = await upload(pool, await framed(returningBytes(output)));
      const outcome = await callOnce(pool, target);
      const context = `run ${run}: ${JSON.stringify(outcome)}`;
      if (expected === undefined) assert(!outcome.ok, context);
      else assert.deepEqual(outcome, { ok: true, value: expected }, context);
    }
  });
});

/** The JSON text of the state in `read()`, if that is an output with a state and no error. */
function stateOf(read: () => string): string | undefined {
  try {
    const value = JSON.parse(read());
    const isState = typeof value.state === "object" && value.state !== null &&
      !Array.isArray(value.state) && Object.hasOwn(value, "state");
    if (!isState || (value.error ?? null) !== null) return undefined;
    const json = JSON.stringify(value.state);
    return /Infinity/.test(JSON.stringify(value, nameInfinite)) ? undefined : json;
  } catch {
    return undefined;
  }
}

function nameInfinite(_key: string, value: unknown): unknown {
  return value === Infinity || value === -Infinity ? "Infinity" : value;
}

function returningBytes(bytes: Uint8Array): string {
  const escaped = [...bytes].map((byte) => `\\${byte.toString(16).padStart(2, "0")}`).join("");
  return `(data (i32.const 16) "${escaped}") ${
    handler(`(i64.const ${(16n << 32n) | BigInt(bytes.length)})`)
  }`;
}

function count(counted: Record<string, number>, kind: string): void {
  counted[kind] = (counted[kind] ?? 0) + 1;
}
