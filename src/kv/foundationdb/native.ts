/**
 * FoundationDB's client library, called without the package between. The package starts its
 * network; transactions go through here, because the package takes three times as long for a read:
 * it wakes this thread for each one.
 *
 * The library and `memcpy` are found through the package's native file, which is linked with both.
 * So the process needs no permission for native code beyond that of its packages. For the same
 * reason addresses are numbers here: reading memory in Deno's own way needs the permission for all.
 */

import type { Bytes, KeyRange, KeyValue } from "../engine.ts";
import type { ClientPage, ClientTransaction, PageSize } from "./client.ts";
import { bytesOf } from "../byte_text.ts";
import { viewOf } from "../slab.ts";
import { stampBytes } from "../transaction/buffered_transaction.ts";

/** The address of something that the library has made. */
export type Address = bigint;

const declared = {
  fdb_create_database: { parameters: ["buffer", "buffer"], result: "i32" },
  fdb_database_destroy: { parameters: ["u64"], result: "void" },
  fdb_database_create_transaction: { parameters: ["u64", "buffer"], result: "i32" },
  fdb_transaction_destroy: { parameters: ["u64"], result: "void" },
  fdb_transaction_cancel: { parameters: ["u64"], result: "void" },
  fdb_transaction_set_option: { parameters: ["u64", "i32", "buffer", "i32"], result: "i32" },
  fdb_transaction_set_read_version: { parameters: ["u64", "i64"], result: "void" },
  fdb_transaction_get_read_version: { parameters: ["u64"], result: "u64" },
  fdb_transaction_get_committed_version: { parameters: ["u64", "buffer"], result: "i32" },
  fdb_transaction_get: { parameters: ["u64", "buffer", "i32", "i32"], result: "u64" },
  fdb_transaction_get_range: {
    // Begin and end, each with its length, whether the key itself comes before, and an offset.
    // Limits of pairs and bytes, mode, iteration, whether unguarded, whether backwards.
    // deno-fmt-ignore
    parameters: [
      "u64", "buffer", "i32", "i32", "i32", "buffer", "i32", "i32", "i32",
      "i32", "i32", "i32", "i32", "i32", "i32",
    ],
    result: "u64",
  },
  fdb_transaction_set: { parameters: ["u64", "buffer", "i32", "buffer", "i32"], result: "void" },
  fdb_transaction_clear: { parameters: ["u64", "buffer", "i32"], result: "void" },
  fdb_transaction_clear_range: {
    parameters: ["u64", "buffer", "i32", "buffer", "i32"],
    result: "void",
  },
  fdb_transaction_atomic_op: {
    parameters: ["u64", "buffer", "i32", "buffer", "i32", "i32"],
    result: "void",
  },
  fdb_transaction_add_conflict_range: {
    parameters: ["u64", "buffer", "i32", "buffer", "i32", "i32"],
    result: "i32",
  },
  fdb_transaction_commit: { parameters: ["u64"], result: "u64" },
  fdb_transaction_on_error: { parameters: ["u64", "i32"], result: "u64" },
  fdb_future_is_ready: { parameters: ["u64"], result: "i32" },
  fdb_future_get_error: { parameters: ["u64"], result: "i32" },
  fdb_future_get_int64: { parameters: ["u64", "buffer"], result: "i32" },
  fdb_future_get_value: { parameters: ["u64", "buffer", "buffer", "buffer"], result: "i32" },
  fdb_future_get_keyvalue_array: {
    parameters: ["u64", "buffer", "buffer", "buffer"],
    result: "i32",
  },
  fdb_future_destroy: { parameters: ["u64"], result: "void" },
  fdb_get_error: { parameters: ["i32"], result: "u64" },
  untilReady: {
    name: "fdb_future_block_until_ready",
    parameters: ["u64"],
    result: "i32",
    nonblocking: true,
  },
  memcpy: { parameters: ["buffer", "u64", "usize"], result: "u64" },
  strlen: { parameters: ["u64"], result: "usize" },
} as const satisfies Deno.ForeignLibraryInterface;

export type Calls = Deno.DynamicLibrary<typeof declared>["symbols"];

/** The library's calls, and what helps with them. */
export interface Library {
  readonly calls: Calls;
  /** So many bytes from an address on, copied. */
  copy(from: Address, length: number): Bytes;
  /** @throws {ClientError} if the code is none of success. */
  check(code: number): void;
}

/** An error of the library; `client.ts` says what the codes mean. */
export class ClientError extends Error {
  override readonly name = "ClientError";

