/**
 * FoundationDB's client, in memory and failing on demand: what the engine is told when replies
 * are lost, versions age and clusters go away cannot be asked of a real one at will. It keeps
 * what the real one promises: reads at one version, conflicts by guard, watches by value.
 */

import type { Bytes, KeyRange, KeyValue } from "../../src/kv/engine.ts";
import type {
  ClientDatabase,
  ClientPage,
  ClientTransaction,
  ClientWatch,
  PageSize,
} from "../../src/kv/foundationdb_client.ts";
import { textAfter, textOf } from "../../src/kv/byte_text.ts";
import { addToCounter } from "../../src/kv/write_buffer.ts";

/** What happens to one call. */
export type ClientFault =
  /** It fails; a commit may have landed all the same. */
  | { readonly code: number; readonly landed?: boolean }
  /** No answer until the call is cancelled; a commit may still land afterwards. */
  | { readonly hangs: true; readonly landsLate?: boolean };

export type ClientCall = "version" | "read" | "commit" | "watch";
export type ClientPlan = (call: ClientCall, number: number) => ClientFault | undefined;

export interface MemoryDatabase extends ClientDatabase {
  /** Calls so far, refused ones too. */
  readonly counts: Record<ClientCall, number>;
  /** Watches that are set and neither fired nor cancelled. */
  readonly pendingWatches: number;
  /** What commits that hung and were cancelled still do. */
  landLate(): void;
  plan: ClientPlan;
}

interface Commit {
  readonly version: bigint;
  readonly ranges: readonly { readonly begin: string; readonly end: string }[];
  readonly pairs: ReadonlyMap<string, Bytes>;
}

interface Store {
  /** The newest last. */
  readonly commits: Commit[];
  readonly watches: Set<MemoryWatch>;
  readonly late: (() => void)[];
}

interface MemoryWatch {
  readonly text: string;
  readonly value: string | undefined;
  readonly end: (isChanged: boolean) => void;
}

/** What a real one gives for every read and commit at once. */
const versionsPerCommit = 1000n;

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
    commits: [{ version: 1000n, ranges: [], pairs: new Map() }],
    watches: new Set(),
    late: [],
  };
  const database: MemoryDatabase = {
    counts: { version: 0, read: 0, commit: 0, watch: 0 },
    plan,
    get pendingWatches() {
      return store.watches.size;
    },
    createTransaction: () => memoryTransaction(store, database),
    landLate: () => store.late.splice(0).forEach((land) => land()),
    close() {},
  };
  return database;
}

function memoryTransaction(store: Store, database: MemoryDatabase): ClientTransaction {
  const guards: { begin: string; end: string }[] = [];
  const writes: ((pairs: Map<string, Bytes>, stamp: Bytes) => string | [string, string])[] = [];
  const cancelled = Promise.withResolvers<never>();
  cancelled.promise.catch(() => {});
  const watches: { key: Bytes; end: PromiseWithResolvers<boolean> }[] = [];
  let view: Commit | undefined;
  let conflicting: string | undefined;

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

  async function see(): Promise<Commit> {
    if (view === undefined) {
      await answer("version");
      view ??= store.commits.at(-1)!;
    }
    return view;
  }

  function land(): void {
    const newest = store.commits.at(-1)!;
    const changed = store.commits.filter(({ version }) =>
      view !== undefined && version > view.version
    );
    for (const guard of guards) {
      const hit = changed.some(({ ranges }) =>
        ranges.some(({ begin, end }) => begin < guard.end && guard.begin < end)
      );
      if (!hit) continue;
      conflicting = guard.begin;
      throw new ClientError(1020);
    }
    if (writes.length === 0) return;
    const version = newest.version + versionsPerCommit;
    const stamp = new Uint8Array(10);
    new DataView(stamp.buffer).setBigUint64(0, version);
    const pairs = new Map(newest.pairs);
    const ranges = writes.map((write) => {
      const touched = write(pairs, stamp);
      const [begin, end] = typeof touched === "string" ? [touched, textAfter(touched)] : touched;
      return { begin, end };
    });
    store.commits.push({ version, ranges, pairs });
    for (const watch of [...store.watches]) {
      if (valueText(pairs, watch.text) !== watch.value) watch.end(true);
    }
  }

  function put(key: Bytes, change: (before: Bytes | undefined) => Bytes | undefined): void {
    const text = textOf(key);
    writes.push((pairs) => {
      const value = change(pairs.get(text));
      if (value === undefined) pairs.delete(text);
      else pairs.set(text, value);
      return text;
    });
  }

  return {
    readVersion: async () => (await see()).version,
    startAt(version) {
      view = store.commits.findLast((commit) => commit.version <= version);
    },
    async get(key) {
      const { pairs } = await see();
      await answer("read");
      return pairs.get(textOf(key))?.slice();
    },
    async getRange(range, size) {
      const { pairs } = await see();
      await answer("read");
      return pageOf(pairs, range, size);
    },
    guard: ({ begin, end }) => void guards.push({ begin: textOf(begin), end: textOf(end) }),
    set: (key, value) => put(key, () => value),
    clear: (key) => put(key, () => undefined),
    add: (key, operand) =>
      put(key, (before) => {
        const delta = new DataView(operand.buffer).getBigInt64(operand.byteOffset, true);
        return addToCounter(before, delta);
      }),
    clearRange(range) {
      const [begin, end] = [textOf(range.begin), textOf(range.end)];
      writes.push((pairs) => {
        for (const text of pairs.keys()) if (begin <= text && text < end) pairs.delete(text);
        return [begin, end];
      });
    },
    setStamped(prefix, suffix, value) {
      writes.push((pairs, stamp) => {
        const text = textOf(prefix) + textOf(stamp) + textOf(suffix);
        pairs.set(text, value);
        return text;
      });
    },
    async commit() {
      if (watches.length > 0) {
        const { pairs } = await see();
        await answer("watch");
        for (const { key, end } of watches) setWatch(store, pairs, key, end);
        return;
      }
      await answer("commit", land);
      land();
    },
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
  pairs: ReadonlyMap<string, Bytes>,
  key: Bytes,
  { promise, resolve }: PromiseWithResolvers<boolean>,
): void {
  const text = textOf(key);
  const watch: MemoryWatch = { text, value: valueText(pairs, text), end: resolve };
  store.watches.add(watch);
  promise.then(() => store.watches.delete(watch));
  if (valueText(store.commits.at(-1)!.pairs, text) !== watch.value) resolve(true);
}

function pageOf(
  pairs: ReadonlyMap<string, Bytes>,
  range: KeyRange,
  { limit, bytesMax, reverse }: PageSize,
): ClientPage {
  const [begin, end] = [textOf(range.begin), textOf(range.end)];
  const texts = [...pairs.keys()].filter((text) => begin <= text && text < end).sort();
  if (reverse) texts.reverse();
  const page: KeyValue[] = [];
  let bytes = 0;
  for (const text of texts) {
    if (page.length >= limit || bytes >= bytesMax) return { pairs: page, more: true };
    const value = pairs.get(text)!.slice();
    page.push({ key: toBytes(text), value });
    // The real one counts some bytes for each pair too, and so gives less than was asked for.
    bytes += text.length + value.length + 16;
  }
  return { pairs: page, more: false };
}

function valueText(pairs: ReadonlyMap<string, Bytes>, text: string): string | undefined {
  const value = pairs.get(text);
  return value && textOf(value);
}

function toBytes(text: string): Bytes {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
