/**
 * A store in memory that forgets nothing, so that a run can be judged by its whole history. It
 * keeps every value that a key ever had, with the commit that wrote it. Each node opens its own
 * engine over it; the opener decides how long calls take and whether they return at all.
 */

import {
  BufferedTransaction,
  checkKey,
  refuseExpired,
  stampBytes,
} from "../../src/kv/transaction/buffered_transaction.ts";
import { bytesOf, lowerBound, textOf, type TextRange } from "../../src/kv/byte_text.ts";
import { openCalls } from "../../src/kv/calls.ts";
import {
  noteWrites,
  openWrittenGroup,
  type WrittenGroup,
} from "../../src/kv/transaction/conflict_log.ts";
import {
  type Bytes,
  type Engine,
  EngineClosed,
  type KeyRange,
  type KeyValue,
  kvLimits,
  type RangeOptions,
  type ReadTransaction,
  type Transaction,
} from "../../src/kv/engine.ts";
import { hashOf } from "../../src/kv/key_map.ts";
import { mergeRange } from "../../src/kv/transaction/range_merge.ts";
import { openWatches, type Watches } from "../../src/kv/watches.ts";
import * as own from "../../src/kv/transaction/buffered_transaction.ts";

/** What one commit made of one key. */
export interface KeyVersion {
  readonly version: number;
  /** Undefined if it was removed. */
  readonly value: Bytes | undefined;
}

export interface SimulatedStore {
  /** Version of the newest commit. */
  readonly version: number;
  /** Number of keys that ever existed. */
  readonly keyCount: number;
  /** All values that a key ever had, oldest first. */
  history(key: string): readonly KeyVersion[];
  /** All keys that ever were within the range, sorted, as text. */
  keysWithin(range: KeyRange): string[];
  /** Pairs that exist now. */
  pairsWithin(range: KeyRange): KeyValue[];
  open(options: SimulatedEngineOptions): Engine;
}

/**
 * Where a call is: before its first read, before its commit, before its caller gets the result.
 */
export type CallStage = "begin" | "commit" | "reply";

export interface SimulatedEngineOptions {
  /** Resolves when the call continues. If it never resolves, the node is dead. */
  readonly pause: (stage: CallStage) => Promise<void>;
  /** For the age of transactions. */
  readonly nowMs: () => number;
  /** Called with each commit that lands. */
  readonly onCommit?: (version: number, written: WrittenGroup) => void;
}

interface Pairs {
  version: number;
  readonly histories: Map<string, KeyVersion[]>;
  /** All keys that ever existed, sorted. */
  readonly order: string[];
  readonly watches: Watches[];
}

/** A transaction that conflicts this often has met a bug in this file. */
const ATTEMPTS_MAX = 1_000;
const ageMaxMs = kvLimits.transactionSecondsMax * 1000;

export function createSimulatedStore(): SimulatedStore {
  const pairs: Pairs = { version: 0, histories: new Map(), order: [], watches: [] };
  return {
    get version() {
      return pairs.version;
    },
    get keyCount() {
      return pairs.order.length;
    },
    history: (key) => pairs.histories.get(key) ?? [],
    keysWithin: ({ begin, end }) => [...keysBetween(pairs, textOf(begin), textOf(end))],
    pairsWithin: ({ begin, end }) => [
      ...scan(pairs, { begin: textOf(begin), end: textOf(end) }, pairs.version, false),
    ],
    open: (options) => new SimulatedEngine(pairs, options) satisfies Engine,
  };
}

class SimulatedEngine implements Engine {
  readonly capabilities = { isShared: true };
  readonly #pairs: Pairs;
  readonly #options: SimulatedEngineOptions;
  readonly #watches = openWatches();
  #isClosed = false;
  readonly #calls = openCalls(() => this.#refuseClosed());

