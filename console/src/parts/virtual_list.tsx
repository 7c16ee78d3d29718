/**
 * A list of any length of which only the visible rows are in the page. All rows are equally high.
 * The arrow keys, Page Up, Page Down, Home and End move through it.
 */

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface VirtualListProps {
  readonly label: string;
  readonly count: number;
  readonly rowPx: number;
  /** The row at `index`, from 0. */
  readonly row: (index: number) => ComponentChildren;
  /** Is told which rows are visible, so that they can be loaded. */
  readonly onRange?: (first: number, last: number) => void;
  /** A row that should be visible. */
  readonly shownIndex?: number;
}

const OVERSCAN = 8;

export function VirtualList(props: VirtualListProps) {
  const { label, count, rowPx, row, onRange, shownIndex } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, draw] = useState(0);
  const virtualizer = useRef<Virtualizer<HTMLDivElement, Element>>(undefined);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => draw((times) => times + 1),
  };
  virtualizer.current ??= new Virtualizer<HTMLDivElement, Element>(options);
  virtualizer.current.setOptions(options);
  useEffect(() => virtualizer.current!._didMount(), []);
  useEffect(() => virtualizer.current!._willUpdate());
  const items = virtualizer.current.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (count > 0) onRange?.(first, last);
  }, [first, last, count]);
  useEffect(() => {
    if (shownIndex !== undefined) virtualizer.current!.scrollToIndex(shownIndex);
  }, [shownIndex]);
  return (
    <div class="virtual" ref={scroller} role="list" aria-label={label} tabIndex={0}>
      <div class="virtual-space" style={{ height: `${virtualizer.current.getTotalSize()}px` }}>
        {items.map(({ index, start }) => (
          <div
            key={index}
            role="listitem"
            aria-setsize={count}
            aria-posinset={index + 1}
            class="virtual-row"
            style={{ height: `${rowPx}px`, transform: `translateY(${start}px)` }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
