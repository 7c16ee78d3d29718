/** The answers of the server as types. Names are those of the wire; times are Unix seconds. */

import type { ClientTypes } from "./client_types.ts";

/**
 * A type and an id, as actors and targets have them.
 *
 * ```ts
 * import type { Party } from "@daybook/client";
 * const ada: Party<"user"> = { type: "user", id: "7KD2M9QXA" };
 * console.log(`${ada.type}:${ada.id}`);
 * ```
 */
export interface Party<Type extends string = string> {
  readonly type: Type;
  readonly id: string;
}

/**
 * The answer of a write of one event.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const { stream_id } = await db.order("7KD2M9QXA").was_placed({ customer: "Ada" }).orThrow();
 * console.log(stream_id);
 * ```
 */
export interface Written {
  readonly ok: true;
  /** The `id` of the event in the listing of its stream. */
  readonly stream_id: string;
  /** How many events it implies and schedules, if any. */
  readonly implied_count?: number;
}

/**
 * The answer of a batch, and of `update()`.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const written = await db.order("7KD2M9QXA").batch([
 *   { type: "was_placed", data: { customer: "Ada" } },
 *   { type: "was_paid", data: { amount: 12.5 } },
 * ]).orThrow();
 * console.log(written.count, written.stream_ids);
 * ```
 */
export interface WrittenBatch {
  readonly ok: true;
  readonly stream_ids: readonly string[];
  /** How many events were written; 0 if `update()` had nothing to write. */
  readonly count: number;
  readonly implied_count?: number;
}

/**
 * The answer of an atomic write.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const written = await db.$atomic([
 *   db.order("7KD2M9QXA").was_paid.event({ amount: 12.5 }),
 *   db.customer("AAAAAAAA1").was_registered.event({ name: "Ada" }),
 * ]).orThrow();
 * console.log(written.stream_ids["order:7KD2M9QXA"]);
 * ```
 */
export interface WrittenAtomic {
  readonly ok: true;
  readonly written: number;
  /** By `<type>:<id>`. */
  readonly stream_ids: Readonly<Record<string, readonly string[]>>;
}

/** What is known of a stream beside its state. */
export interface StateMetadata {
  /** The number of events. Give it as `previous_length` to write only if nobody else has. */
  readonly length: number;
  readonly created_at: number | null;
  readonly updated_at: number | null;
}

/**
 * A state, as `get()` gives it.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { StateAnswer } from "@daybook/client";
 * function ageOf({ metadata }: StateAnswer<unknown>): number {
 *   return (metadata.updated_at ?? 0) - (metadata.created_at ?? 0);
 * }
 * console.log(ageOf(await db.order("main").get().orThrow()));
 * ```
 */
export interface StateAnswer<State> {
  readonly ok: true;
  readonly data: State;
  readonly metadata: StateMetadata;
}

/** The answer of `length()`. */
export interface LengthAnswer {
  readonly ok: true;
  readonly length: number;
}

/**
 * An event to be written: its type and its data.
 *
 * ```ts
 * import type { NewEvent } from "@daybook/client";
 * interface OrderEvents {
 *   readonly was_paid: { readonly amount: number };
 * }
 * const event: NewEvent<OrderEvents> = { type: "was_paid", data: { amount: 12.5 } };
 * console.log(event.type);
 * ```
 */
export type NewEvent<Events> = {
  readonly [Type in keyof Events & string]: { readonly type: Type; readonly data: Events[Type] };
}[keyof Events & string];

/**
 * What the server stores beside the data of an event.
 *
 * ```ts
 * import type { EventMetadata } from "@daybook/client";
 * function isOfService({ actor, implied_by }: EventMetadata): boolean {
 *   return actor.type === "system_agent" || implied_by !== undefined;
 * }
 * console.log(isOfService({ actor: { type: "user", id: "global" }, timestamp: 1767225600 }));
 * ```
 */
export interface EventMetadata {
  readonly actor: Party;
  readonly target?: Party;
  readonly previous_length?: number;
  readonly timestamp: number;
  readonly idempotency_key?: string;
  readonly implied_by?: EventReference & { readonly depth: number };
  readonly scheduled?: { readonly scheduled_id: string; readonly fire_at: number };
  readonly geo?: { readonly type: string; readonly lat: number; readonly lng: number };
  readonly saga?: {
    readonly name: string;
    readonly saga_id: string;
    readonly step: string;
    readonly phase: string;
  };
  /** Of an imported event: what it was where it comes from. */
  readonly origin?: {
    readonly source: string;
    readonly stream?: string;
    readonly id?: string;
    readonly time?: string;
    readonly position?: string;
    readonly correlation_id?: string;
    readonly causation_id?: string;
  };
}

