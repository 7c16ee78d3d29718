/**
 * What a world has left in its store, and when each record came and went. It is read from every
 * value that a key ever had, using nothing of the product but its keys and encodings.
 */

import { createHash } from "node:crypto";
import type { ErrorRecord } from "../../src/domain/error_record.ts";
import type { StoredEvent } from "../../src/domain/event.ts";
import type { WaitingEntry } from "../../src/domain/reaction/outbox_entry.ts";
import { bytesOf, textOf } from "../../src/kv/byte_text.ts";
import type { Bytes, KeyRange } from "../../src/kv/engine.ts";
import { unpack } from "../../src/kv/tuple.ts";
import { decodeRecord } from "../../src/store/json_record.ts";
import { keys } from "../../src/store/keys.ts";
import type { SagaRecord } from "../../src/store/sagas/sagas.ts";
import type { ScheduleRecord } from "../../src/store/reactions/schedules.ts";
import {
  decodeHead,
  decodeSegment,
  decodeTail,
  tailOf,
} from "../../src/store/streams/stream_head.ts";
import { TENANT } from "./founding.ts";
import type { SimulatedStore } from "./simulated_store.ts";
import type { CommitNote, EndedWorld } from "./world.ts";

/** An event with its position in its stream and in time. */
export interface Placed {
  readonly event: StoredEvent;
  readonly index: number;
  /** The event as it is stored, and its chain hash. */
  readonly raw: string;
  readonly hash: string;
  /** Version of the commit that wrote it. */
  readonly version: number;
  readonly commit: CommitNote;
}

/** A scheduled event, from the commit that made it to the one that ended it. */
export interface ScheduleLife {
  readonly record: ScheduleRecord;
  readonly fromVersion: number;
  /** Undefined while it waits. */
  readonly toVersion: number | undefined;
}

/** A saga as each commit left it. */
export interface SagaLife {
  readonly id: string;
  readonly states: readonly { readonly version: number; readonly record: SagaRecord }[];
}

export interface Evidence {
  readonly world: EndedWorld;
  /** In commit order; those of one commit by stream and index. */
  readonly events: readonly Placed[];
  readonly streams: ReadonlyMap<string, readonly Placed[]>;
  readonly schedules: ReadonlyMap<string, ScheduleLife>;
  readonly sagas: ReadonlyMap<string, SagaLife>;
  readonly errors: readonly { readonly record: ErrorRecord; readonly version: number }[];
  /** Outbox entries that are no longer tried, with stream and index of their event. */
  readonly parked: readonly { readonly place: string; readonly waiting: WaitingEntry }[];
  /** Tries of all outbox entries together. */
  readonly retries: number;
  /** Faults of the streams themselves. */
  readonly faults: readonly string[];
}

export function gatherEvidence(world: EndedWorld): Evidence {
  const { store } = world;
  const faults: string[] = [];
  const streams = readStreams(world, faults);
  const events = [...streams.values()].flat().sort((a, b) => a.version - b.version);
  return {
    world,
    events,
    streams,
    schedules: readSchedules(store),
    sagas: readSagas(store),
    errors: readErrors(store),
    parked: readParked(store),
    retries: countRetries(store),
    faults,
  };
}

/** `order:a 000000000003`, the way events and errors name the place of an event. */
export function placeName(key: string, streamId: string): string {
  return `${key} ${streamId}`;
}

export function nameOf({ event, index }: Placed): string {
  return placeName(event.key, streamIdOf(index));
}

export function streamIdOf(index: number): string {
  return String(index).padStart(12, "0");
}

function readStreams(world: EndedWorld, faults: string[]): Map<string, Placed[]> {
  const { store, commits } = world;
  const streams = new Map<string, Placed[]>();
  for (const { key } of store.pairsWithin(keys.allAggregates(TENANT.number))) {
    const [type, id] = unpack(key).slice(-2) as [string, string];
    const stream = `${type}:${id}`;
    const heads = store.history(textOf(keys.head(TENANT.number, stream)));
    const segments = store.pairsWithin(keys.segments(TENANT.number, stream));
    const newest = heads.at(-1)?.value;
    const held = decodeTail(tailOf(newest, decodeHead(newest)));
    const stored = [...segments.flatMap(({ value }) => decodeSegment(value)), ...held];
    const placed: Placed[] = [];
    let tip = "";
    for (const { version, value } of heads) {
      const head = decodeHead(value);
      for (let index = placed.length; index < head.length; index++) {
        const { raw, hash } = stored[index]!;
        tip = createHash("sha256").update(tip).update(raw).digest("hex");
        if (hash !== tip) faults.push(`${stream} ${index}: the chain is broken`);
        const commit = commits.get(version)!;
        placed.push({ event: JSON.parse(raw), index, raw, hash: tip, version, commit });
      }
      if (head.tip !== tip) faults.push(`${stream}: its head has another hash than its events`);
    }
    if (stored.length !== placed.length) faults.push(`${stream}: events beyond its head`);
    streams.set(stream, placed);
  }
  return streams;
}

/** Each key that ever was in the range: the last part of its name and all its values. */
function* livesWithin(store: SimulatedStore, range: KeyRange) {
  for (const text of store.keysWithin(range)) {
    yield { id: unpack(bytesOf(text)).at(-1) as string, versions: store.history(text) };
  }
}

function readSchedules(store: SimulatedStore): Map<string, ScheduleLife> {
  const lives = new Map<string, ScheduleLife>();
  for (const { id, versions } of livesWithin(store, keys.schedules(TENANT.number))) {
    const { version: fromVersion, value } = versions[0]!;
    // Scheduled and cancelled by one commit.
    if (value === undefined) continue;
    const last = versions.at(-1)!;
    const toVersion = last.value === undefined ? last.version : undefined;
    lives.set(id, { record: decodeRecord<ScheduleRecord>(value), fromVersion, toVersion });
  }
  return lives;
}

function readSagas(store: SimulatedStore): Map<string, SagaLife> {
  const { begin } = keys.sagaList(TENANT.number, "", "");
  // Saga records lie right before the saga lists.
  const first = keys.saga(TENANT.number, "");
  const lives = new Map<string, SagaLife>();
  for (const { id, versions } of livesWithin(store, { begin: first, end: begin })) {
    const states = versions.map(({ version, value }) => ({
      version,
      record: decodeRecord<SagaRecord>(value!),
    }));
    lives.set(id, { id, states });
  }
  return lives;
}

function readErrors(store: SimulatedStore) {
  return [...livesWithin(store, keys.errorRecords(TENANT.number))].map(({ versions }) => ({
    record: decodeRecord<ErrorRecord>(versions[0]!.value!),
    version: versions[0]!.version,
  }));
}

function readParked(store: SimulatedStore) {
  return store.pairsWithin(keys.parkeds()).map(({ key, value }) => {
    const [stream, index] = unpack(unpack(key).at(-1) as Bytes).slice(-3) as [string, number];
    return {
      place: placeName(stream, streamIdOf(index)),
      waiting: decodeRecord<WaitingEntry>(value),
    };
  });
}

function countRetries(store: SimulatedStore): number {
  let retries = 0;
  const range = { begin: keys.outboxes(0).begin, end: keys.outboxSignal() };
  for (const text of store.keysWithin(range)) {
    for (const { value } of store.history(text)) {
      if (value !== undefined && decodeRecord<WaitingEntry>(value).tries > 0) retries++;
    }
  }
  return retries;
}