  constructor(pairs: Pairs, options: SimulatedEngineOptions) {
    this.#pairs = pairs;
    this.#options = options;
    pairs.watches.push(this.#watches);
  }

  transact<T>(body: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#calls.run(async () => {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        await this.#options.pause("begin");
        const tx = this.#openTransaction(false);
        const value = await runBody(tx, body);
        if (!tx.hasWrites) return value;
        tx.checkSize();
        await this.#options.pause("commit");
        if (!this.#commit(tx)) continue;
        await this.#options.pause("reply");
        return value;
      }
      throw new Error("a transaction conflicts each time");
    });
  }

  snapshot<T>(body: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    return this.#calls.run(async () => {
      await this.#options.pause("begin");
      return await runBody(this.#openTransaction(true), body);
    });
  }

  durableVersion(): undefined {}

  watch(key: Bytes) {
    this.#refuseClosed();
    return this.#watches.add(key);
  }

  backup(): never {
    throw new Error("No world of the simulation takes a backup");
  }

  measure() {
    return Promise.resolve({ conflicts: 0 });
  }

  forget(): Promise<void> {
    return Promise.resolve();
  }

  failure(): undefined {}

  untilBroken(): Promise<never> {
    return new Promise(() => {});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#calls.untilIdle();
    this.#watches.close();
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new EngineClosed("The engine is closed");
  }

  #openTransaction(isReadOnly: boolean): SimulatedTransaction {
    // A body that runs while the engine closes may finish.
    return new SimulatedTransaction({
      pairs: this.#pairs,
      isReadOnly,
      nowMs: this.#options.nowMs,
      isClosed: false,
    });
  }

  #commit(tx: SimulatedTransaction): boolean {
    tx.refuseOld();
    if (tx.conflicts()) return false;
    const written = tx.land();
    this.#options.onCommit?.(this.#pairs.version, written);
    for (const watches of this.#pairs.watches) watches.notify(written);
    return true;
  }
}

async function runBody<T>(
  tx: SimulatedTransaction,
  body: (tx: SimulatedTransaction) => Promise<T>,
): Promise<T> {
  try {
    return await body(tx);
  } finally {
    tx.isOver = true;
  }
}

interface TransactionHome {
  readonly pairs: Pairs;
  /** Guards nothing. */
  readonly isReadOnly: boolean;
  nowMs(): number;
  readonly isClosed: boolean;
}

