/**
 * Computes rows and writes them, a part at a time, until all match their sources. The last
 * transaction also runs a follow-up such as moving a cursor.
 */

import { countErrors, type Counters } from "../../domain/measures/counters.ts";
import { openPieces, withOwnLine } from "../../domain/fairness/pieces.ts";
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
 * Rows whose states are read together, so that a networked store answers them in one round
 * trip.
 */
const ROWS_TOGETHER = 16;
/** Long rows are computed one by one afterwards. More than this many end the batch. */
const LONG_ROWS_MAX = 32;

export interface RowsToRefresh {
  readonly places: readonly RowPlace[];
  /** Each row is written only once, so what was read for it alone is not cached. */
  readonly isBuild?: boolean;
}

/**
 * Refreshes the rows at `places`. Returns false if definitions or the spec have changed
 * meanwhile, or if `finish` returned false. Then not everything is done, but whatever is done
 * is right. `finish` runs in the last transaction.
 */
export async function refreshRows(
  parts: RowParts,
  set: ProjectionSet,
  { places, isBuild = false }: RowsToRefresh,
  finish: (tx: Transaction) => Promise<boolean>,
): Promise<boolean> {
  let left = places;
  for (;;) {
    const { works, rest } = await computeSome(parts, set, left, isBuild);
    const written = await writeSome(parts, set, works, rest.length === 0 ? finish : undefined);
    if (written === undefined) return false;
    left = [...written.moved, ...rest];
    if (written.isFinished) return true;
    await parts.host.yieldTurn();
  }
}

async function computeSome(
  parts: RowParts,
  set: ProjectionSet,
  left: readonly RowPlace[],
  isBuild: boolean,
): Promise<{ readonly works: readonly RowWork[]; readonly rest: readonly RowPlace[] }> {
  const quick = await computeQuickly(parts, set, left, isBuild);
  const { tenant, spec } = set;
  const batch = openRowBatch(parts.reader, {
    tenant,
    spec,
    synchronous: false,
    pieces: openPieces(parts.host),
  });
  const computed: RowWork[] = [];
  // One after the other, because their states may be large.
  for (const [at, row] of quick.entries()) {
    const { kept, key } = left[at]!;
    computed.push({ kept, row: row ?? await batch.compute(kept.projection, key) });
  }
  let bytes = 0;
  let count = 0;
  for (const { row } of computed) {
    bytes += "encoded" in row ? row.encoded?.value.length ?? 0 : 0;
    if (bytes > BYTES_AT_A_TIME && count > 0) break;
    count++;
  }
  return { works: computed.slice(0, count), rest: left.slice(count) };
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
    const pieces = openPieces(withOwnLine(host));
    const batch = openSmallRowBatch(reader, tx, { tenant, spec, remembersOwn: !isBuild, pieces });
    const computed: (RowOutcome | undefined)[] = [];
    const endMs = host.monotonicMs() + MOMENT_MS;
    let long = 0;
    while (computed.length < Math.min(left.length, ROWS_AT_A_TIME)) {
      const some = left.slice(computed.length, computed.length + ROWS_TOGETHER);
      const compute = ({ kept, key }: RowPlace) => batch.compute(kept.projection, key);
      for (const row of await Promise.all(some.map(compute))) {
        computed.push(row);
        if (row === undefined) long++;
      }
      if (long > LONG_ROWS_MAX || host.monotonicMs() > endMs) break;
    }
    return computed;
  });
}

interface WrittenSome {
  readonly moved: readonly RowPlace[];
  readonly isFinished: boolean;
}

async function writeSome(
  { engine, host, sets, counters }: RowParts,
  set: ProjectionSet,
  works: readonly RowWork[],
  finish: ((tx: Transaction) => Promise<boolean>) | undefined,
): Promise<WrittenSome | undefined> {
  const moment: WriteMoment = {
    nowMs: host.nowMs(),
    random: host.randomBytes(1)[0]! / 256,
    makeRecord: (kept, key, failure) => makeRowRecord(host, kept, key, failure),
  };
  const outcome = await engine.transact(async (tx) => {
    const pieces = openPieces(withOwnLine(host));
    if (!await sets.isCurrent(tx, set)) return undefined;
    const { moved, errors } = await writeRows(tx, works, moment, pieces);
    if (finish === undefined || moved.length > 0) return { moved, errors, isFinished: false };
    return await finish(tx) ? { moved, errors, isFinished: true } : undefined;
  });
  if (outcome === undefined) {
    // This process may not know yet of a deploy.
    sets.forget(set.tenant);
    return undefined;
  }
  countErrors(counters, outcome.errors);
  const moved = outcome.moved.map(({ kept, row }) => ({ kept, key: row.key }));
  return { moved, isFinished: outcome.isFinished };
}
