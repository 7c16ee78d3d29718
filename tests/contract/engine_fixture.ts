/** How an engine joins its contract, and short words for the pairs in its tests. */

import { wrapEngine } from "../../src/kv/calls.ts";
import type { Bytes, Engine, KeyRange, KeyValue, Transaction } from "../../src/kv/engine.ts";

export interface OpenedEngine {
  readonly engine: Engine;
  /** Closes the engine and reopens the same store; undefined if that makes no sense. */
  reopen?(): Promise<Engine>;
  /** Closes the engine, if it is open, and removes its store. */
  dispose(): Promise<void>;
}

/** Opens an engine on an empty store. */
export type OpenEngine = () => Promise<OpenedEngine>;

/** The same, but each transaction says that it expects to write. */
export function expectingWrites(open: OpenEngine): OpenEngine {
  const wrap = (engine: Engine) =>
    wrapEngine(engine, {
      transact: (body, options) => engine.transact(body, { ...options, expectsWrites: true }),
    });
  return async () => {
    const { engine, reopen, dispose } = await open();
    return { engine: wrap(engine), reopen: reopen && (async () => wrap(await reopen())), dispose };
  };
}

/** Registers a test that gets its own engine. */
export type EngineTest = (
  what: string,
  body: (engine: Engine, opened: OpenedEngine) => Promise<void>,
) => void;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The bytes of a text. */
export function bytes(text: string): Bytes {
  return encoder.encode(text);
}

export function range(begin: string, end: string): KeyRange {
  return { begin: bytes(begin), end: bytes(end) };
}

/** Everything that a test writes: its keys begin with a letter. */
export const everything = range("a", "zz");

/** Pairs as `key=value`, for short expectations. */
export function show(pairs: readonly KeyValue[]): string {
  return pairs.map(({ key, value }) => `${decoder.decode(key)}=${decoder.decode(value)}`).join(" ");
}

/** Writes `a=1 b=2` in one transaction. */
export function write(engine: Engine, pairs: string): Promise<void> {
  return engine.transact((tx) => Promise.resolve(put(tx, pairs)));
}

/** Sets `a=1 b=2`. */
export function put(tx: Transaction, pairs: string): void {
  for (const pair of pairs.split(" ")) {
    const [key, value] = pair.split("=");
    tx.set(bytes(key!), bytes(value!));
  }
}

/** The whole store in the form of {@link show}. */
export async function content(engine: Engine): Promise<string> {
  return show(await engine.snapshot((tx) => tx.getRange(everything)));
}

export async function read(engine: Engine, key: string): Promise<string | undefined> {
  return text(await engine.snapshot((tx) => tx.get(bytes(key))));
}

export function text(value: Bytes | undefined): string | undefined {
  return value && decoder.decode(value);
}

/**
 * Runs `body`, and runs `meanwhile` after its first run, before its commit.
 * @returns how often the body ran: 1 means that nothing it read was in conflict.
 */
export async function runsWith(
  engine: Engine,
  body: (tx: Transaction) => Promise<unknown>,
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  let runs = 0;
  await engine.transact(async (tx) => {
    runs++;
    await body(tx);
    if (runs === 1) await meanwhile();
  });
  return runs;
}

/** A signed 64-bit little-endian counter. */
export function counter(value: bigint): Bytes {
  const array = new Uint8Array(8);
  new DataView(array.buffer).setBigInt64(0, value, true);
  return array;
}