/** Which event set something off. */
export interface EventReference {
  readonly key: string;
  readonly event_type: string;
  readonly stream_id: string;
}

/** What is left of an event whose stream was erased. */
export interface ErasedEvent {
  readonly key: string;
  readonly type: "_was_tombstoned";
  readonly data: {
    readonly tombstone_id: string;
    readonly original_type: string;
    readonly original_hash: string;
  };
  readonly metadata: EventMetadata;
}

/**
 * An event as it is stored; narrows on `type`.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { event } of db.order("7KD2M9QXA").events()) {
 *   if (event.type === "was_paid") console.log(event.data.amount);
 * }
 * ```
 */
export type StoredEvent<Events> =
  | {
    readonly [Type in keyof Events & string]: {
      /** `<aggregate type>:<id>`. */
      readonly key: string;
      readonly type: Type;
      readonly data: Events[Type];
      readonly metadata: EventMetadata;
    };
  }[keyof Events & string]
  | ErasedEvent;

/**
 * An event in the listing of its stream; with `raw: true` its stored text instead.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { EventEntry } from "@daybook/client";
 * function hashOf(entry: EventEntry<object, boolean>): string {
 *   return entry.hash;
 * }
 * for await (const entry of db.order("7KD2M9QXA").events({ raw: true })) {
 *   console.log(hashOf(entry), entry.raw.length);
 * }
 * ```
 */
export type EventEntry<Events, Raw extends boolean = false> =
  & { readonly id: string; readonly hash: string }
  & (Raw extends true ? { readonly raw: string } : { readonly event: StoredEvent<Events> });

/** The events of every type of a spec, in one union. */
export type AnyEvent<Types extends ClientTypes, Raw extends boolean = false> = {
  [Name in keyof Types["aggregates"] & string]: EventEntry<
    Types["aggregates"][Name]["events"],
    Raw
  >;
}[keyof Types["aggregates"] & string];

/**
 * A page of a list.
 *
 * ```ts
 * import { db } from "./db.ts";
 * let start: string | undefined;
 * do {
 *   const page = await db.order.listPage({ start, limit: 200 }).orThrow();
 *   console.log(page.data);
 *   start = page.next_start;
 * } while (start !== undefined);
 * ```
 */
export interface Page<Item> {
  readonly ok: true;
  readonly data: readonly Item[];
  readonly limit?: number;
  /** Whether there is more. */
  readonly truncated: boolean;
  /** Where the next page begins: give it as `start`. */
  readonly next_start?: string;
}

/** An aggregate in a list with `resolve: true`; one that cannot be read has an `error`. */
export type Resolved<State> =
  | { readonly id: string; readonly data: State; readonly metadata: StateMetadata }
  | { readonly id: string; readonly error: string; readonly data?: undefined };

/** An aggregate near a point. */
export interface Nearby {
  readonly id: string;
  /** In metres. */
  readonly distance: number;
  readonly point: { readonly lat: number; readonly lng: number };
}

/**
 * The answer of `near()`.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const near = await db.order.near({ lat: 52.52, lng: 13.405, radius: 500 });
 * if (near.ok) { for (const { id, distance } of near.data) console.log(id, distance); }
 * ```
 */
export interface NearbyAnswer {
  readonly ok: true;
  readonly data: readonly Nearby[];
  readonly limit: number;
  readonly truncated: boolean;
}

/**
 * A page of the feed.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const page = await db.$feedPage({ from: "now" }).orThrow();
 * console.log(page.next);
 * ```
 */
export interface FeedPage<Entry> {
  readonly ok: true;
  readonly data: readonly (Entry & { readonly cursor: string })[];
  /** The cursor to go on from. */
  readonly next: string;
  readonly up_to_date: boolean;
  /** Whether the past is still being filled in. */
  readonly building?: boolean;
  readonly erased?: readonly { readonly key: string; readonly cursor: string }[];
}
