/**
 * A list of any length of which only the visible rows are in the page. All rows are equally high.
 * The arrow keys, Page Up, Page Down, Home and End move through it.
 */

import type { ComponentChildren } from "preact";
import { useVirtualRows, type VirtualRowsOptions } from "./virtual_rows.ts";

export interface VirtualListProps extends VirtualRowsOptions {
  readonly label: string;
  /** The row at `index`, from 0. */
  readonly row: (index: number) => ComponentChildren;
}

export function VirtualList({ label, row, ...options }: VirtualListProps) {
  const { scroller, items, spacePx } = useVirtualRows(options);
  return (
    <div class="virtual" ref={scroller} role="list" aria-label={label} tabIndex={0}>
      <div class="virtual-space" style={{ height: `${spacePx}px` }}>
        {items.map(({ index, startPx }) => (
          <div
            key={index}
            role="listitem"
            aria-setsize={options.count}
            aria-posinset={index + 1}
            class="virtual-row"
            style={{ height: `${options.rowPx}px`, transform: `translateY(${startPx}px)` }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
