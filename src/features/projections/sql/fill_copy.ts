/**
 * Fills a table with all rows of a projection, page by page, while the projection changes.
 *
 * The log of changes records what changes meanwhile. The full table catches up from the log,
 * starting at the stamp read before the first page.
 */

import type { ReadyProjection } from "../../../domain/projection/ready_projection.ts";
import type { ReadTransaction } from "../../../kv/engine.ts";
import { readReadyProjection } from "../../../store/projections/projections.ts";
import { lastChangeStamp } from "../../../store/projections/row_changes.ts";
import { readProjectionRows, type StoredRow } from "../../../store/projections/projection_rows.ts";
import { FILLING } from "../../../sql/copy_file.ts";
import type { CopiedTable, CopyResult, CopyTask } from "../../../sql/copy_messages.ts";
import type { CopyWorld, TenantCopy } from "./tenant_copy.ts";

export type Filled =
  | { readonly kind: "filled"; readonly table: CopiedTable }
  /** The projection or the file has changed meanwhile. */
  | { readonly kind: "moved"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

/**
 * One read of the store and one transaction of the file; takes a few milliseconds of this
 * thread.
 */
const PAGE = { limit: 500, bytesMax: 256 * 1024 };
const TOKEN_BYTES = 8;

/** Calls `onRows` with the number of rows after each page. */
export async function fillCopy(
  { engine, host }: CopyWorld,
  copy: TenantCopy,
  projection: ReadyProjection,
  onRows: (rows: number) => void,
): Promise<Filled> {
  const token = host.randomBytes(TOKEN_BYTES).toHex();
  const stamp = await engine.snapshot((tx) => lastChangeStamp(tx, projection));
  const begun = await askInTurn(copy, { kind: "begin_fill", token, projection });
  if (begun.kind !== "done") return stopped(begun);
  let rows = 0;
  let page = await engine.snapshot((tx) => readPage(tx, projection, undefined));
  while (page !== undefined && page.length > 0) {
    // The next page is read while this one is written.
    const [next, written] = await Promise.all([
      engine.snapshot((tx) => readPage(tx, projection, page!.at(-1)!.key)),
      askInTurn(copy, { kind: "fill", token, projection }, `[${page.map(copyRowText).join()}]`),
    ]);
    if (written.kind !== "done") return stopped(written);
    rows += page.length;
    onRows(rows);
    page = next;
  }
  if (page === undefined) {
    await askInTurn(copy, { kind: "drop", names: [`${FILLING}_${token}`] });
    return { kind: "moved", reason: "another version has taken the place of this one" };
  }
  const { name, number, version } = projection;
  const table = { name, number, version, stamp: stamp?.toHex() ?? "" };
  const end = { kind: "end_fill", token, projection, rows, stamp: table.stamp } as const;
  const ended = await askInTurn(copy, end);
  return ended.kind === "done" ? { kind: "filled", table } : stopped(ended);
}

/** The text of a `CopyRow`. Nothing of the data is parsed here: it may have names that are slow. */
export function copyRowText({ key, dataJson }: Pick<StoredRow, "key" | "dataJson">): string {
  return `[${JSON.stringify(key)},${dataJson === "null" ? "{}" : dataJson}]`;
}

/** Undefined if this version is no longer the one being read: its rows may be gone. */
async function readPage(
  tx: ReadTransaction,
  projection: ReadyProjection,
  after: string | undefined,
): Promise<StoredRow[] | undefined> {
  const [current, rows] = await Promise.all([
    readReadyProjection(tx, projection.tenant, projection.name),
    readProjectionRows(tx, projection, { after, ...PAGE }),
  ]);
  const isCurrent = current?.number === projection.number && current.version === projection.version;
  return isCurrent ? rows : undefined;
}

function askInTurn(copy: TenantCopy, task: CopyTask, rows?: string): Promise<CopyResult> {
  return copy.inTurn(() => copy.ask(task, rows));
}

function stopped(result: CopyResult): Filled {
  return "reason" in result ? result : { kind: "moved", reason: "unexpected answer" };
}
