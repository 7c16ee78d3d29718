/**
 * FoundationDB's client, in memory and failing on demand. A real cluster cannot be made to lose
 * replies, age versions or go away at will. It keeps what the real one promises: reads at one
 * version, conflicts by guard, watches by value.
 */

import type { Bytes, KeyRange, KeyValue } from "../../src/kv/engine.ts";
import type {
  ClientDatabase,
  ClientPage,
  ClientTransaction,
  ClientWatch,
  PageSize,
  WatchingTransaction,
} from "../../src/kv/foundationdb/client.ts";
import { textAfter, textOf } from "../../src/kv/byte_text.ts";
import { addToCounter } from "../../src/kv/transaction/buffered_transaction.ts";
import { type VersionedPairs, versionedPairs } from "./versioned_pairs.ts";

/** What happens to one call. */
export type ClientFault =
  /** The call fails; a commit may have landed all the same. */
  | { readonly code: number; readonly landed?: boolean }
  /** No answer until the call is cancelled; a commit may still land afterwards. */
  | { readonly hangs: true; readonly landsLate?: boolean };

export type ClientCall = "version" | "read" | "commit" | "watch";
export type ClientPlan = (call: ClientCall, number: number) => ClientFault | undefined;

export interface MemoryDatabase extends ClientDatabase {
  /** Calls so far, failed ones included. */
  readonly counts: Record<ClientCall, number>;
  /** Watches that are set and have neither fired nor been cancelled. */
  readonly pendingWatches: number;
  /** Transactions that others go before. */
  stoodBack: number;
  /** Lands the commits that hung and were cancelled. */
  landLate(): void;
  plan: ClientPlan;
}

interface Touched {
  readonly begin: string;
  readonly end: string;
}

interface Commit {
  readonly version: bigint;
  readonly ranges: readonly Touched[];
}

interface Store {
  readonly pairs: VersionedPairs;
  /** What later commits are checked against, newest last; at most `COMMITS_KEPT`. */
  readonly commits: Commit[];
  readonly watches: Set<MemoryWatch>;
  readonly late: (() => void)[];
}

interface MemoryWatch {
  readonly text: string;
  readonly value: string | undefined;
  readonly end: (isChanged: boolean) => void;
}

/** A real cluster advances the version by about this much when a commit follows at once. */
const versionsPerCommit = 1000n;

/**
 * A transaction whose version is older than this many commits is refused, as a real cluster
 * refuses one after seconds.
 */
const COMMITS_KEPT = 2_000;

const METADATA_VERSION = "\xff/metadataVersion";
const TRANSACTION_TOO_OLD = 1007;
const NOT_COMMITTED = 1020;

export class ClientError extends Error {
  override readonly name = "FDBError";
  readonly code: number;
  constructor(code: number) {
    super(`client error ${code}`);
    this.code = code;
  }
}

export function memoryDatabase(plan: ClientPlan = () => undefined): MemoryDatabase {
  const store: Store = {
    pairs: versionedPairs(),
    commits: [{ version: 1000n, ranges: [] }],
    watches: new Set(),
    late: [],
  };
  const database: MemoryDatabase = {
    counts: { version: 0, read: 0, commit: 0, watch: 0 },
    plan,
    stoodBack: 0,
    get pendingWatches() {
      return store.watches.size;
    },
    createTransaction: () => memoryTransaction(store, database),
    createWatching: () => memoryTransaction(store, database),
    landLate: () => store.late.splice(0).forEach((land) => land()),
    close() {},
  };
  return database;
}

