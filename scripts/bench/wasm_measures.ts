/**
 * `deno task bench -- --wasm`: measures calls of WebAssembly modules in process.
 *
 * They go through the pool that a server has, without HTTP or store. The module is `digest.wat`
 * of the tests, which reads its input byte by byte and returns a new state.
 */

import { assemble, framed, handler, moduleFile } from "../../tests/support/wasm/build_module.ts";
import type { WasmTarget } from "../../src/wasm/job.ts";
import { openWasmPool, type WasmPool } from "../../src/wasm/pool.ts";
import { limits } from "../../src/domain/limits.ts";
import { measureEcho } from "./echo_process.ts";
import { percentiles } from "./load.ts";
import { processorMicros } from "./machine.ts";
import type { Row } from "./table.ts";

const WARMUP_MS = 4_000;
const MEASURE_MS = 5_000;
const CALLERS = 32;
const FOLD_EVENTS = 50_000;
/** As much as a call and its frame. */
const ECHO_BYTES = 512;
const LOOPERS = 16;
/** Functions of the module that is swapped in: some 500 KB. */
const BIG_FUNCTIONS = 8_000;
const EVENT = JSON.stringify({
  key: "order:0197aaaa-0000-7000-8000-000000000001",
  type: "was_placed",
  data: { amount: 1250, currency: "EUR", lines: [{ sku: "A-1", quantity: 2 }] },
  metadata: { actor: { type: "person", id: "0197aaaa-0000-7000-8000-000000000002" } },
});
const STATE = '{"digest":"00000000"}';

interface Loop {
  readonly perSecond: number;
  readonly milliseconds: ReturnType<typeof percentiles>;
}

export async function measureWasm(add: (row: Row) => void): Promise<void> {
  const pool = openWasmPool({
    runners: navigator.hardwareConcurrency + 1,
    stackKilobytes: limits.wasmStackKilobytesDefault,
    onFault(message, error) {
      throw new Error(message, { cause: error });
    },
  });
  try {
    const target = await keep(pool, await moduleFile("digest"), 100);
    await measureCalls(pool, target, add);
    await measureFold(pool, target, add);
    await measureSwap(pool, target, add);
    await measureNeighbour(pool, target, add);
  } finally {
    await pool.close();
  }
}

async function measureCalls(pool: WasmPool, target: WasmTarget, add: (row: Row) => void) {
  await callFor(pool, { tenant: "one", target, callers: CALLERS, ms: WARMUP_MS });
  const echo = percentiles(await measureEcho(ECHO_BYTES, MEASURE_MS));
  add({
    name: "echo of a bare process, 1 caller",
    value: echo.p50 * 1000,
    unit: "us",
    latency: echo,
    note: "the median; what is below it, no process of its own can reach",
  });
  const alone = await callFor(pool, { tenant: "one", target, callers: 1, ms: MEASURE_MS });
  add({
    name: "wasm call, warm, 1 caller",
    value: alone.milliseconds.p50 * 1000,
    unit: "us",
    target: { below: 150 },
    latency: alone.milliseconds,
    note: "the median; goal of the issue",
  });
  const many = await callFor(pool, { tenant: "one", target, callers: CALLERS, ms: MEASURE_MS });
  add({
    name: `wasm calls, ${CALLERS} callers`,
    value: many.perSecond,
    unit: "calls/s",
    target: { atLeast: 8_000 },
    latency: many.milliseconds,
  });
}

async function measureFold(pool: WasmPool, target: WasmTarget, add: (row: Row) => void) {
  const events = Array.from({ length: FOLD_EVENTS }, () => ({ target, eventJson: EVENT }));
  const startedMs = performance.now();
  const outcome = await pool.foldEvents("one", STATE, events);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.stop));
  const seconds = (performance.now() - startedMs) / 1000;
  add({ name: "wasm fold, one stream", value: FOLD_EVENTS / seconds, unit: "events/s" });
}

/**
 * The longest wait of any call while another module is checked, sent and called for the first
 * time.
 */
