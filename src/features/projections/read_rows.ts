/**
 * Reads one row of a projection, stored or computed on request, and pages of rows.
 *
 * See docs/reference/queries.md.
 */

import { openPieces, type Pieces, type Turns, waitForTurn } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { checkStart, listPage, pageLimit } from "../../domain/list_page.ts";
import { explainIdentifier, parseIdentifier } from "../../domain/identifier.ts";
import { limits } from "../../domain/limits.ts";
import type { RowPage, RowView, Staleness } from "../../domain/projection/status.ts";
import type { ReadyProjection } from "../../domain/projection/ready_projection.ts";
import { hasRow } from "../../domain/projection/row.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { readProjection, readReadyProjection } from "../../store/projections/projections.ts";
import {
  decodeRow,
  findProjectionRow,
  readProjectionRows,
  type StoredRow,
} from "../../store/projections/projection_rows.ts";
import { readMissed } from "../../store/projections/projection_work.ts";
import { openRowBatch } from "./compute_rows.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { countLag } from "./manage_projections.ts";
import type { AggregateReader } from "../states/read_aggregate.ts";
import type { ProjectionSets } from "./projection_sets.ts";

export interface ProjectionTools {
  readonly engine: Engine;
  readonly host: Turns;
  readonly specs: SpecCache;
  readonly sets: ProjectionSets;
  readonly reader: AggregateReader;
}

export interface ReadRowRequest {
  readonly name: string;
  /** As sent. */
  readonly key: string;
  /** Whether to compute the row from the events now. */
  readonly synchronous: boolean;
  /** Whether to return the last good rows if the projection is broken. */
  readonly stale?: boolean;
}

/** Longer than any identifier, so a longer cursor names nothing. */
const CURSOR_CHARACTERS_MAX = 256;
/** A row with more bytes is read in a turn of its own, after those that came before. */
const LONG_ROW_BYTES = 64 * 1024;
/** Rows are read in small portions, because each row may have a mebibyte. */
const AT_A_TIME = { limit: 25, bytesMax: 256 * 1024 };

export async function readRow(
  tools: ProjectionTools,
  { number: tenant }: Tenant,
  { name, key, synchronous, stale = false }: ReadRowRequest,
): Promise<Outcome<RowView>> {
  const { engine, specs } = tools;
  const { singletons } = await specs.current(tenant);
  const identifier = parseIdentifier(key, singletons);
  const projection = await engine.snapshot((tx) => findReadyProjection(tx, tenant, name, stale));
  if (!projection.ok && !(synchronous && projection.refusal.kind === "not_found")) {
    return projection;
  }
  const isBroken = projection.ok && projection.value.broken !== undefined;
  if (identifier === undefined) {
    return refuse({ kind: "identifier_invalid", path: "key", message: explainIdentifier(key) });
  }
  if (synchronous && !isBroken) return await computeRow(tools, tenant, name, identifier.value);
  if (!projection.ok) return projection;
  const view = await readStoredRow(tools, projection.value, identifier.value);
  return view === undefined ? refuseRow() : accept(view);
}

/** Undefined if there is none. */
async function readStoredRow(
  { engine, host }: Pick<ProjectionTools, "engine" | "host">,
  projection: ReadyProjection,
  key: string,
): Promise<RowView | undefined> {
  const readUpTo = (bytesMax: number) =>
    engine.snapshot(async (tx) => {
      const found = await findProjectionRow(tx, projection, key);
      if (found === undefined) return undefined;
      if (found.bytes > bytesMax) return "long";
      const row = decodeRow(key, await found.whole());
      return { ...rowView(row), ...await readStaleness(tx, projection, { engine, host }) };
    });
  const view = await readUpTo(LONG_ROW_BYTES);
  if (view !== "long") return view;
  await waitForTurn(host, true);
  const long = await readUpTo(Infinity);
  return long === "long" ? undefined : long;
}

/** Computes the row even while the projection is being built: this needs no stored row. */
async function computeRow(
  { engine, host, sets, reader }: ProjectionTools,
  tenant: number,
  name: string,
  key: string,
): Promise<Outcome<RowView>> {
  const { projections, spec } = await sets.current(tenant);
  const named = projections.filter((kept) => kept.name === name);
  const kept = named.find(({ isReady }) => isReady) ?? named[0];
  if (kept === undefined) {
    const found = await engine.snapshot((tx) => findReadyProjection(tx, tenant, name, false));
    const reason = "what it reads is gone";
    return found.ok ? refuse({ kind: "projection_broken", name, reason }) : found;
  }
  if (!hasRow(kept.projection, key)) return refuseRow();
  const pieces = openPieces(host);
  const batch = openRowBatch(reader, { tenant, spec, synchronous: true, pieces, host });
  const computed = await batch.compute(kept.projection, key);
  if ("failure" in computed) return refuse(computed.failure);
  const { encoded } = computed;
  if (encoded === undefined) return refuseRow();
  return accept(rowView(decodeRow(key, encoded.value)));
}

