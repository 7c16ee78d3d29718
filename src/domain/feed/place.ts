/**
 * Places in the feed of an environment, and the cursors that clients get for them. See
 * docs/reference/feed.md.
 *
 * A cursor is hexadecimal text of fixed length. Cursors of one environment sort bytewise in feed
 * order.
 */

/**
 * Where a record of the commit log is: epoch (4 digits), stamp of the commit (20), part (4). Places
 * sort in feed order. The history that was filled in later is in epoch 0, before all commits.
 */
export type LogPlace = string;

const PLACE_CHARACTERS = 28;
const OFFSET_CHARACTERS = 6;
const CHECK_CHARACTERS = 8;
const CURSOR = /^[0-9a-f]{42}$/;

/** Before everything. */
export const FEED_START: LogPlace = "0".repeat(PLACE_CHARACTERS);

/** An offset behind everything that a record has. */
export const WHOLE_RECORD = 0xffffff;

/** Everything up to and including one event is done. */
export interface FeedPosition {
  readonly place: LogPlace;
  /** The number of the event within the record, from 0; or {@link WHOLE_RECORD}. */
  readonly offset: number;
}

/** Behind nothing: a reader who goes on from here reads everything. */
export const BEFORE_EVERYTHING: FeedPosition = { place: FEED_START, offset: WHOLE_RECORD };

/** `check` identifies the feed: eight hexadecimal digits. */
export function formatCursor({ place, offset }: FeedPosition, check: string): string {
  return place + offset.toString(16).padStart(OFFSET_CHARACTERS, "0") + check;
}

/** Undefined if the text is no cursor of the feed that `check` identifies. */
export function parseCursor(text: string, check: string): FeedPosition | undefined {
  if (!CURSOR.test(text) || text.slice(-CHECK_CHARACTERS) !== check) return undefined;
  const offset = text.slice(PLACE_CHARACTERS, PLACE_CHARACTERS + OFFSET_CHARACTERS);
  return { place: text.slice(0, PLACE_CHARACTERS), offset: Number.parseInt(offset, 16) };
}