async function measureSwap(pool: WasmPool, target: WasmTarget, add: (row: Row) => void) {
  const big = await assemble(bigModule());
  const calls = callFor(pool, { tenant: "one", target, callers: 1, ms: 2_000 });
  await pause(500);
  for (let version = 0; version < 3; version++) {
    await call(pool, "two", await keep(pool, big, 1_000, `version ${version}`));
  }
  const { milliseconds } = await calls;
  add({
    name: "longest wait at a swap of modules",
    value: milliseconds.max,
    unit: "ms",
    target: { below: 50 },
    latency: milliseconds,
    note: `another of ${Math.round(big.length / 1024)} KiB, checked and called, 3 times`,
  });
}

async function measureNeighbour(pool: WasmPool, target: WasmTarget, add: (row: Row) => void) {
  const source = await framed(handler("(loop (br 0)) (i64.const 0)"));
  const endless = await keep(pool, source, 100);
  const alone = await callFor(pool, { tenant: "good", target, callers: CALLERS, ms: MEASURE_MS });
  const abort = new AbortController();
  const looping = Array.from({ length: LOOPERS }, () => callUntil(pool, endless, abort.signal));
  await pause(1_000);
  const beside = await callFor(pool, { tenant: "good", target, callers: CALLERS, ms: MEASURE_MS });
  abort.abort();
  add({
    name: "its rate beside a module that loops",
    value: beside.perSecond / alone.perSecond,
    unit: "x",
    target: { atLeast: 0.8 },
    latency: beside.milliseconds,
    note: `another tenant's, by ${LOOPERS} callers; alone ${Math.round(alone.perSecond)} calls/s`,
  });
  const stoppedMs = performance.now();
  await Promise.all(looping);
  await pause(Math.max(0, stoppedMs + 1_000 - performance.now()));
  const { processIds } = pool.measure();
  const used = () => processIds.reduce((sum, pid) => sum + processorMicros(pid), 0);
  const before = used();
  await pause(1_000);
  add({
    name: "runners busy 1 s after the calls stop",
    value: (used() - before) / 1_000_000,
    unit: "cores",
    target: { below: 0.02 },
  });
}

async function keep(
  pool: WasmPool,
  bytes: Uint8Array<ArrayBuffer>,
  timeoutMs: number,
  digest = `${bytes.length} bytes`,
): Promise<WasmTarget> {
  const check = await pool.checkModule("one", bytes);
  if (!check.ok || !check.value.ok) throw new Error(`refused: ${JSON.stringify(check)}`);
  const kept = check.value.module.bytes;
  const module = { digest, load: () => Promise.resolve(kept) };
  return { module, entrypoint: "apply_handler", timeoutMs };
}

async function call(pool: WasmPool, tenant: string, target: WasmTarget): Promise<void> {
  const outcome = await pool.foldEvents(tenant, STATE, [{ target, eventJson: EVENT }]);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.stop));
}

interface ModuleLoad {
  readonly tenant: string;
  readonly target: WasmTarget;
  readonly callers: number;
  readonly ms: number;
}

/** `callers` callers, each of which makes its next call as soon as the last one is answered. */
async function callFor(
  pool: WasmPool,
  { tenant, target, callers, ms }: ModuleLoad,
): Promise<Loop> {
  const times: number[] = [];
  const startedMs = performance.now();
  async function caller(): Promise<void> {
    for (let nowMs = performance.now(); nowMs < startedMs + ms;) {
      await call(pool, tenant, target);
      const endMs = performance.now();
      times.push(endMs - nowMs);
      nowMs = endMs;
    }
  }
  await Promise.all(Array.from({ length: callers }, caller));
  const seconds = (performance.now() - startedMs) / 1000;
  return { perSecond: times.length / seconds, milliseconds: percentiles(times) };
}

async function callUntil(pool: WasmPool, target: WasmTarget, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const outcome = await pool.foldEvents("bad", STATE, [{ target, eventJson: EVENT }]);
    if (outcome.ok) throw new Error("an endless loop has ended");
    // If the call is refused at once, the caller itself would otherwise spin.
    await pause(1);
  }
}

function bigModule(): string {
  const body = "(local.set 0 (i32.mul (i32.add (local.get 0) (i32.const 7)) (i32.const 31)))";
  const one = `(func (param i32) (result i32) ${body.repeat(5)} (local.get 0))`;
  return `(module (memory (export "memory") 17)
    (func (export "malloc") (param i32) (result i32) (i32.const 4096)) ${one.repeat(BIG_FUNCTIONS)}
    (data (i32.const 16) "{\\"state\\":{}}") ${handler(`(i64.const ${(16n << 32n) | 12n})`)})`;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
