/**
 * Opens the FoundationDB engine and binds it to the package `foundationdb`. Only this file
 * touches the package, and only when a store on FoundationDB is chosen, because the package
 * needs a native library on the machine.
 *
 * The package accepts strings as keys and values, but those share one buffer inside it and can
 * abort the process. So only byte arrays are passed to it here. Its native part has global
 * state, so only one thread of a process may use it.
 *
 * What is wrong with the cluster file is said plainly before the package reads it.
 */

import type { Bytes, Engine, KeyRange } from "../engine.ts";
import type {
  ClientDatabase,
  ClientPage,
  ClientTransaction,
  ClientWatch,
  PageSize,
} from "./client.ts";
import type { BackupPace } from "./backup.ts";
import { restoringKey } from "./changes.ts";
import { type EngineHost, FoundationdbEngine } from "./engine.ts";
import { type RestoreParts, restorePieces } from "./pieces.ts";
import { viewOf } from "../slab.ts";
import { stampBytes } from "../transaction/buffered_transaction.ts";

export interface FoundationdbOptions {
  /** Undefined for FoundationDB's own default. */
  readonly clusterFile?: string;
  readonly host: EngineHost;
  /** Prefix of all keys of the engine: at most 4 bytes, or the longest keys would not fit. */
  readonly prefix?: Bytes;
  readonly backupPace?: BackupPace;
}

type Package = typeof import("foundationdb");
type Database = ReturnType<Package["open"]>;
type NativeTransaction = ReturnType<Database["rawCreateTransaction"]>;

/** The newest API version that the package knows; any client library from 7.2 on speaks it. */
const apiVersion = 720;
const prefixBytesMax = 4;
/** Long enough for a cluster that is being started at the same time. */
const openMsMax = 10_000;
/** A stamped key is followed by the offset of the stamp in it. */
const offsetBytes = 4;
/** How many databases this process has open. */
let openDatabases = 0;
const conflictingKeys = new TextEncoder().encode("  /transaction/conflicting_keys/");
conflictingKeys.fill(0xff, 0, 2);
const metadataVersionKey = new TextEncoder().encode(" /metadataVersion");
metadataVersionKey[0] = 0xff;
/** The only value that the client takes: it becomes the stamp of the commit. */
const metadataVersionOperand = new Uint8Array(14);

/**
 * Opens the store on a cluster.
 * @throws {Error} with a message for people: no cluster file, no client library, or no answer
 * from the cluster within ten seconds.
 */
export async function openFoundationdbEngine(options: FoundationdbOptions): Promise<Engine> {
  const engine = await openReached(options);
  if (await engine.snapshot((tx) => tx.get(restoringKey)) === undefined) return engine;
  await engine.close();
  throw new Error(
    "A restore into this cluster is running, or was cut off: run `daybook restore` again",
  );
}

/**
 * Makes the store of the pieces of a backup: see `pieces.ts`.
 * @throws {Error} also for what {@link openFoundationdbEngine} refuses.
 */
export async function restoreFoundationdbStore(
  options: FoundationdbOptions,
  pieces: AsyncIterable<Bytes>,
  wish: Pick<RestoreParts, "nowMs" | "prepare">,
): Promise<void> {
  const clusterFile = await findClusterFile(options.clusterFile);
  const engine = await openReached(options);
  try {
    await restorePieces(pieces, {
      ...wish,
      engine,
      randomBytes: (length) => options.host.randomBytes(length),
      advanceCommand: (version) => `fdbcli -C ${clusterFile} --exec "advanceversion ${version}"`,
    });
  } finally {
    await engine.close();
  }
}

async function openReached(options: FoundationdbOptions): Promise<Engine> {
  const { host, prefix, backupPace } = options;
  if (prefix !== undefined && prefix.length > prefixBytesMax) {
    throw new Error(`The prefix of all keys has ${prefix.length} bytes; ${prefixBytesMax} fit`);
  }
  const clusterFile = await findClusterFile(options.clusterFile);
  const fdb = await loadPackage();
  const database = bindDatabase(fdb, openDatabase(fdb, clusterFile));
  const engine = new FoundationdbEngine({ database, host, prefix, backupPace });
  try {
    await untilReached(engine);
  } catch (cause) {
    await engine.close();
    throw new Error(
      `The FoundationDB cluster of ${clusterFile} does not answer: ${(cause as Error).message}. ` +
        `Is it running, and configured? \`fdbcli -C ${clusterFile} --exec status\` tells more`,
      { cause },
    );
  }
  return engine;
}

