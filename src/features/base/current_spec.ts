/**
 * Caches the compiled current spec of each tenant, bound to the blobs that it calls.
 *
 * A deploy on any node, or a new version of a called blob, changes one followed key. Every node
 * then asks the store for the current spec and its blobs; it does not recompile a spec that is
 * still current. While the key cannot be followed, each request asks the store.
 */

import { assert } from "../../domain/assert.ts";
import { indexListeners } from "../../domain/listener/patterns.ts";
import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { runAtOnce, runInPieces, type Steps } from "../../domain/fairness/pieces.ts";
import type { JsonObject } from "../../domain/json.ts";
import { parseJsonSteps } from "../../domain/parse_json_steps.ts";
import { createRecentMap } from "../../domain/recent_map.ts";
import { prepareSpecSteps, type SpecCompilation } from "../../domain/spec/compile.ts";
import type { SpecOrigin } from "../../domain/spec/deployment.ts";
import { bindBlobs, isSameBinding } from "../../domain/spec/bind_blobs.ts";
import {
  type CompiledAggregateType,
  type CompiledSpec,
  refuseAggregateType,
} from "../../domain/spec/compiled.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { findBlobs } from "../../store/blobs.ts";
import { keys } from "../../store/keys.ts";
import { isCurrentSpec, readCurrentHash, readCurrentSpecText } from "../../store/specs.ts";
import { followVersion } from "./follow_version.ts";
import {
  explainIdentifier,
  parseIdentifier,
  type StreamKey,
  streamKey,
} from "../../domain/identifier.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { TextMap, TextSet } from "../../domain/lookup/text_map.ts";

/** Approximate memory of all compiled specs, and the size counted for the smallest one. */
const SPECS_BYTES_MAX = 128 * 1024 * 1024;
const SPEC_BYTES_MIN = 512 * 1024;
/**
 * A spec above the first size is kept apart, so that a few such take the place of no others. The
 * second is the memory of those, or of the newest alone if that needs more.
 */
const LARGE_SPEC_BYTES_MIN = 32 * 1024 * 1024;
const LARGE_SPECS_BYTES_MAX = 256 * 1024 * 1024;
/** Documents of this many characters may take longer than 30 ms to compile. */
const LONG_DOCUMENT_MIN = 64 * 1024;
/** Approximate sizes of what is compiled: an event type, an object in a definition, and a path. */
const EVENT_TYPE_BYTES = 30_000;
const OBJECT_BYTES = 600;
const PATH_BYTES = 950;
/** How many documents of one environment may wait to be compiled for a deploy. */
export const WAITING_SPECS_MAX = 64;
const [OBJECT_BEGIN, QUOTE, STATE_ROOT, EVENT_ROOT] = Array.from(
  '{"@$',
  (char) => char.charCodeAt(0),
);

/** The spec of an environment before its first deploy: it has no types. */
export const EMPTY_SPEC: CompiledSpec = {
  hash: "",
  document: {},
  aggregateTypes: new TextMap(),
  agentTypes: new TextSet(),
  targetTypes: new TextSet(),
  singletons: new TextSet(),
  watched: new TextSet(),
  sagas: new TextMap(),
  listeners: new TextMap(),
  listenersOf: indexListeners([]),
  setsOff: false,
  moduleCalls: [],
  blobs: new TextMap(),
};

export interface SpecCache {
  /** The current spec of a tenant, by its number; {@link EMPTY_SPEC} before the first deploy. */
  current(tenant: number): CompiledSpec | Promise<CompiledSpec>;
  /** Call when a deploy has just committed, so that the next request sees it. */
  forget(tenant: number): void;
  /** Call it before `learn` for a document that may be long: otherwise that measures it at once. */
  measure(document: JsonObject, text: string): Promise<void>;
  /**
   * Keeps a spec compiled for a tenant, so that it is not compiled again if it turns out
   * current.
   */
  learn(tenant: number, spec: CompiledSpec): void;
  /** The compiled spec with this hash, if it is the latest one known for the tenant. */
  known(tenant: number, hash: string): CompiledSpec | undefined;
  /**
   * Checks and compiles a document in time slices. One at a time, in turns of the tenants.
   * Undefined at once if {@link WAITING_SPECS_MAX} documents of the tenant wait.
   */
  compile(tenant: number, document: unknown): Promise<SpecCompilation | undefined>;
  /** Resolves when no work of the cache is running. */
  close(): Promise<void>;
}

