/** One row of a projection, kept or computed now, and pages of rows. Spec: "Projections". */

import { checkStart, listPage, pageLimit } from "../domain/list_page.ts";
import { explainIdentifier, parseIdentifier } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";
import type { RowPage, RowView } from "../domain/projection/status.ts";
import type { View, ViewRow } from "../domain/projection/view.ts";
import { hasRow } from "../domain/projection/row.ts";
import type { PageRequest } from "../domain/reading.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Engine, ReadTransaction } from "../kv/engine.ts";
import { readProjection, readView } from "../store/projections.ts";
import { readViewRow, readViewRows, type StoredRow } from "../store/view_rows.ts";
import { openRowBatch } from "./compute_rows.ts";
import type { SpecCache } from "./current_spec.ts";
import type { AggregateReader } from "./read_aggregate.ts";
import type { ViewSets } from "./view_definitions.ts";

export interface ViewTools {
  readonly engine: Engine;
  readonly specs: SpecCache;
  readonly sets: ViewSets;
  readonly reader: AggregateReader;
}

export interface ReadRowRequest {
  readonly name: string;
  /** As sent. */
  readonly key: string;
  /** Computed from the events now. */
  readonly synchronous: boolean;
}

/** Longer than any identifier: a cursor above it names nothing. */
const CURSOR_CHARACTERS_MAX = 256;
/** Rows read at a time for a page: each may have a mebibyte. */
const AT_A_TIME = { limit: 25, bytesMax: 256 * 1024 };

export async function readRow(
  tools: ViewTools,
  { number: tenant }: Tenant,
  { name, key, synchronous }: ReadRowRequest,
): Promise<Outcome<RowView>> {
  const { engine, specs } = tools;
  const { singletons } = await specs.current(tenant);
  const identifier = parseIdentifier(key, singletons);
  const view = await engine.snapshot((tx) => findView(tx, tenant, name));
  if (!view.ok && !(synchronous && view.refusal.kind === "not_found")) return view;
  if (identifier === undefined) {
    return refuse({ kind: "identifier_invalid", path: "key", message: explainIdentifier(key) });
  }
  if (synchronous) return await computeRow(tools, tenant, name, identifier.value);
  if (!view.ok) return view;
  const row = await engine.snapshot((tx) => readViewRow(tx, view.value, identifier.value));
  return row === undefined ? refuseRow() : accept(rowView(row));
}

/** Whatever is being built: no row is needed for it. */
async function computeRow(
  { engine, sets, reader }: ViewTools,
  tenant: number,
  name: string,
  key: string,
): Promise<Outcome<RowView>> {
  const { views, spec } = await sets.current(tenant);
  const named = views.filter((view) => view.name === name);
  const view = named.find(({ isReady }) => isReady) ?? named[0];
  if (view === undefined) {
    const found = await engine.snapshot((tx) => findView(tx, tenant, name));
    return found.ok ? refuseBroken(name) : found;
  }
  if (!hasRow(view.projection, key)) return refuseRow();
  const batch = openRowBatch(reader, { tenant, spec, synchronous: true });
  const computed = await batch.compute(view.projection, key);
  if ("failure" in computed) return refuse(computed.failure);
  return computed.row === undefined ? refuseRow() : accept(rowView(computed.row));
}

/** The version that can be read, or why there is none. */
export async function findView(
  tx: ReadTransaction,
  tenant: number,
  name: string,
): Promise<Outcome<View>> {
  const view = await readView(tx, tenant, name);
  if (view !== undefined) return accept(view);
  const record = await readProjection(tx, tenant, name);
  const isBuilding = record !== undefined && !record.isDeleted;
  const hint = isBuilding ? "It is being built: GET .../projections shows how far" : undefined;
  return refuse({ kind: "not_found", message: `Projection '${name}' not found`, hint });
}

function refuseBroken(name: string) {
  const message = `Projection '${name}' does not fit the current spec`;
  const hint = "Deploy it again as the spec now is; its old rows can still be read";
  return refuse({ kind: "not_found", message, hint });
}

function refuseRow() {
  return refuse({ kind: "not_found", message: "There is no row with this key" });
}

function rowView({ key, data, updatedAt, position, error }: ViewRow): RowView {
  const { error_id, error_type, since } = error ?? {};
  const shown = error_id === undefined || error_type === undefined || since === undefined
    ? undefined
    : { error_id, error_type, since };
  return { data, metadata: { key, updated_at: updatedAt, position, error: shown } };
}

/** Rows by key; a page ends early where its rows are large. */
export async function listRows(
  { engine }: Pick<ViewTools, "engine">,
  { number: tenant }: Tenant,
  name: string,
  page: PageRequest,
): Promise<Outcome<RowPage>> {
  const { start } = page;
  const checked = checkStart(start, CURSOR_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const limit = pageLimit(page.limit);
  return await engine.snapshot(async (tx) => {
    const view = await findView(tx, tenant, name);
    if (!view.ok) return view;
    const { rows, truncated } = await readPage(tx, view.value, start, limit);
    const nextStart = truncated ? rows.at(-1)!.key : undefined;
    return accept(listPage(rows.map(rowView), page.limit, nextStart));
  });
}

async function readPage(
  tx: ReadTransaction,
  view: View,
  start: string | undefined,
  limit: number,
): Promise<{ readonly rows: readonly StoredRow[]; readonly truncated: boolean }> {
  const rows: StoredRow[] = [];
  let bytes = 0;
  for (let after = start;; after = rows.at(-1)!.key) {
    // One more than the page tells exactly whether anything follows it.
    const some = await readViewRows(tx, view, { after, ...AT_A_TIME });
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
