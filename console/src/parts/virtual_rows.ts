/** Which rows of a list of any length are visible, and scrolling to one. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  driftOf,
  type Extent,
  insideOf,
  moved,
  mustSettle,
  offsetToShow,
  type Position,
  type Rows,
  scrollAt,
  spacePxOf,
  visibleRows,
} from "./row_places.ts";

export interface VirtualRowsOptions extends Rows {
  /**
   * Is told which rows are visible, so that they can be loaded; while they fly by, only once they
   * rest.
   */
  readonly onRange?: (first: number, last: number) => void;
  /** A row that should be visible. */
  readonly shownIndex?: number;
}

export interface VirtualRow {
  readonly index: number;
  /** Its distance from the beginning of the space. */
  readonly startPx: number;
}

export interface VirtualRows {
  /** For the element that scrolls. */
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** The rows to draw. */
  readonly items: readonly VirtualRow[];
  /** The height of the space that they stand in. */
  readonly spacePx: number;
}

/** Rows beyond the visible ones that are drawn, so that scrolling shows no gap. */
const OVERSCAN = 8;
/** Without a move for so long, scrolling has paused. */
const PAUSE_MS = 100;

/** What is drawn of the rows. */
interface Shown {
  readonly first: number;
  /** -1 as long as the height of the element is not known. */
  readonly last: number;
  /** How far the rows stand from where they would in a space of their height. */
  readonly shiftPx: number;
}

export function useVirtualRows(
  { count, rowPx, onRange, shownIndex }: VirtualRowsOptions,
): VirtualRows {
  const scroller = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<Shown>({ first: 0, last: -1, shiftPx: 0 });
  const scroll = useMemo(() => createScroll(scroller, setShown), []);
  useLayoutEffect(scroll.follow, []);
  useLayoutEffect(() => scroll.resize({ count, rowPx }), [count, rowPx]);
  useLayoutEffect(() => {
    if (shownIndex !== undefined) scroll.show(shownIndex);
  }, [shownIndex]);
  const { first, shiftPx } = shown;
  const last = Math.min(shown.last, count - 1);
  useEffect(() => {
    if (last < 0 || onRange === undefined) return;
    if (!scroll.isFast()) return onRange(first, last);
    const timer = setTimeout(() => onRange(first, last), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [first, last, count]);
  const items = Array.from(
    { length: Math.max(0, last - first + 1) },
    (_, at) => ({ index: first + at, startPx: (first + at) * rowPx + shiftPx }),
  );
  return { scroller, items, spacePx: spacePxOf({ count, rowPx }) };
}

interface Scroll {
  /** Follows the element from now on, and returns what ends that. */
  follow(): () => void;
  /** Takes another number of rows. */
  resize(rows: Rows): void;
  show(index: number): void;
  /** Whether the last move was over more rows than are visible. */
  isFast(): boolean;
}

function createScroll(
  scroller: RefObject<HTMLDivElement | null>,
  show: (shown: Shown) => void,
): Scroll {
  let rows: Rows = { count: 0, rowPx: 1 };
  let position: Position = { scrollPx: 0, offsetPx: 0 };
  let drawn: Shown | undefined;
  let isFast = false;
  let pause: ReturnType<typeof setTimeout> | undefined;

  function extent(): Extent {
    const { scrollHeight, clientHeight } = scroller.current!;
    return {
      reachPx: scrollHeight - clientHeight,
      hiddenPx: rows.count * rows.rowPx - spacePxOf(rows),
      viewPx: clientHeight,
    };
  }

  function draw(viewPx: number): void {
    const { first, last } = visibleRows(rows, position, viewPx, OVERSCAN);
    const shiftPx = Math.round(position.scrollPx - position.offsetPx);
    if (first === drawn?.first && last === drawn.last && shiftPx === drawn.shiftPx) return;
    drawn = { first, last, shiftPx };
    show(drawn);
  }

  /** Scrolls to where the rows of this offset are by the thumb. */
  function put(wantedPx: number, now: Extent): void {
    const element = scroller.current!;
    const offsetPx = insideOf(now, wantedPx);
    element.scrollTop = scrollAt(offsetPx, now);
    // The browser may have rounded it.
    const scrollPx = element.scrollTop;
    position = { scrollPx, offsetPx: now.hiddenPx === 0 ? scrollPx : offsetPx };
    draw(now.viewPx);
  }

  function settle(): void {
    const now = extent();
    if (driftOf(position, now) >= 1) put(position.offsetPx, now);
  }

  function onScroll(): void {
    const now = extent();
    const before = position.offsetPx;
    position = moved(position, scroller.current!.scrollTop, now);
    isFast = Math.abs(position.offsetPx - before) > now.viewPx;
    clearTimeout(pause);
    if (mustSettle(position, now)) return put(position.offsetPx, now);
    pause = setTimeout(settle, PAUSE_MS);
    draw(now.viewPx);
  }

  return {
    follow() {
      const element = scroller.current!;
      const sizes = new ResizeObserver(() => put(position.offsetPx, extent()));
      sizes.observe(element);
      element.addEventListener("scroll", onScroll, { passive: true });
      return () => {
        sizes.disconnect();
        element.removeEventListener("scroll", onScroll);
        clearTimeout(pause);
      };
    },
    resize(changed) {
      rows = changed;
      put(position.offsetPx, extent());
    },
    show(index) {
      const now = extent();
      const { offsetPx } = position;
      const wanted = offsetToShow(index, position, now, rows.rowPx);
      if (wanted === offsetPx) return;
      isFast = false;
      put(wanted, now);
    },
    isFast: () => isFast,
  };
}