/**
 * The readable version, or the refusal if there is none. `stale`: a broken projection may be
 * read.
 */
export async function findReadyProjection(
  tx: ReadTransaction,
  tenant: number,
  name: string,
  stale: boolean,
): Promise<Outcome<ReadyProjection>> {
  const projection = await readReadyProjection(tx, tenant, name);
  if (projection !== undefined && (stale || projection.broken === undefined)) {
    return accept(projection);
  }
  const record = await readProjection(tx, tenant, name);
  if (record?.broken !== undefined && !record.isDeleted) {
    return refuse({ kind: "projection_broken", name, reason: record.broken });
  }
  const isBuilding = record !== undefined && !record.isDeleted;
  const hint = isBuilding ? "It is being built: GET .../projections shows how far" : undefined;
  return refuse({ kind: "not_found", message: `Projection '${name}' not found`, hint });
}

/** Undefined if the rows are kept up to date. */
export async function readStaleness(
  tx: ReadTransaction,
  projection: ReadyProjection,
  parts: Pick<ProjectionTools, "engine" | "host">,
): Promise<Staleness | undefined> {
  return (await listStaleness(tx, [projection], parts))[0];
}

/** The same for several projections of an environment. */
export async function listStaleness(
  tx: ReadTransaction,
  projections: readonly ReadyProjection[],
  parts: Pick<ProjectionTools, "engine" | "host">,
): Promise<(Staleness | undefined)[]> {
  const isKept = ({ broken, isStale }: ReadyProjection) => broken === undefined && !isStale;
  const stale = projections.find((each) => !isKept(each));
  if (stale === undefined) return projections.map(() => undefined);
  // Once for all of them, because this may read much of the log.
  const logged = await countLag(parts, tx, stale.tenant);
  return await Promise.all(projections.map(async (each) => {
    if (isKept(each)) return undefined;
    return { stale: true, lag: await readMissed(tx, each) + logged };
  }));
}

function refuseRow() {
  return refuse({ kind: "not_found", message: "There is no row with this key" });
}

function rowView({ key, dataJson, updatedAt, position, error }: StoredRow): RowView {
  const { error_id, error_type, since } = error ?? {};
  const shown = error_id === undefined || error_type === undefined || since === undefined
    ? undefined
    : { error_id, error_type, since };
  return { dataJson, metadata: { key, updated_at: updatedAt, position, error: shown } };
}

export interface ListRowsRequest {
  readonly name: string;
  readonly page: PageRequest;
  readonly stale?: boolean;
}

/** Sorted by key; the page ends early if its rows are large. */
export async function listRows(
  { engine, host }: Pick<ProjectionTools, "engine" | "host">,
  { number: tenant }: Tenant,
  { name, page, stale = false }: ListRowsRequest,
): Promise<Outcome<RowPage>> {
  const { start } = page;
  const checked = checkStart(start, CURSOR_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const limit = pageLimit(page.limit);
  return await engine.snapshot(async (tx) => {
    const projection = await findReadyProjection(tx, tenant, name, stale);
    if (!projection.ok) return projection;
    const staleness = await readStaleness(tx, projection.value, { engine, host });
    const pieces = openTransactionPieces(host, tenant);
    const { rows, truncated } = await readPage(tx, projection.value, { start, limit, pieces });
    const nextStart = truncated ? rows.at(-1)!.key : undefined;
    return accept({ ...listPage(rows.map(rowView), page.limit, nextStart), ...staleness });
  });
}

interface RowsToRead {
  readonly start: string | undefined;
  readonly limit: number;
  readonly pieces: Pieces;
}

async function readPage(
  tx: ReadTransaction,
  projection: ReadyProjection,
  { start, limit, pieces }: RowsToRead,
): Promise<{ readonly rows: readonly StoredRow[]; readonly truncated: boolean }> {
  const rows: StoredRow[] = [];
  let bytes = 0;
  for (let after = start;; after = rows.at(-1)!.key) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    // Reading on past the page shows whether anything follows.
    const some = await readProjectionRows(tx, projection, { after, ...AT_A_TIME });
    for (const row of some) {
      if (rows.length === limit || (rows.length > 0 && bytes > limits.pageBytesMax)) {
        return { rows, truncated: true };
      }
      rows.push(row);
      bytes += row.bytes;
    }
    const isCut = some.reduce((sum, row) => sum + row.bytes, 0) >= AT_A_TIME.bytesMax;
    if (some.length < AT_A_TIME.limit && !isCut) return { rows, truncated: false };
  }
}