interface Known {
  readonly spec: CompiledSpec;
  readonly bytes: number;
  /** False once a deploy, perhaps of another tenant, may have replaced it. */
  isCurrent: boolean;
}

export function openSpecCache(engine: Engine, host: Host): SpecCache {
  const ordinary = createRecentMap<number, Known>(SPECS_BYTES_MAX, ({ bytes }) => bytes);
  const large = createRecentMap<number, Known>(LARGE_SPECS_BYTES_MAX, ({ bytes }) => bytes);
  const find = (tenant: number) => ordinary.get(tenant) ?? large.get(tenant);
  /**
   * Loading current specs does not wait for specs that are being deployed, nor short ones for long
   * ones: after a start, all environments with work left load theirs.
   */
  const [shortLoads, longLoads, checks] = [openTurns(), openTurns(), openTurns()];
  const loading = new Map<number, Promise<CompiledSpec>>();
  /** The memory of documents whose text was looked at. */
  const measured = new WeakMap<JsonObject, number>();
  const follower = followVersion(engine, host, keys.specVersion(), () => {
    for (const kept of [ordinary, large]) {
      for (const known of kept.values()) known.isCurrent = false;
    }
    // Loads under way may already be outdated: no caller may join them.
    loading.clear();
  });

  async function load(tenant: number): Promise<CompiledSpec> {
    const known = find(tenant)?.spec;
    const read = await engine.snapshot(async (tx) => {
      const hash = await readCurrentHash(tx, tenant);
      return hash === known?.hash ? known : await readCurrentSpecText(tx, tenant);
    });
    if (read === undefined) return EMPTY_SPEC;
    if (!("text" in read)) return await bind(tenant, read);
    const { text, spec_hash: hash } = read;
    const loads = text.length < LONG_DOCUMENT_MIN ? shortLoads : longLoads;
    const result = await loads.run(tenant, async () => {
      const document = await runInPieces(parseJsonSteps(text), host);
      await measure(document, text);
      return await compileInPieces(document, "store");
    });
    assert(result.ok, "a deployed spec compiles");
    // The stored hash names the spec on all nodes, even on one whose build computes another hash.
    return await bind(tenant, { ...result.spec, hash });
  }

  async function compileInPieces(
    document: unknown,
    origin: SpecOrigin,
  ): Promise<SpecCompilation> {
    return await runInPieces(prepareSpecSteps(document, origin), host);
  }

  async function measure(document: JsonObject, text: string): Promise<void> {
    measured.set(document, await runInPieces(measureTextSteps(text), host));
  }

  /** Binds the current blobs, which may be newer than the known ones. */
  async function bind(tenant: number, spec: CompiledSpec): Promise<CompiledSpec> {
    if (spec.moduleCalls.length === 0) return spec;
    const references = spec.moduleCalls.map(({ blob }) => blob);
    const bound = bindBlobs(
      spec,
      await engine.snapshot((tx) => findBlobs(tx, tenant, references)),
    );
    return isSameBinding(spec, bound) ? spec : bound;
  }

  function current(tenant: number): CompiledSpec | Promise<CompiledSpec> {
    const known = ordinary.get(tenant) ?? large.get(tenant);
    if (known?.isCurrent && follower.isFresh(host.nowMs())) return known.spec;
    const pending = loading.get(tenant);
    if (pending !== undefined) return pending;
    const started = load(tenant);
    loading.set(tenant, started);
    started.then((spec) => {
      // A deploy during the load removed it from the map; its spec may then be the old one.
      if (loading.get(tenant) === started) keep(tenant, spec, true);
    }).catch(() => {}).finally(() => {
      if (loading.get(tenant) === started) loading.delete(tenant);
    });
    return started;
  }

  function keep(tenant: number, spec: CompiledSpec, isCurrent: boolean): void {
    const known = find(tenant);
    const bytes = known?.spec === spec ? known.bytes : measureSpec(spec, measured);
    const [place, other] = bytes < LARGE_SPEC_BYTES_MIN ? [ordinary, large] : [large, ordinary];
    other.delete(tenant);
    place.set(tenant, { spec, bytes, isCurrent });
  }

  function forget(tenant: number): void {
    const known = find(tenant);
    if (known !== undefined) known.isCurrent = false;
    loading.delete(tenant);
  }

  function learn(tenant: number, spec: CompiledSpec): void {
    keep(tenant, spec, false);
    loading.delete(tenant);
  }

  function known(tenant: number, hash: string): CompiledSpec | undefined {
    const spec = find(tenant)?.spec;
    return spec?.hash === hash ? spec : undefined;
  }

  async function compile(
    tenant: number,
    document: unknown,
  ): Promise<SpecCompilation | undefined> {
    if (checks.waiting(tenant) >= WAITING_SPECS_MAX) return undefined;
    return await checks.run(tenant, () => compileInPieces(document, "deploy"));
  }

  return { current, forget, measure, learn, known, compile, close: follower.close };
}

