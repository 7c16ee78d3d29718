/** What is followed: the feed, one stream, one state; how their frames and pages are read. */

import type { AnyEvent, EventEntry, FeedPage, StateMetadata } from "./answers.ts";
import type { ClientTypes } from "./client_types.ts";
import { follow, type FollowOptions, type Step, type Wire } from "./follow.ts";
import type { Call } from "./refusal.ts";
import { type CallOptions, readFrom, type Transport } from "./transport.ts";

/** The names by which the feed is filtered: `order`, `order.*`, `order.was_placed`. */
export type FeedTypes<Types extends ClientTypes> = {
  [Name in keyof Types["aggregates"] & string]:
    | Name
    | `${Name}.*`
    | `${Name}.${keyof Types["aggregates"][Name]["events"] & string}`;
}[keyof Types["aggregates"] & string];

/** Which events of the feed. */
export interface FeedFilter<Types extends ClientTypes, Raw extends boolean> {
  /** `start` (default), `now`, or a cursor: begins behind it. */
  readonly from?: string;
  readonly types?: readonly FeedTypes<Types>[];
  /** Gives `raw`, the stored text, instead of `event`. */
  readonly raw?: Raw;
}

/**
 * How the feed is followed.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { cursor, event } of db.$feed({ types: ["order.was_paid"] })) {
 *   console.log(cursor, event.key);
 *   break;
 * }
 * ```
 */
export interface FeedOptions<
  Types extends ClientTypes,
  Raw extends boolean = false,
  Notices extends boolean = false,
> extends FeedFilter<Types, Raw>, FollowOptions {
  /** Also gives what is no event: `caught_up` and `erased`. */
  readonly notices?: Notices;
}

/**
 * Options of one page of the feed.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const { data, next } = await db.$feedPage({ types: ["order"], limit: 10, wait: 1 }).orThrow();
 * console.log(data.length, next);
 * ```
 */
export interface FeedPageOptions<Types extends ClientTypes, Raw extends boolean = false>
  extends FeedFilter<Types, Raw>, CallOptions {
  readonly limit?: number;
  /** Waits so many seconds, at most 30, if there is nothing yet. */
  readonly wait?: number;
}

/**
 * An event of the feed, with the cursor to go on from once it is dealt with.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { FeedEvent } from "@daybook/client";
 * import type { Shop } from "./shop.ts";
 * function show({ event }: FeedEvent<Shop>): void {
 *   if (event.type === "was_registered") console.log(event.data.name);
 * }
 * for await (const item of db.$feed()) {
 *   show(item);
 *   break;
 * }
 * ```
 */
export type FeedEvent<Types extends ClientTypes, Raw extends boolean = false> =
  & { readonly type: "event"; readonly cursor: string }
  & AnyEvent<Types, Raw>;

/** Nothing is left for now. */
export interface FeedCaughtUp {
  readonly type: "caught_up";
  readonly cursor: string;
}

/** A stream was erased: what was kept of its events is to be removed. */
export interface FeedErased {
  readonly type: "erased";
  readonly key: string;
  readonly cursor: string;
}

/**
 * What the feed gives; narrows on `type`.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const item of db.$feed({ notices: true })) {
 *   if (item.type === "erased") console.log("remove what was kept of", item.key);
 *   if (item.type === "event") console.log(item.event.type);
 *   if (item.type === "caught_up") break;
 * }
 * ```
 */
export type FeedItem<Types extends ClientTypes, Raw extends boolean, Notices extends boolean> =
  Notices extends true ? FeedEvent<Types, Raw> | FeedCaughtUp | FeedErased : FeedEvent<Types, Raw>;

/**
 * How one stream is followed.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { id, event } of db.order("main").tail({ start: "000000000000" })) {
 *   console.log(id, event.type);
 *   break;
 * }
 * ```
 */
export interface TailOptions<Raw extends boolean = false, Notices extends boolean = false>
  extends FollowOptions {
  /** The id of an event: begins behind it. Default: with the first event. */
  readonly start?: string;
  readonly raw?: Raw;
  /** Also gives what is no event: `caught_up` and `erased`. */
  readonly notices?: Notices;
}

/**
 * What the tail of a stream gives; narrows on `type`.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const item of db.order("main").tail({ notices: true })) {
 *   if (item.type === "event") console.log(item.id, item.event.type);
 *   if (item.type === "caught_up") break;
 * }
 * ```
 */