  constructor(message: string, readonly code: number) {
    super(message);
  }
}

/** @param file the package's native file. */
export function openLibrary(file: URL): Library {
  const { symbols: calls } = Deno.dlopen(file, declared);

  function copy(from: Address, length: number): Bytes {
    const bytes = new Uint8Array(length);
    if (length > 0) calls.memcpy(bytes, from, BigInt(length));
    return bytes;
  }

  function check(code: number): void {
    if (code === 0) return;
    const text = calls.fdb_get_error(code);
    const message = new TextDecoder().decode(copy(text, Number(calls.strlen(text))));
    throw new ClientError(message, code);
  }

  return { calls, copy, check };
}

/**
 * How long an answer takes: as long as a read, or as a commit; or it is one to a transaction that
 * lets others go first. Quick answers do not wait for slow ones.
 */
export type AnswerKind = "read" | "commit" | "putOff";

/** Waits for answers; `futures.ts` makes it. */
export interface Futures {
  /**
   * What `read` makes of the future once it is ready. Rejects with the future's error. The future
   * is destroyed.
   */
  settle<T>(future: Address, kind: AnswerKind, read: (future: Address) => T): Promise<T>;
}

/** What all transactions of a database share. */
export interface NativeDatabase {
  readonly address: Address;
  readonly library: Library;
  readonly futures: Futures;
}

/** As the library numbers them. */
const options = {
  readYourWritesDisable: 51,
  priorityBatch: 201,
  rawAccess: 303,
  reportConflictingKeys: 712,
} as const;
const mutations = { add: 2, setVersionstampedKey: 14, setVersionstampedValue: 15 } as const;
const conflictRangeRead = 0;
const streamingExact = 0;
/** Of the array in which pairs are answered: key, 8 bytes and 4 of its length; value likewise. */
const pairBytes = 24;
/** A stamped key is followed by the offset of the stamp in it. */
const offsetBytes = 4;

const conflictingKeys = bytesOf("\xff\xff/transaction/conflicting_keys/");
const conflictingKeysEnd = bytesOf("\xff\xff/transaction/conflicting_keys0");
const metadataVersionKey = bytesOf("\xff/metadataVersion");
/** The only value that the client takes: it becomes the stamp of the commit. */
const metadataVersionOperand = new Uint8Array(14);

/** Where the library puts what it answers; read before the next call. */
const address = new BigUint64Array(1);
const version = new BigInt64Array(1);
const length = new Int32Array(1);
const isThere = new Int32Array(1);

export function createNativeTransaction(database: NativeDatabase): ClientTransaction {
  const { library: { calls, check } } = database;
  check(calls.fdb_database_create_transaction(database.address, address));
  const tx = address[0]!;
  check(calls.fdb_transaction_set_option(tx, options.readYourWritesDisable, null, 0));
  check(calls.fdb_transaction_set_option(tx, options.reportConflictingKeys, null, 0));
  // Makes room for the offset of the stamp behind a key of the largest size, and for a prefix.
  check(calls.fdb_transaction_set_option(tx, options.rawAccess, null, 0));
  return new NativeTransaction(database, tx);
}

class NativeTransaction implements ClientTransaction {
  readonly #library: Library;
  readonly #futures: Futures;
  readonly #address: Address;
  #reads: AnswerKind = "read";
  #isReleased = false;

  constructor({ library, futures }: NativeDatabase, tx: Address) {
    this.#library = library;
    this.#futures = futures;
    this.#address = tx;
  }

  /** Using what was released would read memory that belongs to others by now. */
  get #tx(): Address {
    if (this.#isReleased) throw new Error("The transaction was released");
    return this.#address;
  }

