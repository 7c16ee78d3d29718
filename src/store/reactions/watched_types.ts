/**
 * The event and aggregate types that something waits for in an environment. They are event types
 * that cancel scheduled events, event types that sagas are shown, and aggregate types that
 * projections read. Every write reads them, guarded, so nothing that is added
 * here misses a write that commits later. The types that cancel and those that sagas are shown
 * only grow, so that what is pending under an older spec still gets its events.
 *
 * Every write reads the list, and each addition writes it anew. So a deploy is refused if the list
 * could become too long, by the deploy itself or by writes under its spec. A deploy that adds
 * nothing never is, and neither is a write: what writes add is what their spec may name.
 */

import { createHash } from "node:crypto";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { keys } from "../keys.ts";
import { clearLargeValue, setLargeValue, wholeValue } from "../large_value.ts";
import { type Pieces, runWithin, type Steps } from "../../domain/fairness/pieces.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";
import { limits } from "../../domain/limits.ts";
import { type Texts, TextSet } from "../../domain/lookup/text_map.ts";
import type { Violation } from "../../domain/refusal.ts";
import { eventTypesOf } from "../../domain/saga/definition.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";

export interface WatchedTypes {
  /** `<aggregate_type>.<event_type>` that some `cancel_on` has named. */
  readonly cancels: Texts;
  /** `<aggregate_type>.<event_type>` that sagas are shown. */
  readonly sagas: Texts;
  /** Aggregate types that projections read: their commits wake the upkeep. */
  readonly logged: ReadonlySet<string>;
  /** Whether the log of the time before the feed is being filled in (`feed/fill.ts`). */
  readonly isFilling: boolean;
}

export const NOTHING_WATCHED: WatchedTypes = {
  cancels: new Set(),
  sagas: new Set(),
  logged: new Set(),
  isFilling: false,
};

/** Reads the watched types. Those read before have the same hash, and are the same object. */
export interface WatchedTypesReader {
  read(tx: Pick<ReadTransaction, "get" | "getRange">, tenant: number): Promise<WatchedTypes>;
}

const HASH_BYTES = 16;
/** Environments whose types are kept in memory. */
const KNOWN_MAX = 256;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function openWatchedTypes(): WatchedTypesReader {
  const known = new Map<number, { readonly hash: string; readonly watched: WatchedTypes }>();

  async function load(
    tx: Pick<ReadTransaction, "get" | "getRange">,
    tenant: number,
    hash: string,
  ): Promise<WatchedTypes> {
    const before = known.get(tenant);
    if (before?.hash === hash) return before.watched;
    const watched = await readDocument(tx, tenant);
    // Readers that wait for the document at the same time get the same object.
    const other = known.get(tenant);
    if (other?.hash === hash) return other.watched;
    known.delete(tenant);
    known.set(tenant, { hash, watched });
    if (known.size > KNOWN_MAX) known.delete(known.keys().next().value!);
    return watched;
  }

  return {
    async read(tx, tenant) {
      const hash = await tx.get(keys.watchedTypesHash(tenant));
      return hash === undefined ? NOTHING_WATCHED : await load(tx, tenant, hash.toHex());
    },
  };
}

/**
 * Adds to the watched types, and returns the result. Writes nothing if all of them are there.
 * The caller has read `before` in the same transaction.
 */
export function watchTypes(
  tx: Transaction,
  tenant: number,
  before: WatchedTypes,
  more: { readonly [Part in Exclude<keyof WatchedTypes, "isFilling">]?: Iterable<string> },
): WatchedTypes {
  const after: WatchedTypes = {
    ...before,
    cancels: withMore(before.cancels, more.cancels),
    sagas: withMore(before.sagas, more.sagas),
    logged: before.logged.union(new Set(more.logged)),
  };
  if (count(after) === count(before)) return before;
  storeDocument(tx, tenant, after);
  return after;
}

/** The same set if it has all of them already. */
function withMore(before: Texts, more: Iterable<string> = []): Texts {
  let after: TextSet | undefined;
  for (const name of more) {
    if (before.has(name)) continue;
    after ??= new TextSet(before);
    after.add(name);
  }
  return after ?? before;
}

/**
 * Sets which commits wake the upkeep of projections. Unlike the rest, this may shrink.
 * The caller has read `before` in the same transaction.
 */
export function setLoggedTypes(
  tx: Transaction,
  tenant: number,
  before: WatchedTypes,
  logged: ReadonlySet<string>,
): void {
  if (before.logged.symmetricDifference(logged).size === 0) return;
  storeDocument(tx, tenant, { ...before, logged });
}

