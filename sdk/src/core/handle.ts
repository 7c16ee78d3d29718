/** The handle of one aggregate: its writes and reads. Making one sends nothing. */

import type {
  EventEntry,
  LengthAnswer,
  NewEvent,
  Page,
  Party,
  StateAnswer,
  Written,
  WrittenBatch,
} from "./answers.ts";
import type { Attestation, Effects } from "./wide_answers.ts";
import { byName } from "./by_name.ts";
import type { AggregateTypes, ClientTypes } from "./client_types.ts";
import { itemsOf } from "./iterate.ts";
import {
  followState,
  followStream,
  type LiveOptions,
  type LiveState,
  type TailItem,
  type TailOptions,
} from "./live_calls.ts";
import { type Call, callOf, type Refusal } from "./refusal.ts";
import { type CallOptions, readFrom, type Transport } from "./transport.ts";
import { type Decide, updateState } from "./update.ts";

/**
 * What a write expects of an aggregate, which need not be one that it writes to.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { Precondition } from "@daybook/client";
 * const isOpen: Precondition = {
 *   key: "order:7KD2M9QXA",
 *   require: { ne: ["@.status", "shipped"] },
 * };
 * const written = await db.order("7KD2M9QZB").write("was_placed", { customer: "7KD2M9QXD" }, {
 *   preconditions: [isOpen, { key: "order:7KD2M9QXC", exists: false }],
 * });
 * if (!written.ok) console.log(written.error_type);
 * ```
 */
export type Precondition =
  /** It has exactly so many events. */
  | { readonly key: string; readonly length: number }
  /** It has events, or has none. */
  | { readonly key: string; readonly exists: boolean }
  /** A predicate over its state holds. */
  | { readonly key: string; readonly require: object };

/**
 * What may be said about any write. Fields of the event's metadata have their names there.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const order = db.order("7KD2M9QXA");
 * const { length } = await order.length().orThrow();
 * await order.was_paid({ amount: 12.5 }, {
 *   previous_length: length,
 *   idempotencyKey: "payment 4711",
 *   timeoutMs: 5_000,
 * });
 * ```
 */
export interface WriteOptions<Types extends ClientTypes> extends CallOptions {
  /** Who writes. Default: the `actor` of the client. */
  readonly actor?: Party<Types["actors"] | "system_agent">;
  readonly target?: Party<Types["targets"]>;
  /** Writes only if the aggregate has exactly so many events. */
  readonly previous_length?: number;
  /** Says that the order of concurrent writes does not matter; the event type must allow it. */
  readonly skip_occ?: boolean;
  /** Unix seconds; not in production. */
  readonly timestamp?: number;
  /** What has to hold of any aggregates, or nothing is written: `precondition_failed`. */
  readonly preconditions?: readonly Precondition[];
  /** The name of this write, under which a repeat is recognized. Default: a new one. */
  readonly idempotencyKey?: string;
}

/**
 * An event for an atomic write, made by `db.order(id).was_placed.event(data)`.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { PlannedEvent } from "@daybook/client";
 * const planned: PlannedEvent[] = [
 *   db.order("AAAAAAAA1").was_placed.event({ customer: "Ada" }, { previous_length: 0 }),
 *   db.order("AAAAAAAA2").was_placed.event({ customer: "Bob" }),
 * ];
 * await db.$atomic(planned);
 * ```
 */
export interface PlannedEvent {
  readonly aggregate_type: string;
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly previous_length?: number;
}

/** The data may be left out if it may be empty. */
type DataAndMore<Data, More> = Record<never, never> extends Data ? [data?: Data, more?: More]
  : [data: Data, more?: More];

/**
 * Writes one event of its type.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const { was_paid } = db.order("7KD2M9QXA");
 * const written = await was_paid({ amount: 12.5 });
 * console.log(written.ok);
 * ```
 */
export interface EventCall<Data, Types extends ClientTypes> {
  (...args: DataAndMore<Data, WriteOptions<Types>>): Call<Written>;
  /** The event for an atomic write; nothing is sent. */
  event(...args: DataAndMore<Data, { readonly previous_length?: number }>): PlannedEvent;
}

/**
 * Which state: the newest, or an earlier one.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const before = await db.order("main").get({ at: 1767225600 });
 * if (!before.ok) console.log(before.error_type);
 * ```
 */
export interface GetOptions extends CallOptions {
  /** Folds every event from the first, without cache or snapshot. */
  readonly synchronous?: boolean;
  /** Folds only events up to this time, in Unix seconds. */
  readonly at?: number;
  /** Folds only so many of the first events. */
  readonly at_length?: number;
}

/**
 * Which events of a stream.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { event } of db.order("main").events({ direction: "backwards" })) {
 *   console.log("the newest is", event.type);
 *   break;
 * }
 * ```
 */