  readVersion(): Promise<bigint> {
    const { calls, check } = this.#library;
    const future = calls.fdb_transaction_get_read_version(this.#tx);
    return this.#futures.settle(future, this.#reads, () => {
      check(calls.fdb_future_get_int64(future, version));
      return version[0]!;
    });
  }

  startAt(version: bigint): void {
    this.#library.calls.fdb_transaction_set_read_version(this.#tx, version);
  }

  standBack(): void {
    const { calls, check } = this.#library;
    check(calls.fdb_transaction_set_option(this.#tx, options.priorityBatch, null, 0));
    this.#reads = "putOff";
  }

  get(key: Bytes, isGuarded = false): Promise<Bytes | undefined> {
    const { calls, check, copy } = this.#library;
    const future = calls.fdb_transaction_get(this.#tx, key, key.length, isGuarded ? 0 : 1);
    return this.#futures.settle(future, this.#reads, () => {
      check(calls.fdb_future_get_value(future, isThere, address, length));
      return isThere[0] === 0 ? undefined : copy(address[0]!, length[0]!);
    });
  }

  metadataVersion(): Promise<Bytes | undefined> {
    return this.get(metadataVersionKey);
  }

  touchMetadata(): void {
    this.#mutate(mutations.setVersionstampedValue, metadataVersionKey, metadataVersionOperand);
  }

  getRange({ begin, end }: KeyRange, size: PageSize): Promise<ClientPage> {
    const { calls } = this.#library;
    // Selectors of the first keys that are at least the ends.
    const future = calls.fdb_transaction_get_range(
      this.#tx,
      begin,
      begin.length,
      0,
      1,
      end,
      end.length,
      0,
      1,
      size.limit,
      size.bytesMax,
      streamingExact,
      1,
      1,
      size.reverse ? 1 : 0,
    );
    return this.#futures.settle(future, this.#reads, () => this.#pageIn(future));
  }

  #pageIn(future: Address): ClientPage {
    const { calls, check, copy } = this.#library;
    check(calls.fdb_future_get_keyvalue_array(future, address, length, isThere));
    const more = isThere[0] !== 0;
    const array = viewOf(copy(address[0]!, length[0]! * pairBytes));
    const pairs: KeyValue[] = [];
    for (let at = 0; at < array.byteLength; at += pairBytes) {
      pairs.push({
        key: copy(array.getBigUint64(at, true), array.getInt32(at + 8, true)),
        value: copy(array.getBigUint64(at + 12, true), array.getInt32(at + 20, true)),
      });
    }
    return { pairs, more };
  }

  guard({ begin, end }: KeyRange): void {
    const { calls, check } = this.#library;
    const [from, to] = [begin.length, end.length];
    check(
      calls.fdb_transaction_add_conflict_range(this.#tx, begin, from, end, to, conflictRangeRead),
    );
  }

  set(key: Bytes, value: Bytes): void {
    this.#library.calls.fdb_transaction_set(this.#tx, key, key.length, value, value.length);
  }

  clear(key: Bytes): void {
    this.#library.calls.fdb_transaction_clear(this.#tx, key, key.length);
  }

  clearRange({ begin, end }: KeyRange): void {
    const { calls } = this.#library;
    calls.fdb_transaction_clear_range(this.#tx, begin, begin.length, end, end.length);
  }

  add(key: Bytes, operand: Bytes): void {
    this.#mutate(mutations.add, key, operand);
  }

  setStamped(prefix: Bytes, suffix: Bytes, value: Bytes): void {
    const key = new Uint8Array(prefix.length + stampBytes + suffix.length + offsetBytes);
    key.set(prefix);
    key.set(suffix, prefix.length + stampBytes);
    viewOf(key).setUint32(key.length - offsetBytes, prefix.length, true);
    this.#mutate(mutations.setVersionstampedKey, key, value);
  }

  #mutate(mutation: number, key: Bytes, operand: Bytes): void {
    const { calls } = this.#library;
    calls.fdb_transaction_atomic_op(this.#tx, key, key.length, operand, operand.length, mutation);
  }

  commit(): Promise<void> {
    const future = this.#library.calls.fdb_transaction_commit(this.#tx);
    return this.#futures.settle(future, this.#reads === "read" ? "commit" : "putOff", () => {});
  }

  committedVersion(): bigint {
    const { calls, check } = this.#library;
    check(calls.fdb_transaction_get_committed_version(this.#tx, version));
    return version[0]!;
  }

  async conflictingKey(): Promise<Bytes | undefined> {
    const range = { begin: conflictingKeys, end: conflictingKeysEnd };
    const { pairs } = await this.getRange(range, { limit: 1, bytesMax: 0, reverse: false });
    return pairs[0]?.key.subarray(conflictingKeys.length);
  }

  onError(code: number): Promise<void> {
    const future = this.#library.calls.fdb_transaction_on_error(this.#tx, code);
    return this.#futures.settle(future, "commit", () => {});
  }

  cancel(): void {
    if (!this.#isReleased) this.#library.calls.fdb_transaction_cancel(this.#tx);
  }

  release(): void {
    if (!this.#isReleased) this.#library.calls.fdb_transaction_destroy(this.#tx);
    this.#isReleased = true;
  }
}