/** Approximate memory of a spec. */
function measureSpec(
  { document, aggregateTypes }: CompiledSpec,
  measured: WeakMap<JsonObject, number>,
): number {
  let bytes = measured.get(document) ?? runAtOnce(measureTextSteps(JSON.stringify(document)));
  for (const { events } of aggregateTypes.values()) bytes += EVENT_TYPE_BYTES * events.size;
  return Math.max(SPEC_BYTES_MIN, bytes);
}

/** Characters of a text that are looked at in one step. */
const CHARACTERS_PER_STEP = 32 * 1024;

/** The memory of a document. Its text tells how many objects and paths it has at most. */
function* measureTextSteps(text: string): Steps<number> {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    if (at % CHARACTERS_PER_STEP === 0) yield;
    const code = text.charCodeAt(at);
    if (code === OBJECT_BEGIN) bytes += OBJECT_BYTES;
    if (code !== QUOTE) continue;
    const next = text.charCodeAt(at + 1);
    if (next === STATE_ROOT || next === EVENT_ROOT) bytes += PATH_BYTES;
  }
  return bytes;
}

/**
 * Runs jobs one after the other, so that many jobs take no more of a turn than one. Tenants take
 * turns, however many jobs each of them has waiting.
 */
function openTurns() {
  const line = openFairLine<number>();
  let isBusy = false;

  function goOn(): void {
    const start = line.take(() => true);
    isBusy = start !== undefined;
    start?.();
  }

  return {
    waiting: line.count,
    run<T>(tenant: number, job: () => Promise<T>): Promise<T> {
      const { promise, resolve } = Promise.withResolvers<T>();
      line.push(tenant, () => {
        const result = job();
        result.then(goOn, goOn);
        resolve(result);
      });
      if (!isBusy) goOn();
      return promise;
    },
  };
}

/**
 * Whether states folded under `spec` are still what reads ask for. In a transaction that writes,
 * the read is guarded: it conflicts if a deploy or a new version of a blob commits meanwhile.
 */
export async function isCurrentFold(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  spec: CompiledSpec,
): Promise<boolean> {
  if (!await isCurrentSpec(tx, tenant, spec.hash)) return false;
  if (spec.moduleCalls.length === 0) return true;
  const found = await findBlobs(tx, tenant, spec.moduleCalls.map(({ blob }) => blob));
  return isSameBinding(spec, bindBlobs(spec, found));
}

/** The stream that a request names, with its type. */
export interface LocatedStream {
  readonly type: CompiledAggregateType;
  readonly id: string;
  readonly key: StreamKey;
  /** Singletons exist even without events. */
  readonly singleton: boolean;
}

/** Finds the stream of a read in its spec: 404 for an unknown type, 422 for a malformed id. */
export function locateStream(
  spec: CompiledSpec,
  aggregateType: string,
  id: string,
): Outcome<LocatedStream> {
  const type = spec.aggregateTypes.get(aggregateType);
  if (type === undefined) return refuseAggregateType(spec, aggregateType);
  const identifier = parseIdentifier(id, spec.singletons);
  if (identifier === undefined) {
    const message = explainIdentifier(id);
    return refuse({ kind: "identifier_invalid", path: "key", message });
  }
  const key = streamKey(aggregateType, identifier.value);
  const singleton = identifier.kind === "singleton";
  return accept({ type, id: identifier.value, key, singleton });
}