async function loadPackage(): Promise<Package> {
  try {
    const fdb = await import("foundationdb");
    fdb.setAPIVersion(apiVersion);
    return fdb;
  } catch (cause) {
    const [reason] = (cause as Error).message.split("\n");
    throw new Error(
      `FoundationDB's client cannot be loaded: ${reason}. The library ` +
        "libfdb_c.so, version 7.2 or newer, must be installed on this machine: it is in the " +
        "package foundationdb-clients, https://github.com/apple/foundationdb/releases",
      { cause },
    );
  }
}

async function untilReached(engine: Engine): Promise<void> {
  const startedMs = performance.now();
  for (;;) {
    try {
      await engine.snapshot((tx) => tx.readVersion());
      return;
    } catch (error) {
      if (performance.now() - startedMs > openMsMax / 2) throw error;
    }
  }
}

function openDatabase(fdb: Package, clusterFile: string): Database {
  globalThis.removeEventListener("unload", fdb.stopNetworkSync);
  openDatabases++;
  return fdb.open(clusterFile);
}

/**
 * The package runs a thread that must end before the exit of the process tears down what it
 * uses, or the process crashes. It is stopped at unload only when no database is open: otherwise
 * waiting for it might never end.
 */
function closeDatabase(fdb: Package, database: Database): void {
  database.close();
  openDatabases--;
  if (openDatabases === 0) globalThis.addEventListener("unload", fdb.stopNetworkSync);
}

function bindDatabase(fdb: Package, database: Database): ClientDatabase {
  const { ReadYourWritesDisable, RawAccess, ReportConflictingKeys } = fdb.TransactionOptionCode;
  return {
    createTransaction(kind) {
      const native = database.rawCreateTransaction();
      if (kind === "attempt") {
        native.setOption(ReadYourWritesDisable);
        native.setOption(ReportConflictingKeys);
        // Makes room for the offset of the stamp behind a key of the largest size, and for a
        // prefix.
        native.setOption(RawAccess);
      }
      return new BoundTransaction(fdb, native);
    },
    close: () => closeDatabase(fdb, database),
  };
}

class BoundTransaction implements ClientTransaction {
  readonly #fdb: Package;
  readonly #native: NativeTransaction;
  /** Reads that guard nothing. */
  readonly #reads: NativeTransaction;

  constructor(fdb: Package, native: NativeTransaction) {
    this.#fdb = fdb;
    this.#native = native;
    this.#reads = native.snapshot();
  }

  async readVersion(): Promise<bigint> {
    return viewOf(await this.#native.getReadVersion()).getBigUint64(0);
  }

  startAt(version: bigint): void {
    const bytes = new Uint8Array(8);
    viewOf(bytes).setBigUint64(0, version);
    this.#native.setReadVersion(asBuffer(bytes));
  }

  get(key: Bytes): Promise<Bytes | undefined> {
    return this.#reads.get(asBuffer(key)).then((value) => value && bytesIn(value));
  }

  metadataVersion(): Promise<Bytes | undefined> {
    return this.get(metadataVersionKey);
  }

  touchMetadata(): void {
    const { SetVersionstampedValue } = this.#fdb.MutationType;
    const key = asBuffer(metadataVersionKey);
    this.#native.atomicOp(SetVersionstampedValue, key, asBuffer(metadataVersionOperand));
  }

  async getRange({ begin, end }: KeyRange, size: PageSize): Promise<ClientPage> {
    const { firstGreaterOrEqual } = this.#fdb.keySelector;
    const { results, more } = await this.#reads.getRangeNative(
      firstGreaterOrEqual(asBuffer(begin)),
      firstGreaterOrEqual(asBuffer(end)),
      size.limit,
      size.bytesMax,
      this.#fdb.StreamingMode.Exact,
      1,
      size.reverse,
    );
    const pairs = results.map(([key, value]) => ({ key: bytesIn(key), value: bytesIn(value) }));
    return { pairs, more };
  }

