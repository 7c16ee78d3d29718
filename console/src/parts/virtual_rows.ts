/** Which rows of a long list are visible. All rows are equally high. */

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface VirtualRowsOptions {
  readonly count: number;
  readonly rowPx: number;
  /** Is told which rows are visible, so that they can be loaded. */
  readonly onRange?: (first: number, last: number) => void;
  /** A row that should be visible. */
  readonly shownIndex?: number;
}

export interface VirtualRows {
  /** For the element that scrolls. */
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** The rows to draw, with their distance from the first. */
  readonly items: readonly VirtualItem[];
  /** The height of all rows. */
  readonly totalPx: number;
}

/** Rows beyond the visible ones that are drawn, so that scrolling shows no gap. */
const OVERSCAN = 8;

export function useVirtualRows(
  { count, rowPx, onRange, shownIndex }: VirtualRowsOptions,
): VirtualRows {
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
  return { scroller, items, totalPx: virtualizer.current.getTotalSize() };
}