export interface EventsOptions<Raw extends boolean = false> extends CallOptions {
  /** The id of an event: begins behind it, or with `backwards` before it. */
  readonly start?: string;
  /** The size of a page. */
  readonly count?: number;
  /** Iterators go backwards from the newest event; pages are always oldest first. */
  readonly direction?: "forwards" | "backwards";
  /** Gives `raw`, the stored text, instead of `event`. */
  readonly raw?: Raw;
}

/**
 * The calls of a handle beside those named like event types.
 *
 * ```ts
 * import { db } from "./db.ts";
 * await db.inventory("main").update(({ on_hand = 0 }) =>
 *   on_hand < 10 ? { type: "was_stocked", data: { by: 100 } } : undefined
 * ).orThrow();
 * ```
 */
export interface HandleCalls<Aggregate extends AggregateTypes, Types extends ClientTypes> {
  /** `<type>:<id>`, as events name it. */
  readonly $key: string;

  /**
   * Writes one event. For event types with a name like a method of the handle; all others are
   * methods themselves.
   */
  write<Type extends keyof Aggregate["events"] & string>(
    type: Type,
    ...args: DataAndMore<Aggregate["events"][Type], WriteOptions<Types>>
  ): Call<Written>;

  /** Writes several events: all of them, in order, or none. */
  batch(
    events: readonly NewEvent<Aggregate["events"]>[],
    options?: WriteOptions<Types>,
  ): Call<WrittenBatch>;

  /** The state. Of an aggregate without events it is `not_found`. */
  get(options?: GetOptions): Call<StateAnswer<Aggregate["state"]>>;

  /** How many events there are; 0 if there are none. */
  length(options?: CallOptions): Call<LengthAnswer>;

  /** The stored events, page by page, as far as they are wanted. Throws {@link DaybookError}. */
  events<Raw extends boolean = false>(
    options?: EventsOptions<Raw>,
  ): AsyncIterableIterator<EventEntry<Aggregate["events"], Raw>, void>;

  /** One page of them, oldest first. */
  eventsPage<Raw extends boolean = false>(
    options?: EventsOptions<Raw>,
  ): Call<Page<EventEntry<Aggregate["events"], Raw>>>;

  /**
   * Reads the state, decides, and writes only if nobody else has written meanwhile; otherwise it
   * reads and decides again, at most `retries` times (default 20), then gives `occ_conflict`. A
   * lost answer is asked for again under the same key, so that each decision is stored once.
   */
  update(
    decide: Decide<Aggregate["state"], Aggregate["events"]>,
    options?: UpdateOptions<Types>,
  ): Call<WrittenBatch>;

  /**
   * The events of the stream from the first one, or from `start`, and then those that come. It goes
   * on by itself when connections end. Throws {@link DaybookError}.
   */
  tail<Raw extends boolean = false, Notices extends boolean = false>(
    options?: TailOptions<Raw, Notices>,
  ): AsyncIterableIterator<TailItem<Aggregate["events"], Raw, Notices>, void>;

  /**
   * The state, and then each newer one; of several that came meanwhile only the newest. An
   * aggregate without events is waited for. Throws {@link DaybookError}.
   */
  live(options?: LiveOptions): AsyncIterableIterator<LiveState<Aggregate["state"]>, void>;

  /**
   * What an event, named by its id or its number from 0, has set off. A `depth` of up to 8 follows
   * implied events; 1 if not given.
   */
  effects(event: number | string, options?: CallOptions & { readonly depth?: number }): Call<
    Effects
  >;

  /** The proof of one event (from 0), under the newest anchor or a given one. */
  attestation(index: number, options?: CallOptions & { readonly anchor?: string }): Call<
    Attestation
  >;
}

/**
 * Options of {@link HandleCalls.update}; the guard and the key are its own.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const sold = await db.inventory("main").update(
 *   ({ on_hand = 0 }) => ({ type: "was_counted", data: { on_hand: Math.max(0, on_hand - 1) } }),
 *   { retries: 50, signal: AbortSignal.timeout(10_000) },
 * );
 * if (!sold.ok && sold.error_type === "occ_conflict") console.log("too many at once");
 * ```
 */
export interface UpdateOptions<Types extends ClientTypes>
  extends Omit<WriteOptions<Types>, "previous_length" | "skip_occ" | "idempotencyKey" | "retries"> {
  /** How often it decides again after a conflict. */
  readonly retries?: number;
}

