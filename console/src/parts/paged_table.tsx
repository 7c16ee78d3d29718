/** A table of any length, of which pages are loaded as they are wanted. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Page, Refusal } from "@daybook/client";
import { type Column, DataTable } from "./data_table.tsx";
import { RefusalNote } from "./refusal_note.tsx";

export interface PagedTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Asks for the page behind `start`, for the first one without it. */
  readonly load: (
    start: string | undefined,
    signal: AbortSignal,
  ) => PromiseLike<Page<Row> | Refusal>;
  /** Loads anew from the first page when one of them has changed. */
  readonly reasons: readonly unknown[];
  /** Old rows stay until the new ones are there, so that what has the focus keeps it. */
  readonly isSteady?: boolean;
  /** Shown where there is no row at all. */
  readonly empty: ComponentChildren;
}

interface Shown<Row> {
  readonly rows: readonly Row[];
  readonly next?: string;
  readonly refusal?: Refusal;
  readonly isLoading: boolean;
}

export function PagedTable<Row>(props: PagedTableProps<Row>) {
  const { caption, columns, keyOf, load, reasons, empty, isSteady = false } = props;
  const [shown, setShown] = useState<Shown<Row>>({ rows: [], isLoading: true });

  useEffect(() => {
    const ending = new AbortController();
    void show([], undefined, ending.signal);
    return () => ending.abort();
  }, reasons);

  async function show(
    before: readonly Row[],
    start: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    setShown((old) => ({ rows: isSteady ? old.rows : before, isLoading: true }));
    const answer = await load(start, signal);
    if (signal.aborted) return;
    if (!answer.ok) {
      return setShown({ rows: before, refusal: answer as Refusal, isLoading: false });
    }
    const next = answer.truncated ? answer.next_start : undefined;
    setShown({ rows: [...before, ...answer.data], next, isLoading: false });
  }

  const { rows, next, refusal, isLoading } = shown;
  const isEmpty = rows.length === 0 && next === undefined && !isLoading && refusal === undefined;
  return (
    <div aria-busy={isLoading}>
      {rows.length > 0 && (
        <DataTable caption={caption} columns={columns} rows={rows} keyOf={keyOf} />
      )}
      {isEmpty && empty}
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      {isLoading && rows.length === 0 && <p class="quiet" role="status">Loading</p>}
      {next !== undefined && (
        <button
          type="button"
          disabled={isLoading}
          onClick={() => show(rows, next, new AbortController().signal)}
        >
          Show more
        </button>
      )}
    </div>
  );
}
