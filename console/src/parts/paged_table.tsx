/** A table of any length, of which pages are loaded as they are wanted. */

import type { ComponentChildren } from "preact";
import { type Column, DataTable } from "./data_table.tsx";
import { RefusalNote } from "./refusal_note.tsx";
import { type LoadPage, usePaging } from "../shell/paging.ts";

export interface PagedTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly load: LoadPage<Row>;
  /** Loads anew from the first page when one of them has changed. */
  readonly reasons: readonly unknown[];
  /** Old rows stay until the new ones are there, so that what has the focus keeps it. */
  readonly isSteady?: boolean;
  /** Shown where there is no row at all. */
  readonly empty: ComponentChildren;
}

export function PagedTable<Row>(props: PagedTableProps<Row>) {
  const { caption, columns, keyOf, load, reasons, empty, isSteady } = props;
  const { rows, next, refusal, isLoading, more } = usePaging(load, reasons, { isSteady });
  const isEmpty = rows.length === 0 && next === undefined && !isLoading && refusal === undefined;
  return (
    <div aria-busy={isLoading}>
      {rows.length > 0 && (
        <DataTable caption={caption} columns={columns} rows={rows} keyOf={keyOf} />
      )}
      {isEmpty && empty}
      {refusal !== undefined && <RefusalNote refusal={refusal} onRetry={more} />}
      {isLoading && rows.length === 0 && <p class="quiet" role="status">Loading</p>}
      {next !== undefined && refusal === undefined && (
        <button type="button" disabled={isLoading} onClick={more}>
          Show more
        </button>
      )}
    </div>
  );
}
