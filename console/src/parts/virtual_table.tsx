/**
 * A table of any length of which only the visible rows are in the page. It scrolls both ways; its
 * head stays. Cells show plain values on one line, long ones their beginning.
 */

import type { ComponentChildren } from "preact";
import { useVirtualRows } from "./virtual_rows.ts";

export interface SortOrder {
  readonly column: string;
  readonly isDescending: boolean;
}

export interface VirtualTableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** What stands before the cells of a row, such as a link to all of it. */
  readonly lead: (row: Readonly<Record<string, unknown>>, index: number) => ComponentChildren;
  readonly sort?: SortOrder;
  /** With it, the titles of the columns are buttons. */
  readonly onSort?: (column: string) => void;
}

/** More columns would make every row slow to draw. */
export const COLUMNS_SHOWN_MAX = 60;

const ROW_PX = 34;
const LEAD_PX = 96;
const COLUMN_PX = 150;
const CELL_CHARACTERS_MAX = 200;

export function VirtualTable({ label, columns, rows, lead, sort, onSort }: VirtualTableProps) {
  const { scroller, items, spacePx } = useVirtualRows({ count: rows.length, rowPx: ROW_PX });
  const shown = columns.slice(0, COLUMNS_SHOWN_MAX);
  const width = `max(100%, ${LEAD_PX + shown.length * COLUMN_PX}px)`;
  return (
    <>
      <div
        class="virtual grid"
        ref={scroller}
        role="table"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        tabIndex={0}
      >
        <div role="rowgroup" class="grid-head" style={{ width }}>
          <div role="row" aria-rowindex={1} class="grid-row">
            <span role="columnheader" class="grid-lead">Row</span>
            {shown.map((name) => (
              <Title
                key={name}
                name={name}
                isNumber={typeof rows[0]?.[name] === "number"}
                sort={sort}
                onSort={onSort}
              />
            ))}
          </div>
        </div>
        <div role="rowgroup" class="virtual-space" style={{ width, height: `${spacePx}px` }}>
          {items.map(({ index, startPx }) => (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              class="virtual-row grid-row"
              style={{ height: `${ROW_PX}px`, transform: `translateY(${startPx}px)` }}
            >
              <span role="rowheader" class="grid-lead">{lead(rows[index]!, index)}</span>
              {shown.map((name) => <Cell key={name} value={rows[index]![name]} />)}
            </div>
          ))}
        </div>
      </div>
      {columns.length > shown.length && (
        <p class="quiet">
          {columns.length - shown.length} more columns are not shown; each row has them all.
        </p>
      )}
    </>
  );
}

interface TitleProps extends Pick<VirtualTableProps, "sort" | "onSort"> {
  readonly name: string;
  /** Whether its values stand at the right. */
  readonly isNumber: boolean;
}

function Title({ name, isNumber, sort, onSort }: TitleProps) {
  const place = isNumber ? "number" : undefined;
  if (onSort === undefined) return <span role="columnheader" class={place}>{name}</span>;
  const isSorted = sort?.column === name;
  const order = !isSorted ? "none" : sort.isDescending ? "descending" : "ascending";
  return (
    <span role="columnheader" aria-sort={order} class={place}>
      <button type="button" class="plain" onClick={() => onSort(name)}>
        {name}
        <span aria-hidden="true">{ARROWS[order]}</span>
      </button>
    </span>
  );
}

const ARROWS = { none: "", ascending: " \u25b2", descending: " \u25bc" } as const;

function Cell({ value }: { value: unknown }) {
  if (value === null || value === undefined) {
    return <span role="cell" class="quiet">null</span>;
  }
  const text = String(value);
  return (
    <span role="cell" class={typeof value === "number" ? "number" : undefined}>
      <bdi>{text.slice(0, CELL_CHARACTERS_MAX)}</bdi>
    </span>
  );
}