export type TailItem<Events, Raw extends boolean, Notices extends boolean> =
  | ({ readonly type: "event" } & EventEntry<Events, Raw>)
  | (Notices extends true ? { readonly type: "caught_up"; readonly next_start?: string } | {
      readonly type: "erased";
      readonly key: string;
    }
    : never);

/**
 * How one state is followed.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { data, metadata } of db.order("main").live({ after_length: 1 })) {
 *   console.log(metadata.length, data.status);
 *   break;
 * }
 * ```
 */
export interface LiveOptions extends FollowOptions {
  /** Begins with the first state of a stream of more events. Default: with the state there is. */
  readonly after_length?: number;
}

/**
 * A state of a stream that is followed.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { LiveState } from "@daybook/client";
 * import type { OrderState } from "./shop.ts";
 * function show({ data }: LiveState<OrderState>): void {
 *   console.log(data.status);
 * }
 * for await (const state of db.order("main").live()) {
 *   show(state);
 *   break;
 * }
 * ```
 */
export interface LiveState<State> {
  readonly data: State;
  readonly metadata: StateMetadata;
}

/** An item that is given to those who asked for notices, and to all if it is an event. */
function itemOf(type: string, fields: object, notices: boolean | undefined): object | undefined {
  return type === "event" || notices ? { type, ...fields } : undefined;
}

type LooseFeed = FeedOptions<ClientTypes, boolean, boolean>;

export function followFeed(
  transport: Transport,
  { from, types, raw, notices, ...options }: LooseFeed = {},
): AsyncIterableIterator<object, void> {
  let isTold = false;
  const stepOf = (type: string, data: Wire): Step<object> => ({
    item: itemOf(type, data, notices),
    place: data.cursor,
  });
  return follow(transport, {
    path: "/_feed",
    query: { types: types?.join(), raw },
    start: from,
    behind: (from) => ({ from }),
    read: (kind, data) => data.cursor === undefined ? undefined : stepOf(kind, data),
    readPage({ data, erased = [], next, up_to_date }) {
      const steps = [
        ...data.map((entry: Wire) => stepOf("event", entry)),
        ...erased.map((erasure: Wire) => stepOf("erased", erasure)),
      ].sort((a, b) => a.place < b.place ? -1 : 1);
      if (steps.length > 0) isTold = false;
      if (up_to_date && !isTold) steps.push(stepOf("caught_up", { cursor: next }));
      isTold = up_to_date;
      return [...steps, { place: next }];
    },
  }, options);
}

export function readFeedPage(
  transport: Transport,
  { types, wait, ...options }: FeedPageOptions<ClientTypes, boolean> = {},
): Call<FeedPage<AnyEvent<ClientTypes, boolean>>> {
  const live = wait === undefined ? undefined : "long-poll";
  const query = { types: types?.join(), wait, live };
  return readFrom(transport, "/_feed", { ...options, ...query } as CallOptions);
}

export function followStream(
  transport: Transport,
  path: string,
  { start, raw, notices, ...options }: TailOptions<boolean, boolean> = {},
): AsyncIterableIterator<object, void> {
  let isTold = false;
  let last = start;
  const stepOf = (type: string, data: Wire): Step<object> => ({
    item: itemOf(type, data, notices),
    place: data.id ?? data.next_start,
  });
  return follow(transport, {
    path: `${path}/events`,
    query: { raw },
    start,
    behind: (start) => ({ start }),
    read: (kind, data) => kind === "refused" ? undefined : stepOf(kind, data),
    readPage({ data, truncated }) {
      const steps = data.map((entry: Wire) => stepOf("event", entry));
      last = data.at(-1)?.id ?? last;
      if (steps.length > 0) isTold = false;
      if (!truncated && !isTold) steps.push(stepOf("caught_up", last ? { next_start: last } : {}));
      isTold = !truncated;
      return steps;
    },
  }, options);
}

export function followState(
  transport: Transport,
  path: string,
  { after_length, ...options }: LiveOptions = {},
): AsyncIterableIterator<LiveState<object>, void> {
  const stepOf = ({ data, metadata }: Wire): Step<LiveState<object>> => ({
    item: { data, metadata },
    place: String(metadata.length),
  });
  return follow(transport, {
    path,
    query: {},
    start: after_length === undefined ? undefined : String(after_length),
    behind: (after_length) => ({ after_length }),
    read: (kind, data) => kind === "state" ? stepOf(data) : undefined,
    // A wait that ended without a state has no body.
    readPage: (page) => page.metadata === undefined ? [] : [stepOf(page)],
    isNewestOnly: true,
  }, options);
}
