/**
 * Computes rows and writes them, a part at a time, until all match their sources. The last
 * transaction also runs a follow-up such as moving a cursor.
 */

import { countErrors, type Counters } from "../../domain/measures/counters.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { refuseRow } from "../../domain/projection/row.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { openRowBatch, openSmallRowBatch, type RowOutcome } from "./compute_rows.ts";
import type { AggregateReader } from "../states/read_aggregate.ts";
import type { KeptProjection, ProjectionSet, ProjectionSets } from "./projection_sets.ts";
import { makeRowRecord } from "./row_error.ts";
import { type RowWork, type WriteMoment, writeRows } from "./write_rows.ts";

/** A row that may not match its sources. */
export interface RowPlace {
  readonly kept: KeptProjection;
  readonly key: string;
}

export interface RowParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly sets: ProjectionSets;
  readonly reader: AggregateReader;
  readonly counters: Counters;
}

/** Rows, and their bytes, in one transaction. */
const ROWS_AT_A_TIME = 256;
const BYTES_AT_A_TIME = 4 * 1024 * 1024;
/** How long a batch of rows is computed from the states of one moment, with pauses for others. */
const MOMENT_MS = 100;
/**
 * Rows whose states are read together, so that a networked store answers them in one round trip. A
 * batch begins with few, and takes twice as many each time while they are small.
 */
const ROWS_TOGETHER_FIRST = 4;
const ROWS_TOGETHER_MAX = 64;
const BYTES_TOGETHER = 64 * 1024;
/** Long rows are computed one by one afterwards. More than this many end the batch. */
const LONG_ROWS_MAX = 32;

export interface RowsToRefresh {
  readonly places: readonly RowPlace[];
  /** Each row is written only once, so what was read for it alone is not cached. */
  readonly isBuild?: boolean;
}

/** A refresh of rows that may pause between two of them. */
export interface Refresh {
  /**
   * Goes on until everything is done, or until `endMs` of the monotonic clock; then it returns
   * undefined. Returns false if definitions or the spec have changed meanwhile, or if `finish`
   * returned false. Then not everything is done, but whatever is done is right.
   */
  goOn(endMs: number): Promise<boolean | undefined>;
}

type Finish = (tx: Transaction) => Promise<boolean>;

/** Begins to refresh the rows at `places`. `finish` runs in the last transaction. */
export function openRefresh(
  parts: RowParts,
  set: ProjectionSet,
  { places, isBuild = false }: RowsToRefresh,
  finish: Finish,
): Refresh {
  let left = places;
  return {
    async goOn(endMs) {
      for (;;) {
        const { works, rest } = await computeSome(parts, set, { places: left, isBuild, endMs });
        const last = rest.length === 0 ? finish : undefined;
        const written = await writeAll(parts, set, { works, endMs }, last);
        if (written === undefined) return false;
        left = [...written.left, ...rest];
        if (written.isFinished) return true;
        if (parts.host.monotonicMs() >= endMs) return undefined;
        await parts.host.yieldTurn();
      }
    },
  };
}

interface RowsToCompute {
  readonly places: readonly RowPlace[];
  readonly isBuild: boolean;
  /** No further long row begins after this time. */
  readonly endMs: number;
}

async function computeSome(
  parts: RowParts,
  set: ProjectionSet,
  { places: left, isBuild, endMs }: RowsToCompute,
): Promise<{ readonly works: readonly RowWork[]; readonly rest: readonly RowPlace[] }> {
  const quick = await computeQuickly(parts, set, left, isBuild);
  const { tenant, spec } = set;
  const batch = openRowBatch(parts.reader, {
    tenant,
    spec,
    synchronous: false,
    pieces: openPieces(parts.host),
    host: parts.host,
  });
  const works: RowWork[] = [];
  let bytes = 0;
  // One after the other, because their states may be large.
  for (const [at, known] of quick.entries()) {
    if (known === undefined && at > 0 && parts.host.monotonicMs() >= endMs) break;
    const { kept, key } = left[at]!;
    const row = known ?? await batch.compute(kept.projection, key);
    bytes += bytesOf(row);
    if (bytes > BYTES_AT_A_TIME && at > 0) break;
    works.push({ kept, row });
  }
  return { works, rest: left.slice(works.length) };
}

/** Bytes of a key of the index or of a head, beside the names in it. */
const KEY_BYTES = 40;

/**
 * About how much a row takes of a transaction: its value, and for each source an entry of the
 * index and the guarded head. The store counts a written key three times, a read one twice.
 */
function bytesOf(row: RowOutcome): number {
  const isFailed = "failure" in row;
  let bytes = isFailed ? 0 : row.encoded?.value.length ?? 0;
  const sources = isFailed ? row.sources : row.encoded?.sources.map(([stream]) => stream) ?? [];
  for (const stream of sources) {
    bytes += 3 * (stream.length + row.key.length + KEY_BYTES) + 2 * (stream.length + KEY_BYTES);
  }
  return bytes;
}

/**
 * Computes the next rows, as many as time allows, from the states of one moment. A row is
 * undefined if it takes longer; there are few of those.
 */