function memoryTransaction(
  store: Store,
  database: MemoryDatabase,
): ClientTransaction & WatchingTransaction {
  const guards: { begin: string; end: string }[] = [];
  const writes: ((version: bigint, stamp: Bytes) => Touched)[] = [];
  const cancelled = Promise.withResolvers<never>();
  cancelled.promise.catch(() => {});
  const watches: { key: Bytes; end: PromiseWithResolvers<boolean> }[] = [];
  let view: bigint | undefined;
  let asking: Promise<void> | undefined;
  let conflicting: string | undefined;
  let committed = -1n;

  /** Fails or hangs as planned; `late` is what a commit that hangs does afterwards. */
  async function answer(call: ClientCall, late?: () => void): Promise<void> {
    const fault = database.plan(call, database.counts[call]++);
    await new Promise((resolve) => setImmediate(resolve));
    if (fault === undefined) return;
    if ("hangs" in fault) {
      if (fault.landsLate && late !== undefined) store.late.push(late);
      await cancelled.promise;
    } else {
      if (fault.landed) late?.();
      throw new ClientError(fault.code);
    }
  }

  /** Reads that begin together share one request. */
  async function see(): Promise<bigint> {
    if (view === undefined) {
      await (asking ??= answer("version").finally(() => asking = undefined));
      view ??= store.commits.at(-1)!.version;
    }
    return view;
  }

  async function read<T>(look: (version: bigint) => T): Promise<T> {
    const version = await see();
    await answer("read");
    if (version < store.commits[0]!.version) throw new ClientError(TRANSACTION_TOO_OLD);
    return look(version);
  }

  function refuseConflicts(): void {
    if (view === undefined || guards.length === 0) return;
    if (view < store.commits[0]!.version) throw new ClientError(TRANSACTION_TOO_OLD);
    for (let i = store.commits.length - 1; store.commits[i]!.version > view; i--) {
      for (const { begin, end } of store.commits[i]!.ranges) {
        const guard = guards.find((guard) => begin < guard.end && guard.begin < end);
        if (guard === undefined) continue;
        conflicting = guard.begin;
        throw new ClientError(NOT_COMMITTED);
      }
    }
  }

  function land(): void {
    refuseConflicts();
    if (writes.length === 0) return;
    const version = store.commits.at(-1)!.version + versionsPerCommit;
    const stamp = new Uint8Array(10);
    new DataView(stamp.buffer).setBigUint64(0, version);
    const ranges = writes.map((write) => write(version, stamp));
    store.commits.push({ version, ranges });
    committed = version;
    if (store.commits.length > COMMITS_KEPT) {
      store.commits.splice(0, COMMITS_KEPT / 2);
      store.pairs.forget(store.commits[0]!.version);
    }
    for (const watch of [...store.watches]) {
      if (valueText(store.pairs, version, watch.text) !== watch.value) watch.end(true);
    }
  }

  function put(text: string, version: bigint, value: Bytes | undefined): Touched {
    store.pairs.set(text, version, value);
    return { begin: text, end: textAfter(text) };
  }

  return {
    readVersion: see,
    startAt: (version) => void (view = version),
    standBack: () => void database.stoodBack++,
    get(key, isGuarded) {
      const text = textOf(key);
      if (isGuarded) guards.push({ begin: text, end: textAfter(text) });
      return read((version) => store.pairs.get(text, version)?.slice());
    },
    // It came with the version.
    metadataVersion: async () => store.pairs.get(METADATA_VERSION, await see())?.slice(),
    touchMetadata: () =>
      void writes.push((version, stamp) => put(METADATA_VERSION, version, stamp)),
    getRange: (range, size) => read((version) => pageOf(store.pairs, version, range, size)),
    guard: ({ begin, end }) => void guards.push({ begin: textOf(begin), end: textOf(end) }),
    set: (key, value) => void writes.push((version) => put(textOf(key), version, value)),
    clear: (key) => void writes.push((version) => put(textOf(key), version, undefined)),
    add(key, operand) {
      const delta = new DataView(operand.buffer).getBigInt64(operand.byteOffset, true);
      const text = textOf(key);
      writes.push((version) =>
        put(text, version, addToCounter(store.pairs.get(text, version), delta))
      );
    },
    clearRange(range) {
      const touched = { begin: textOf(range.begin), end: textOf(range.end) };
      writes.push((version) => {
        for (const text of store.pairs.between(touched)) store.pairs.set(text, version, undefined);
        return touched;
      });
    },
    setStamped(prefix, suffix, value) {
      writes.push((version, stamp) =>
        put(textOf(prefix) + textOf(stamp) + textOf(suffix), version, value)
      );
    },
    async commit() {
      if (watches.length > 0) {
        const version = await see();
        await answer("watch");
        for (const { key, end } of watches) setWatch(store, version, key, end);
        return;
      }
      await answer("commit", land);
      land();
    },
    committedVersion: () => committed,
    conflictingKey() {
      return Promise.resolve(conflicting === undefined ? undefined : toBytes(conflicting));
    },
    onError: () => new Promise((resolve) => setTimeout(resolve, 1)),
    watch(key): ClientWatch {
      const end = Promise.withResolvers<boolean>();
      watches.push({ key, end });
      cancelled.promise.catch(() => end.resolve(false));
      return { promise: end.promise, cancel: () => end.resolve(false) };
    },
    cancel: () => cancelled.reject(new ClientError(1025)),
    release() {},
  };
}

function setWatch(
  store: Store,
  version: bigint,
  key: Bytes,
  { promise, resolve }: PromiseWithResolvers<boolean>,
): void {
  const text = textOf(key);
  const value = valueText(store.pairs, version, text);
  const watch: MemoryWatch = { text, value, end: resolve };
  store.watches.add(watch);
  promise.then(() => store.watches.delete(watch));
  const now = store.commits.at(-1)!.version;
  if (valueText(store.pairs, now, text) !== value) resolve(true);
}

function pageOf(
  pairs: VersionedPairs,
  version: bigint,
  range: KeyRange,
  { limit, bytesMax, reverse }: PageSize,
): ClientPage {
  const texts = pairs.between({ begin: textOf(range.begin), end: textOf(range.end) });
  if (reverse) texts.reverse();
  const page: KeyValue[] = [];
  let bytes = 0;
  for (const text of texts) {
    const value = pairs.get(text, version);
    if (value === undefined) continue;
    if (page.length >= limit || bytes >= bytesMax) return { pairs: page, more: true };
    page.push({ key: toBytes(text), value: value.slice() });
    // The real client also counts some bytes per pair, and so returns less than was asked for.
    bytes += text.length + value.length + 16;
  }
  return { pairs: page, more: false };
}

function valueText(pairs: VersionedPairs, version: bigint, text: string): string | undefined {
  const value = pairs.get(text, version);
  return value && textOf(value);
}

function toBytes(text: string): Bytes {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