/**
 * One aggregate. Its event types are methods.
 *
 * ```ts
 * import type { AggregateHandle } from "@daybook/client";
 * import { db } from "./db.ts";
 * import type { Shop } from "./shop.ts";
 * type Order = AggregateHandle<Shop["aggregates"]["order"], Shop>;
 * async function isPaid(order: Order): Promise<boolean> {
 *   return (await order.get().orThrow()).data.status === "paid";
 * }
 * console.log(await isPaid(db.order("main")));
 * ```
 */
export type AggregateHandle<Aggregate extends AggregateTypes, Types extends ClientTypes> =
  & HandleCalls<Aggregate, Types>
  & {
    readonly [
      Type in Exclude<
        keyof Aggregate["events"] & string,
        keyof HandleCalls<Aggregate, Types> | "then"
      >
    ]: EventCall<Aggregate["events"][Type], Types>;
  };

/** What the client says about each write that does not say it itself. */
export interface WriteDefaults {
  readonly actor?: Party;
}

/** What a handle is made of. */
export interface HandleParts {
  readonly transport: Transport;
  readonly defaults: WriteDefaults;
  readonly type: string;
  readonly id: string;
}

type LooseOptions = WriteOptions<ClientTypes>;
type Loose = HandleCalls<AggregateTypes, ClientTypes>;

const CONFLICT_RETRIES = 20;

export function createHandle({ transport, defaults, type, id }: HandleParts): object {
  const path = `/${type}/${encodeURIComponent(id)}`;

  function write(name: string, data: object = {}, options?: LooseOptions): Call<Written> {
    return callOf(sendWrite(transport, `${path}/${name}`, { data }, { ...defaults, ...options }));
  }

  function batch(events: readonly object[], options?: LooseOptions): Call<WrittenBatch> {
    return callOf(sendWrite(transport, path, { events }, { ...defaults, ...options }));
  }

  function read<Answer extends { readonly ok: true }>(tail: string, options?: CallOptions) {
    return readFrom<Answer>(transport, path + tail, options);
  }

  type EventsPage = Page<EventEntry<AggregateTypes["events"]>>;
  const calls = {
    $key: `${type}:${id}`,
    write,
    batch,
    get: (options?: GetOptions) => read<StateAnswer<object>>("", options),
    length: (options?: CallOptions) => read<LengthAnswer>("/length", options),
    eventsPage: (options?: EventsOptions) => read<EventsPage>("/events", options),
    events: (options: EventsOptions = {}) =>
      itemsOf(options, async (place) => {
        const page = await read<EventsPage>("/events", { ...options, ...place });
        if (!page.ok || options.direction !== "backwards") return page;
        return { ...page, data: page.data.toReversed() };
      }),
    update: (
      decide: Decide<object, AggregateTypes["events"]>,
      options: UpdateOptions<ClientTypes>,
    ) => {
      const { retries = CONFLICT_RETRIES, ...rest } = options ?? {};
      const { signal, timeoutMs } = rest;
      return callOf(updateState({
        world: transport.world,
        decide,
        retries,
        signal,
        read: () => read<StateAnswer<object>>("", { signal, timeoutMs }),
        write: (events, previous_length) => batch(events, { ...rest, previous_length }),
      }));
    },
    tail: (options?: TailOptions<boolean, boolean>) => followStream(transport, path, options),
    live: (options?: LiveOptions) => followState(transport, path, options),
    effects: (event: number | string, options?: CallOptions) =>
      read<Effects>(`/events/${encodeURIComponent(event)}/effects`, options),
    attestation: (index: number, options?: CallOptions) =>
      read<Attestation>(`/audit/attestation/${index}`, options),
  };

  return byName(calls satisfies Record<keyof Loose, unknown>, (name) =>
    Object.assign(
      (data?: object, options?: LooseOptions) => write(name, data, options),
      {
        event: (data: object = {}, more?: object): PlannedEvent => ({
          aggregate_type: type,
          id,
          type: name,
          data,
          ...more,
        }),
      },
    ));
}

const PRINTABLE = /^[ -~]{1,255}$/;

/** Sends a write under an idempotency key, which is the same in every try. */
export async function sendWrite<Answer extends { readonly ok: true }>(
  transport: Transport,
  path: string,
  body: object,
  options: LooseOptions,
): Promise<Answer | Refusal> {
  const { idempotencyKey: given, signal, timeoutMs, retries, preconditions, ...metadata } = options;
  if (given !== undefined && !PRINTABLE.test(given)) {
    const error = "An idempotency key has 1 to 255 printable ASCII characters";
    return { ok: false, error_type: "bad_request", error, status: 0 };
  }
  const idempotencyKey = given ?? transport.world.newIdempotencyKey();
  return await transport.send<Answer>({
    method: "POST",
    path,
    body: { ...body, metadata, ...(preconditions && { preconditions }) },
    idempotencyKey,
    signal,
    timeoutMs,
    retries,
  });
}