  guard({ begin, end }: KeyRange): void {
    this.#native.addReadConflictRange(asBuffer(begin), asBuffer(end));
  }

  set(key: Bytes, value: Bytes): void {
    this.#native.set(asBuffer(key), asBuffer(value));
  }

  clear(key: Bytes): void {
    this.#native.clear(asBuffer(key));
  }

  clearRange({ begin, end }: KeyRange): void {
    this.#native.clearRange(asBuffer(begin), asBuffer(end));
  }

  add(key: Bytes, operand: Bytes): void {
    this.#native.add(asBuffer(key), asBuffer(operand));
  }

  setStamped(prefix: Bytes, suffix: Bytes, value: Bytes): void {
    const key = new Uint8Array(prefix.length + stampBytes + suffix.length + offsetBytes);
    key.set(prefix);
    key.set(suffix, prefix.length + stampBytes);
    viewOf(key).setUint32(key.length - offsetBytes, prefix.length, true);
    this.#native.setVersionstampedKeyRaw(asBuffer(key), asBuffer(value));
  }

  commit(): Promise<void> {
    return this.#native.rawCommit();
  }

  async conflictingKey(): Promise<Bytes | undefined> {
    const end = Uint8Array.of(...conflictingKeys.subarray(0, -1), conflictingKeys.at(-1)! + 1);
    const { pairs } = await this.getRange({ begin: conflictingKeys, end }, {
      limit: 1,
      bytesMax: 0,
      reverse: false,
    });
    return pairs[0]?.key.subarray(conflictingKeys.length);
  }

  onError(code: number): Promise<void> {
    return this.#native.rawOnError(code);
  }

  watch(key: Bytes): ClientWatch {
    return this.#native.watch(asBuffer(key), { throwAllErrors: false });
  }

  cancel(): void {
    this.#native.rawCancel();
  }

  release(): void {
    this.#native.rawReset();
  }
}

type NodeBuffer = Parameters<NativeTransaction["setReadVersion"]>[0];

/** The native part takes any byte array; only its types demand a Buffer. */
function asBuffer(bytes: Bytes): NodeBuffer {
  return bytes as unknown as NodeBuffer;
}

/** The same bytes as a plain array, so that no layer above sees a Buffer. */
function bytesIn(buffer: Uint8Array): Bytes {
  return new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset, buffer.length);
}

/** Where FoundationDB's own tools look for the cluster file, in their order. */
const defaultPaths: readonly string[] = ["fdb.cluster", "/etc/foundationdb/fdb.cluster"];
const connection = /^[A-Za-z0-9_]+:[A-Za-z0-9]+@[^\s@,]+:\d+(:tls)?(,[^\s@,]+:\d+(:tls)?)*$/;
/** The client truncates longer paths. */
const pathBytesMax = 1000;

/**
 * The path of the cluster file.
 * @param path as configured; undefined for FoundationDB's own default.
 * @throws {Error} with a message for people when it is missing, unreadable or not a cluster
 * file.
 */
export async function findClusterFile(path: string | undefined): Promise<string> {
  for (const candidate of path === undefined ? defaultPaths : [path]) {
    let text: string;
    try {
      text = await Deno.readTextFile(candidate);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      throw new Error(`The cluster file ${candidate} cannot be read: ${(error as Error).message}`);
    }
    checkClusterFile(candidate, text);
    return candidate;
  }
  const tried = path ?? defaultPaths.join(" and ");
  throw new Error(
    `There is no FoundationDB cluster file at ${tried}. Set FDB_CLUSTER_FILE to its path, ` +
      "or start a cluster for trying things out with scripts/run_foundationdb.sh",
  );
}

function checkClusterFile(path: string, text: string): void {
  const lines = text.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  if (!connection.test(lines.join(""))) {
    throw new Error(
      `${path} is no FoundationDB cluster file: ` +
        "it should hold one line like description:id@127.0.0.1:4500",
    );
  }
  if (new TextEncoder().encode(path).length > pathBytesMax) {
    throw new Error(`The path of the cluster file is longer than ${pathBytesMax} bytes: ${path}`);
  }
}