async function computeQuickly(
  { engine, host, reader }: RowParts,
  { tenant, spec }: ProjectionSet,
  left: readonly RowPlace[],
  isBuild: boolean,
): Promise<(RowOutcome | undefined)[]> {
  return await engine.snapshot(async (tx) => {
    const pieces = openTransactionPieces(host, tenant);
    const options = { tenant, spec, remembersOwn: !isBuild, pieces, host };
    const batch = openSmallRowBatch(reader, tx, options);
    const computed: (RowOutcome | undefined)[] = [];
    const endMs = host.monotonicMs() + MOMENT_MS;
    let long = 0;
    let bytes = 0;
    let together = ROWS_TOGETHER_FIRST;
    const count = Math.min(left.length, ROWS_AT_A_TIME);
    while (computed.length < count) {
      const before = bytes;
      const some = left.slice(computed.length, Math.min(computed.length + together, count));
      const compute = ({ kept, key }: RowPlace) => batch.compute(kept.projection, key);
      for (const row of await Promise.all(some.map(compute))) {
        computed.push(row);
        if (row === undefined) long++;
        else bytes += bytesOf(row);
      }
      const isSmall = bytes - before <= BYTES_TOGETHER;
      together = isSmall ? Math.min(2 * together, ROWS_TOGETHER_MAX) : ROWS_TOGETHER_FIRST;
      if (long > LONG_ROWS_MAX || bytes > BYTES_AT_A_TIME || batch.isFull()) break;
      if (host.monotonicMs() > endMs) break;
    }
    return computed;
  });
}

interface Written {
  /** Rows that are to be computed again. */
  readonly left: readonly RowPlace[];
  readonly isFinished: boolean;
}

interface WrittenSome extends Written {
  /** Computed rows that did not fit into the transaction. */
  readonly unwritten: readonly RowWork[];
}

interface RowsToWrite {
  readonly works: readonly RowWork[];
  /** No further transaction begins after this time. */
  readonly endMs: number;
}

/** Writes the rows in as many transactions as they take; those that time cuts off are left. */
async function writeAll(
  parts: RowParts,
  set: ProjectionSet,
  { works, endMs }: RowsToWrite,
  finish: Finish | undefined,
): Promise<Written | undefined> {
  const left: RowPlace[] = [];
  for (let unwritten = works;;) {
    const last = left.length === 0 ? finish : undefined;
    const written = await writeFitting(parts, set, unwritten, last);
    if (written === undefined) return undefined;
    unwritten = written.unwritten;
    left.push(...written.left);
    if (unwritten.length === 0) return { left, isFinished: written.isFinished };
    if (parts.host.monotonicMs() >= endMs) {
      left.push(...unwritten.map(placeOf));
      return { left, isFinished: false };
    }
    await parts.host.yieldTurn();
  }
}

/**
 * Writes the rows, or the first of them that fit into a transaction. A row that does not fit alone
 * gets an error instead, as one that cannot be computed does.
 */
async function writeFitting(
  parts: RowParts,
  set: ProjectionSet,
  works: readonly RowWork[],
  finish: Finish | undefined,
): Promise<WrittenSome | undefined> {
  try {
    return await writeSome(parts, set, works, finish);
  } catch (error) {
    const [first] = works;
    if (!isLimitExceeded(error) || first === undefined) throw error;
    if (works.length > 1) {
      const count = works.length >> 1;
      const written = await writeFitting(parts, set, works.slice(0, count), undefined);
      if (written === undefined) return undefined;
      return { ...written, unwritten: [...written.unwritten, ...works.slice(count)] };
    }
    // Perhaps the row fits without what follows it.
    if (finish !== undefined) return await writeFitting(parts, set, works, undefined);
    if ("failure" in first.row) throw error;
    const failure = refuseRow(`The row does not fit into the store: ${error.message}`);
    const row = { key: first.row.key, failure, sources: [] };
    return await writeSome(parts, set, [{ kept: first.kept, row }], undefined);
  }
}

function isLimitExceeded(error: unknown): error is Error {
  return error instanceof Error && error.name === "EngineLimitExceeded";
}

function placeOf({ kept, row: { key } }: RowWork): RowPlace {
  return { kept, key };
}

async function writeSome(
  { engine, host, sets, counters }: RowParts,
  set: ProjectionSet,
  works: readonly RowWork[],
  finish: Finish | undefined,
): Promise<WrittenSome | undefined> {
  const moment: WriteMoment = {
    nowMs: host.nowMs(),
    random: host.randomBytes(1)[0]! / 256,
    makeRecord: (kept, key, failure) => makeRowRecord(host, kept, key, failure),
  };
  const outcome = await engine.transact(async (tx) => {
    const pieces = openTransactionPieces(host, set.tenant);
    if (!await sets.isCurrent(tx, set)) return undefined;
    const rows = await writeRows(tx, works, moment, pieces);
    const isLast = rows.moved.length + rows.unwritten.length === 0;
    if (finish === undefined || !isLast) return { ...rows, isFinished: false };
    return await finish(tx) ? { ...rows, isFinished: true } : undefined;
  });
  if (outcome === undefined) {
    // This process may not know yet of a deploy.
    sets.forget(set.tenant);
    return undefined;
  }
  countErrors(counters, outcome.errors);
  const { moved, unwritten, isFinished } = outcome;
  return { left: moved.map(placeOf), unwritten, isFinished };
}
