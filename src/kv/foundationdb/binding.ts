/**
 * Opens the FoundationDB engine and binds it to the package `foundationdb`. Only this file
 * touches the package, and only when a store on FoundationDB is chosen, because the package
 * needs a native library on the machine.
 *
 * The package starts the network of the client and watches keys. Reads and writes go to the client
 * directly (`native.ts`). Both have global state, so only one thread of a process may use them.
 *
 * What is wrong with the cluster file is said plainly before the package reads it.
 */

import type { Bytes, Engine, Transaction } from "../engine.ts";
import type { ClientDatabase } from "./client.ts";
import type { BackupPace } from "./backup.ts";
import { formatKey, restoringKey } from "./changes.ts";
import { type EngineHost, FoundationdbEngine } from "./engine.ts";
import { openFutures } from "./futures.ts";
import { createNativeTransaction, openLibrary } from "./native.ts";
import { type RestoreParts, restorePieces } from "./pieces.ts";
import { viewOf } from "../slab.ts";

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

/** The newest API version that the package knows; any client library from 7.2 on speaks it. */
const apiVersion = 720;
/**
 * What builds store in a cluster. It grows when an earlier build must not write there any more.
 * 8: leases have no ends; what earlier builds stored is read as it is.
 */
const storeFormat = 8;
const prefixBytesMax = 4;
/** Long enough for a cluster that is being started at the same time. */
const openMsMax = 10_000;
/**
 * Transactions that begin together share one request for a version here. The client would wait for
 * more of them, for half of the time that such a request takes.
 */
const network = { knob: "grv_batch_timeout=0" };
let isNetworkSet = false;
/** How many databases this process has open. */
let openDatabases = 0;

/**
 * Opens the store on a cluster.
 * @throws {Error} with a message for people: no cluster file, no client library, or no answer
 * from the cluster within ten seconds.
 */
export async function openFoundationdbEngine(options: FoundationdbOptions): Promise<Engine> {
  const engine = await openReached(options);
  const refusal = await engine.transact(enterStore);
  if (refusal === undefined) return engine;
  await engine.close();
  throw new Error(refusal);
}

/** Notes the format. Returns why this build must not use the store, if so. */
export async function enterStore(tx: Transaction): Promise<string | undefined> {
  if (await tx.get(restoringKey) !== undefined) {
    return "A restore into this cluster is running, or was cut off: run `daybook restore` again";
  }
  const stored = await tx.get(formatKey);
  const format = stored === undefined ? 0 : viewOf(stored).getUint32(0, true);
  if (format > storeFormat) {
    return `This cluster has format ${format}. This build knows formats up to ${storeFormat}: ` +
      "install the newer build on this node too";
  }
  if (format === storeFormat) return undefined;
  const bytes = new Uint8Array(4);
  viewOf(bytes).setUint32(0, storeFormat, true);
  tx.set(formatKey, bytes);
  return undefined;
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
  const database = bindDatabase(fdb, openDatabase(fdb, clusterFile), clusterFile);
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
    // The network starts with the first database of the process.
    if (!isNetworkSet) fdb.configNetwork(network);
    isNetworkSet = true;
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

function bindDatabase(fdb: Package, database: Database, clusterFile: string): ClientDatabase {
  const library = openLibrary(nativeFile());
  const { calls, check } = library;
  const address = new BigUint64Array(1);
  check(calls.fdb_create_database(new TextEncoder().encode(`${clusterFile}\0`), address));
  const native = { address: address[0]!, library, futures: openFutures(library) };
  return {
    createTransaction: () => createNativeTransaction(native),
    createWatching() {
      const tx = database.rawCreateTransaction();
      return {
        watch: (key) => tx.watch(key as unknown as NodeBuffer, { throwAllErrors: false }),
        commit: () => tx.rawCommit(),
        cancel: () => tx.rawCancel(),
      };
    },
    close() {
      calls.fdb_database_destroy(native.address);
      closeDatabase(fdb, database);
    },
  };
}

/** The native part takes any byte array; only its types demand a Buffer. */
type NodeBuffer = Parameters<ReturnType<Database["rawCreateTransaction"]>["watch"]>[0];

/** Of the package, for this platform. */
function nativeFile(): URL {
  const { os, arch } = Deno.build;
  const platform = `${os}-${arch === "aarch64" ? "arm64" : "x64"}`;
  const place = `prebuilds/${platform}/node.napi.node`;
  return new URL(place, import.meta.resolve("foundationdb/package.json"));
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
