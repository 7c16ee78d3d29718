/** Requests and pages of the feed, independent of HTTP. See docs/reference/feed.md. */

import type { StreamKey } from "../identifier.ts";

export interface FeedRequest {
  /** `start`, `now` or a cursor, as sent. */
  readonly from: string;
  /** Which events are wanted, as sent; absent: all. */
  readonly types?: string;
  /** From 1 to `limits.feedPageMax`. */
  readonly limit: number;
  /** Bytes of the entries; absent: `limits.pageBytesMax`. The first entry may have more. */
  readonly bytesMax?: number;
}

export interface FeedEntry {
  readonly cursor: string;
  readonly key: StreamKey;
  /** The id of the event within its stream. */
  readonly id: string;
  readonly hash: string;
  /** The stored bytes as text. */
  readonly raw: string;
}

/** A stream whose events have become erasure markers; the cursor is behind the erasure. */
export interface FeedErasure {
  readonly key: StreamKey;
  readonly cursor: string;
}

/** Entries and erasures in feed order. */
export interface FeedPage {
  readonly entries: readonly FeedEntry[];
  readonly erased: readonly FeedErasure[];
  /** The cursor to go on from. */
  readonly next: string;
  /** Whether nothing was behind the page when it was read. */
  readonly isUpToDate: boolean;
  /** Whether the time before the feed is still being filled in; nothing of it is shown before. */
  readonly isBuilding: boolean;
}