/** Says to all writes that commit later whether the log is being filled in. */
export async function setFilling(
  tx: Transaction,
  tenant: number,
  isFilling: boolean,
): Promise<void> {
  const before = await openWatchedTypes().read(tx, tenant);
  if (before.isFilling !== isFilling) storeDocument(tx, tenant, { ...before, isFilling });
}

function storeDocument(tx: Transaction, tenant: number, after: WatchedTypes): void {
  const document = encodeDocument(after);
  const key = keys.watchedTypes(tenant);
  clearLargeValue(tx, tenant, key);
  setLargeValue(tx, tenant, key, document);
  tx.set(keys.watchedTypesHash(tenant), hashOf(document));
}

function count({ cancels, sagas, logged }: WatchedTypes): number {
  return cancels.size + sagas.size + logged.size;
}

function encodeDocument({ cancels, sagas, logged, isFilling }: WatchedTypes): Bytes {
  const document = {
    cancels: [...cancels].sort(),
    sagas: [...sagas].sort(),
    logged: [...logged].sort(),
    ...(isFilling && { isFilling }),
  };
  return encoder.encode(JSON.stringify(document));
}

async function readDocument(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
): Promise<WatchedTypes> {
  const key = keys.watchedTypes(tenant);
  const value = await tx.get(key);
  if (value === undefined) return NOTHING_WATCHED;
  const text = decoder.decode(await wholeValue(tx, tenant, key, value));
  // Documents from before there were readers of the log have no part for them.
  const { cancels, sagas, logged = [], isFilling = false } = parseJson(text) as
    & Record<"cancels" | "sagas", string[]>
    & { readonly logged?: string[]; readonly isFilling?: boolean };
  return {
    cancels: new TextSet(cancels),
    sagas: new TextSet(sagas),
    logged: new Set(logged),
    isFilling,
  };
}

function hashOf(document: Bytes): Bytes {
  const digest = createHash("sha256").update(document).digest();
  return Uint8Array.from(digest.subarray(0, HASH_BYTES));
}

/** What a spec watches, each as `<aggregate_type>.<event_type>`. */
export interface SpecNames {
  readonly sagas: Texts;
  readonly cancels: Texts;
  /** What writes under the spec before may add in any case. */
  readonly cancelsBefore: Texts;
}

/** Sagas may name the same event types many thousand times. */
export function* specNamesSteps(
  { sagas, watched: cancels }: CompiledSpec,
  before?: CompiledSpec,
): Steps<SpecNames> {
  const shown = new TextSet();
  for (const saga of sagas.values()) {
    yield;
    for (const { aggregateType, eventType } of eventTypesOf(saga)) {
      yield;
      shown.add(`${aggregateType}.${eventType}`);
    }
  }
  return { sagas: shown, cancels, cancelsBefore: before?.watched ?? new Set() };
}

/** What an environment watches before a deploy, and what forbids the deploy: empty if nothing. */
export interface WatchedRoom {
  readonly watched: WatchedTypes;
  readonly violations: readonly Violation[];
}

/** Guarded: the same transaction may then add the names by {@link watchTypes}. */
export async function readWatchedRoom(
  tx: Transaction,
  tenant: number,
  names: SpecNames,
  pieces: Pieces,
): Promise<WatchedRoom> {
  if (names.sagas.size + names.cancels.size === 0) {
    return { watched: NOTHING_WATCHED, violations: [] };
  }
  const watched = await openWatchedTypes().read(tx, tenant);
  return { watched, violations: await runWithin(pieces, tooManyNamesSteps(watched, names)) };
}

function* tooManyNamesSteps(watched: WatchedTypes, names: SpecNames): Steps<Violation[]> {
  const shown = yield* countNewSteps(names.sagas, watched.sagas);
  const cancels = yield* countNewSteps(names.cancels, watched.cancels);
  const count = watched.sagas.size + watched.cancels.size;
  const added = shown + cancels;
  const max = limits.watchedNamesMax;
  if (count + added <= max) return [];
  if (shown === 0) {
    const unexpected = yield* countNewSteps(names.cancels, watched.cancels, names.cancelsBefore);
    if (unexpected === 0) return [];
  }
  return [{
    rule: "too_many",
    path: shown > 0 ? "modules.sagas" : "aggregate_types",
    message: `Sagas and cancel_on rules of an environment name at most ${max} event types, over ` +
      `all its specs; so far they name ${count}, and this spec adds ${added}.`,
    hint: "Name fewer event types, or those that earlier specs have named. What was named once " +
      "counts for good, because pending work may still wait for it.",
  }];
}

function* countNewSteps(names: Texts, ...known: readonly Texts[]): Steps<number> {
  let count = 0;
  for (const name of names) {
    yield;
    if (!known.some((each) => each.has(name))) count++;
  }
  return count;
}
