/**
 * Where the rows of a long list stand. All rows are equally high, so their places are computed.
 *
 * No browser draws an element of any height: Firefox ends at 17.9 million pixels. So a longer list
 * is drawn in a space of less height than its rows have together. Near both ends of the space one
 * of its pixels is one of the rows; between them, it stands for several. Only the thumb of the
 * scrollbar feels that: what moves by little (wheel, keys, fingers) moves the rows by as much.
 */

/** Well below what browsers allow, and whole pixels are exact for those who draw. */
export const SPACE_PX_MAX = 8_000_000;
/** So far from each end, a pixel is a pixel. Farther than one goes without a pause. */
export const EDGE_PX = 100_000;

export interface Extent {
  /** How far the element scrolls. */
  readonly reachPx: number;
  /** By how much its rows are higher together than their space. */
  readonly hiddenPx: number;
  /** The height that is visible. */
  readonly viewPx: number;
}

export interface Position {
  /** How far the element has scrolled. */
  readonly scrollPx: number;
  /** How far that is in rows. */
  readonly offsetPx: number;
}

export interface Rows {
  readonly count: number;
  readonly rowPx: number;
}

export function spacePxOf({ count, rowPx }: Rows): number {
  return Math.min(count * rowPx, SPACE_PX_MAX);
}

/** What the thumb points at: the place in the rows for one in the space. Rises with it. */
export function offsetAt(scrollPx: number, { reachPx, hiddenPx }: Extent): number {
  const at = within(scrollPx, reachPx);
  const edgePx = Math.min(EDGE_PX, reachPx / 2);
  if (at <= edgePx) return at;
  if (at >= reachPx - edgePx) return at + hiddenPx;
  const betweenPx = reachPx - 2 * edgePx;
  return edgePx + (at - edgePx) * (betweenPx + hiddenPx) / betweenPx;
}

/** The reverse of `offsetAt()`. */
export function scrollAt(offsetPx: number, { reachPx, hiddenPx }: Extent): number {
  const at = within(offsetPx, reachPx + hiddenPx);
  const edgePx = Math.min(EDGE_PX, reachPx / 2);
  if (at <= edgePx) return at;
  if (at >= reachPx + hiddenPx - edgePx) return at - hiddenPx;
  const betweenPx = reachPx - 2 * edgePx;
  return edgePx + (at - edgePx) * betweenPx / (betweenPx + hiddenPx);
}

/** The position after the element has scrolled: by little as the rows, by much as the thumb. */
export function moved(before: Position, toPx: number, extent: Extent): Position {
  // Some browsers scroll beyond the ends for a moment.
  const scrollPx = within(toPx, extent.reachPx);
  const byPx = scrollPx - before.scrollPx;
  if (extent.hiddenPx === 0 || Math.abs(byPx) > thumbPx(extent) / 2) {
    return { scrollPx, offsetPx: offsetAt(scrollPx, extent) };
  }
  return { scrollPx, offsetPx: insideOf(extent, before.offsetPx + byPx) };
}

/** The nearest offset that there is. */
export function insideOf({ reachPx, hiddenPx }: Extent, offsetPx: number): number {
  return within(offsetPx, reachPx + hiddenPx);
}

/** How far the element scrolls while its thumb moves by a pixel, or farther. */
function thumbPx({ reachPx, viewPx }: Extent): number {
  return reachPx / Math.max(1, viewPx);
}

/** How far the thumb is from where its rows are. It is put there in the next pause. */
export function driftOf({ scrollPx, offsetPx }: Position, extent: Extent): number {
  return Math.abs(scrollPx - scrollAt(offsetPx, extent));
}

/** Whether the thumb cannot wait for a pause: it is far off, or has no way left where rows have. */
export function mustSettle(position: Position, extent: Extent): boolean {
  const driftPx = driftOf(position, extent);
  const isAtEnd = position.scrollPx < 1 || position.scrollPx > extent.reachPx - 1;
  return driftPx > EDGE_PX / 2 || (isAtEnd && driftPx >= 1);
}

/** The offset nearest to the present one at which all of a row is visible. */
export function offsetToShow(index: number, from: Position, extent: Extent, rowPx: number): number {
  const topPx = index * rowPx;
  const least = topPx + rowPx - extent.viewPx;
  return insideOf(extent, Math.min(topPx, Math.max(least, from.offsetPx)));
}

/** The rows that are visible, and `beyond` more at both ends; `last` is -1 where there are none. */
export function visibleRows(
  { count, rowPx }: Rows,
  { offsetPx }: Position,
  viewPx: number,
  beyond: number,
): { readonly first: number; readonly last: number } {
  const first = Math.floor(offsetPx / rowPx) - beyond;
  const last = Math.ceil((offsetPx + viewPx) / rowPx) - 1 + beyond;
  return { first: within(first, count - 1), last: Math.min(last, count - 1) };
}

function within(value: number, most: number): number {
  return Math.max(0, Math.min(value, most));
}
