/**
 * An empty engine that goes away after the test, for every test that needs a store. It is
 * SQLite in a folder of its own, or what TEST_STORE names, so one suite runs on every engine:
 *
 *   sqlite               the default
 *   foundationdb         the cluster of FDB_CLUSTER_FILE, under a random prefix
 *   foundationdb_memory  the engine for FoundationDB over a client in memory
 *
 * On `foundationdb` only one test file of a process may open engines: see `one_isolate.ts`.
 */

import { join } from "node:path";
import { type Bytes, type Engine, EngineClosed, type KeyValue } from "../../src/kv/engine.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import { openFoundationdb } from "./open_foundationdb.ts";
import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { memoryDatabase } from "./memory_foundationdb.ts";

export interface TemporaryEngine {
  readonly engine: Engine;
  /** Closes the engine, if that was not done yet, and returns what was in it. */
  save(): Promise<StoreContent>;
  /** Closes the engine, if that was not done yet, and opens another on the same store. */
  reopen(): Promise<Engine>;
  /** Closes the engine, if that was not done yet, and removes its content. */
  dispose(): Promise<void>;
}

/** For SQLite these are files, because starting from files is fastest. */
export interface StoreContent {
  readonly files: readonly (readonly [name: string, bytes: Uint8Array])[];
  readonly pairs: readonly KeyValue[];
}

export interface TemporarySqlite extends TemporaryEngine {
  /** Removed by `dispose`. */
  readonly directory: string;
}

const STORE_FILE = "store.sqlite";
const NOTHING: StoreContent = { files: [], pairs: [] };
/** Everything except the markers of commits. */
const EVERYTHING = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };
const MARKERS = { begin: EVERYTHING.end, end: Uint8Array.of(0xff) };

const host = {
  nowMs: () => Date.now(),
  randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
};

/** Runs `body` with an empty engine and removes it afterwards, whatever happens. */
export async function withTemporaryEngine<T>(body: (engine: Engine) => Promise<T>): Promise<T> {
  const { engine, dispose } = await temporaryEngine();
  try {
    return await body(engine);
  } finally {
    await dispose();
  }
}

/**
 * Opens an engine that is empty, or that holds the content saved from another of its kind. Call
 * `dispose` in the end, or use {@link withTemporaryEngine}.
 */
export async function temporaryEngine(content: StoreContent = NOTHING): Promise<TemporaryEngine> {
  const store = Deno.env.get("TEST_STORE") ?? "sqlite";
  switch (store) {
    case "sqlite":
      return await temporarySqlite(content);
    case "foundationdb":
      return await temporaryFoundationdb(content);
    case "foundationdb_memory":
      return await temporaryMemory(content);
    default:
      throw new Error(`TEST_STORE: there is no engine ${store}`);
  }
}

/** The same on SQLite, whatever TEST_STORE says. */
export async function temporarySqlite(content: StoreContent = NOTHING): Promise<TemporarySqlite> {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  for (const [name, bytes] of content.files) await Deno.writeFile(join(directory, name), bytes);
  const open = () => openSqliteEngine({ path: join(directory, STORE_FILE) });
  const engine = open();
  let current = engine;
  return {
    engine,
    directory,
    async reopen() {
      await current.close();
      return current = open();
    },
    async save() {
      await current.close();
      const names = [...Deno.readDirSync(directory)].map(({ name }) => name);
      const stored = names.filter((name) => name.startsWith(STORE_FILE));
      const files = stored.map((name) => [name, Deno.readFileSync(join(directory, name))] as const);
      return { ...NOTHING, files };
    },
    async dispose() {
      await current.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** For a service that has its store to itself: it takes all work without waiting for a lease. */
export function unshared(engine: Engine): Engine {
  return wrapEngine(engine, { capabilities: { isShared: false } });
}

async function temporaryFoundationdb({ pairs }: StoreContent): Promise<TemporaryEngine> {
  const clusterFile = Deno.env.get("FDB_CLUSTER_FILE");
  if (clusterFile === undefined) {
    throw new Error("FDB_CLUSTER_FILE is not set; scripts/run_foundationdb.sh starts a cluster");
  }
  const prefix = randomPrefix();
  const open = async () => unshared(await openFoundationdb({ clusterFile, prefix, host }));
  const engine = await open();
  await fill(engine, pairs);
  let current = engine;
  const save = async () => ({ ...NOTHING, pairs: await closeAndRead(current, open) });
  return {
    engine,
    save,
    async reopen() {
      await current.close();
      return current = await open();
    },
    async dispose() {
      try {
        await clear(current);
      } catch (error) {
        if (!(error instanceof EngineClosed)) throw error;
        current = await open();
        await clear(current);
      } finally {
        await current.close();
      }
    },
  };
}

async function temporaryMemory({ pairs }: StoreContent): Promise<TemporaryEngine> {
  const database = memoryDatabase();
  const open = () => Promise.resolve(unshared(new FoundationdbEngine({ database, host })));
  const engine = await open();
  await fill(engine, pairs);
  let current = engine;
  const save = async () => ({ ...NOTHING, pairs: await closeAndRead(current, open) });
  const reopen = async () => {
    await current.close();
    return current = await open();
  };
  return { engine, save, reopen, dispose: () => current.close() };
}

async function closeAndRead(engine: Engine, open: () => Promise<Engine>): Promise<KeyValue[]> {
  await engine.close();
  const again = await open();
  try {
    return await again.snapshot((tx) => tx.getRange(EVERYTHING));
  } finally {
    await again.close();
  }
}

/** Clears the prefix first, because another test may have drawn the same one. */
async function fill(engine: Engine, pairs: readonly KeyValue[]): Promise<void> {
  await engine.transact((tx) => {
    tx.clearRange(EVERYTHING);
    for (const { key, value } of pairs) tx.set(key, value);
    return Promise.resolve();
  });
}

async function clear(engine: Engine): Promise<void> {
  await engine.transact((tx) => {
    tx.clearRange(EVERYTHING);
    tx.clearRange(MARKERS);
    return Promise.resolve();
  });
}

/** Below 0xfe, and no byte that a tuple begins with. */
function randomPrefix(): Bytes {
  const prefix = host.randomBytes(4);
  prefix[0] = 0xfd;
  return prefix;
}