class SimulatedTransaction extends BufferedTransaction<TransactionHome> implements Transaction {
  #readsAt: number | undefined;
  #startedMs = 0;
  readonly unguarded: Pick<ReadTransaction, "get" | "getRange"> = {
    get: (key) => resolved(() => this.#get(key, false)),
    getRange: (range, options) => resolved(() => this.#getRange(range, options, false)),
  };

  get(key: Bytes): Promise<Bytes | undefined> {
    return resolved(() => this.#get(key, true));
  }

  getRange(range: KeyRange, options?: RangeOptions): Promise<KeyValue[]> {
    return resolved(() => this.#getRange(range, options, true));
  }

  readVersion(): Promise<bigint> {
    return resolved(() => BigInt(this.#see()));
  }

  /** @throws {EngineLimitExceeded} if it has read and is older than five seconds. */
  refuseOld(): void {
    const { nowMs } = this.home;
    if (this.#readsAt !== undefined && nowMs() - this.#startedMs > ageMaxMs) refuseExpired();
  }

  /** Whether something that it has read was written since. */
  conflicts(): boolean {
    const { pairs } = this.home;
    const readsAt = this.#readsAt;
    if (readsAt === undefined || readsAt === pairs.version) return false;
    const isNewer = (text: string) => {
      const versions = pairs.histories.get(text);
      return versions !== undefined && versions.at(-1)!.version > readsAt;
    };
    for (const { key } of this.guards.keys.entries) if (isNewer(textOf(key))) return true;
    return this.guards.ranges.some(({ begin, end }) =>
      keysBetween(pairs, begin, end).some((text) => isNewer(text))
    );
  }

  /** Writes everything as one version. */
  land(): WrittenGroup {
    const { pairs } = this.home;
    const version = ++pairs.version;
    this.#putStamped(version);
    const written = openWrittenGroup();
    noteWrites(written, this.buffer.writes, this.buffer.cleared);
    for (const { begin, end } of this.buffer.cleared) {
      for (const text of keysBetween(pairs, begin, end)) putVersion(pairs, text, undefined);
    }
    for (const { key, value, delta } of this.buffer.writes.entries) {
      const text = textOf(key);
      const before = pairs.histories.get(text)?.at(-1)?.value;
      putVersion(pairs, text, delta === undefined ? value : own.addToCounter(before, delta));
    }
    return written;
  }

  #putStamped(version: number): void {
    const stamp = new Uint8Array(stampBytes);
    new DataView(stamp.buffer).setBigUint64(0, BigInt(version));
    for (const { prefix, suffix, value } of this.buffer.stamped) {
      own.putWrite(this.buffer, bytesOf(textOf(prefix) + textOf(stamp) + textOf(suffix)), value);
    }
  }

  #see(): number {
    this.refuseOver();
    if (this.#readsAt === undefined) {
      this.#startedMs = this.home.nowMs();
      this.#readsAt = this.home.pairs.version;
    }
    this.refuseOld();
    return this.#readsAt;
  }

  #get(key: Bytes, isGuarded: boolean): Bytes | undefined {
    this.refuseOver();
    checkKey(key);
    const text = textOf(key);
    const hash = hashOf(key);
    const write = own.findWrite(this.buffer, key, hash);
    if (write !== undefined && write.delta === undefined) return write.value;
    if (write === undefined && own.isCleared(this.buffer, key)) return undefined;
    const stored = valueAt(this.home.pairs, text, this.#see());
    if (isGuarded) this.guards.keys.put({ key, hash });
    return write === undefined ? stored : own.addToCounter(stored, write.delta!);
  }

  #getRange(range: KeyRange, options: RangeOptions = {}, isGuarded: boolean): KeyValue[] {
    const version = this.#see();
    const wanted: TextRange = { begin: textOf(range.begin), end: textOf(range.end) };
    if (wanted.begin >= wanted.end) return [];
    if (this.home.isReadOnly) return readOnly(this.home.pairs, wanted, version, options);
    const stored = scan(this.home.pairs, wanted, version, options.reverse ?? false);
    const { pairs, read } = mergeRange(stored, this.buffer, wanted, options);
    if (isGuarded) this.guards.ranges.push(...own.unownedParts(this.buffer, read));
    return pairs;
  }
}

function resolved<T>(read: () => T): Promise<T> {
  try {
    return Promise.resolve(read());
  } catch (error) {
    return Promise.reject(error);
  }
}

const EMPTY_BUFFER = own.emptyWriteBuffer();

/** Workers poll empty queues all the time, so that must be cheap. */
function readOnly(
  pairs: Pairs,
  wanted: TextRange,
  version: number,
  options: RangeOptions,
): KeyValue[] {
  const first = pairs.order[lowerBound(pairs.order, wanted.begin)];
  if (first === undefined || first >= wanted.end) return [];
  const stored = scan(pairs, wanted, version, options.reverse ?? false);
  return mergeRange(stored, EMPTY_BUFFER, wanted, options).pairs;
}

function keysBetween({ order }: Pairs, begin: string, end: string): string[] {
  return order.slice(lowerBound(order, begin), lowerBound(order, end));
}

function* scan(
  pairs: Pairs,
  { begin, end }: TextRange,
  version: number,
  isReverse: boolean,
): Generator<KeyValue> {
  const texts = keysBetween(pairs, begin, end);
  if (isReverse) texts.reverse();
  for (const text of texts) {
    const value = valueAt(pairs, text, version);
    if (value !== undefined) yield { key: bytesOf(text), value };
  }
}

function valueAt({ histories }: Pairs, text: string, version: number): Bytes | undefined {
  const versions = histories.get(text);
  if (versions === undefined) return undefined;
  for (let at = versions.length - 1; at >= 0; at--) {
    if (versions[at]!.version <= version) return versions[at]!.value;
  }
  return undefined;
}

function putVersion(pairs: Pairs, text: string, value: Bytes | undefined): void {
  const { version, histories, order } = pairs;
  const versions = histories.get(text);
  if (versions === undefined) {
    histories.set(text, [{ version, value }]);
    order.splice(lowerBound(order, text), 0, text);
  } else if (versions.at(-1)!.version === version) {
    versions[versions.length - 1] = { version, value };
  } else versions.push({ version, value });
}
