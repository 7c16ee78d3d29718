/**
 * The environment file, which carries one environment from one store to another.
 *
 * It is JSON Lines in UTF-8. A line is either a record, whose first field is `record`, or a
 * stored event, byte for byte. Nothing in it depends on an engine: no tenant numbers, no
 * segments. See docs/reference/transfer-file.md.
 */

import type { Scope, Tier } from "../access/access.ts";
import type { Environment } from "../tenant.ts";
import { limits } from "../limits.ts";
import type { Written } from "../write/write.ts";
import type { WorkKind } from "./work.ts";

export const FORMAT = "daybook-environment";
/**
 * The version that is written; all earlier ones are still read. Version 1 had no pending work,
 * version 2 no blobs, version 3 neither projections nor erasure requests, and version 4 no
 * roots of pending work.
 */
export const FORMAT_VERSION = 5;
export const FORMAT_VERSIONS_READ: readonly unknown[] = [1, 2, 3, 4, FORMAT_VERSION];
/**
 * No line that we write is longer: an event has at most 100 KB of data. Longer lines are
 * refused unread.
 */
export const LINE_BYTES_MAX = 1024 * 1024;
/** Characters of a spec document, a piece of work or a blob file that go into one line. */
export const PART_CHARACTERS = 32 * 1024;
/**
 * A spec document as stored, in UTF-8. An upload has at most 1 MB, but the stored text may
 * spell numbers out.
 */
export const SPEC_BYTES_MAX = 6 * 1024 * 1024;
/** A piece of pending work, in UTF-8. It was stored in one transaction. */
export const WORK_BYTES_MAX = limits.writeStoredBytesMax;
/** All API keys of a file become visible in one transaction. */
export const API_KEYS_MAX = 5_000;
/** How every stored event begins, which tells events from records. */
export const EVENT_START = '{"key":';

/** The first line. */
export interface HeaderRecord {
  readonly record: "header";
  readonly format: typeof FORMAT;
  readonly version: number;
  readonly instance: {
    readonly id: string;
    readonly slug: string;
    readonly tier: Tier;
    readonly created_at: string;
  };
  readonly environment: Environment;
  /** ISO 8601 UTC. */
  readonly exported_at: string;
}

/** A signing key pair of the instance. Present only if the export was asked to include the keys. */
export interface SigningKeyLine {
  readonly record: "signing_key";
  readonly number: number;
  readonly public_key: string;
  readonly private_key: string;
  readonly created_at: string;
}

/** A deployed spec. The text of its document follows in `parts` lines. Versions count from 1. */
export interface SpecRecord {
  readonly record: "spec";
  readonly version: number;
  readonly spec_hash: string;
  readonly created_at: string;
  readonly parts: number;
}

export interface SpecPartRecord {
  readonly record: "spec_part";
  readonly text: string;
}

/**
 * Opens a stream: the lines up to the next `tip` are its events. A stream that grew during the
 * export appears again, from where it was left. Then `from` is above 0, and `tip` is the chain
 * hash at that place.
 */
export interface StreamRecord {
  readonly record: "stream";
  readonly key: string;
  readonly generation: number;
  /** Unix seconds of the first and of the latest event. */
  readonly created_at: number;
  readonly updated_at: number;
  /** Index of the first event that follows. */
  readonly from: number;
  readonly tip?: string;
}

/** Ends a stream: the number of its events, and the chain hash of the last one. */
export interface TipRecord {
  readonly record: "tip";
  readonly length: number;
  readonly tip: string;
}

/** An API key without its secret. `hash` is the SHA-256 of the key. */
export interface ApiKeyLine {
  readonly record: "api_key";
  readonly id: string;
  readonly name: string;
  readonly scope: Scope;
  readonly hash: string;
  readonly created_at: string;
  readonly revoke_at?: string;
}

/** The answer to a write with an idempotency key. */
export interface LedgerRecord {
  readonly record: "ledger";
  readonly key: string;
  readonly body_hash: string;
  /** Unix seconds of the last use. */
  readonly used: number;
  readonly form: Written["form"];
  readonly request_id: string;
  readonly implied_count: number;
  readonly targets: readonly (readonly [key: string, first: number, count: number])[];
}

/** A piece of pending work. Its text follows in `parts` lines. */
export interface WorkRecord {
  readonly record: "work";
  readonly kind: WorkKind;
  readonly parts: number;
}

export interface WorkPartRecord {
  readonly record: "work_part";
  readonly text: string;
}

/**
 * A version of a blob. Its file follows in `parts` lines, as base64. Versions of one name count
 * from 1. The reader checks the file like an upload, and derives from it what the engine runs.
 */
export interface BlobRecord {
  readonly record: "blob";
  readonly name: string;
  readonly version: number;
  readonly sha256: string;
  /** Bytes of the file. */
  readonly bytes: number;
  readonly created_at: string;
  readonly parts: number;
}

export interface BlobPartRecord {
  readonly record: "blob_part";
  readonly text: string;
}

export interface CurrentSpecRecord {
  readonly record: "current_spec";
  readonly version: number;
}

/** What a file holds, in numbers. */
export interface FileCounts {
  /** Lines before the last. */
  readonly lines: number;
  readonly signing_keys: number;
  readonly specs: number;
  readonly streams: number;
  readonly events: number;
  /** Bytes of the events alone, in UTF-8. */
  readonly event_bytes: number;
  readonly api_keys: number;
  readonly ledger_entries: number;
  /** Pieces of pending work. */
  readonly work: number;
  /** Versions of blobs. */
  readonly blobs: number;
}

/** Every record except the last one, which {@link endLine} builds. */
export type FileRecord =
  | HeaderRecord
  | SigningKeyLine
  | SpecRecord
  | SpecPartRecord
  | StreamRecord
  | TipRecord
  | ApiKeyLine
  | LedgerRecord
  | WorkRecord
  | WorkPartRecord
  | BlobRecord
  | BlobPartRecord
  | CurrentSpecRecord;

export const END_START = '{"record":"end"';

/**
 * The last line of a file of that version. `sha256` covers all bytes before it, in hex. A
 * reader compares the whole text.
 */
export function endLine(counts: FileCounts, sha256: string, version: number): string {
  const { lines, signing_keys, specs, streams, events, event_bytes, api_keys, ledger_entries } =
    counts;
  return JSON.stringify({
    record: "end",
    lines,
    signing_keys,
    specs,
    streams,
    events,
    event_bytes,
    api_keys,
    ledger_entries,
    ...(version > 1 && { work: counts.work }),
    ...(version > 2 && { blobs: counts.blobs }),
    sha256,
  });
}

export const NO_COUNTS: FileCounts = {
  lines: 0,
  signing_keys: 0,
  specs: 0,
  streams: 0,
  events: 0,
  event_bytes: 0,
  api_keys: 0,
  ledger_entries: 0,
  work: 0,
  blobs: 0,
};
