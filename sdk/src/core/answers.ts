/** The answers of the server as types. Names are those of the wire; times are Unix seconds. */

import type { ClientTypes } from "./client_types.ts";

/** A type and an id, as actors and targets have them. */
export interface Party<Type extends string = string> {
  readonly type: Type;
  readonly id: string;
}

/** The answer of a write of one event. */
export interface Written {
  readonly ok: true;
  /** The `id` of the event in the listing of its stream. */
  readonly stream_id: string;
  /** How many events it implies and schedules, if any. */
  readonly implied_count?: number;
}

/** The answer of a batch, and of `update()`. */
export interface WrittenBatch {
  readonly ok: true;
  readonly stream_ids: readonly string[];
  /** How many events were written; 0 if `update()` had nothing to write. */
  readonly count: number;
  readonly implied_count?: number;
}

/** The answer of an atomic write. */
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

/** A state, as `get()` gives it. */
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

/** An event to be written: its type and its data. */
export type NewEvent<Events> = {
  readonly [Type in keyof Events & string]: { readonly type: Type; readonly data: Events[Type] };
}[keyof Events & string];

/** What the server stores beside the data of an event. */
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

/** An event as it is stored; narrows on `type`. */
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

/** An event in the listing of its stream; with `raw: true` its stored text instead. */
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

/** A page of a list. */
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

/** The answer of `near()`. */
export interface NearbyAnswer {
  readonly ok: true;
  readonly data: readonly Nearby[];
  readonly limit: number;
  readonly truncated: boolean;
}

/** A page of the feed. */
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

/** A row of a projection. */
export interface ProjectionRow<Row> {
  readonly data: Row;
  readonly metadata: {
    readonly key: string;
    readonly updated_at: number;
    /** The length of the aggregate's stream as the row shows it. */
    readonly position: number;
    readonly error?: {
      readonly error_id: string;
      readonly error_type: string;
      readonly since: number;
    };
  };
}

/** How far rows are behind. */
export interface Freshness {
  /** Whether these are the last good rows of a broken projection. */
  readonly stale?: boolean;
  /** Commits of the environment that are not shown yet, if the server says it. */
  readonly lag?: number;
}

/** The answer of `$projections.row()`. */
export interface RowAnswer<Row> extends ProjectionRow<Row>, Freshness {
  readonly ok: true;
}

/** The answer of a query in SQL. */
export interface SqlAnswer<Row> extends Freshness {
  readonly ok: true;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly row_count: number;
  readonly truncated: boolean;
}

/** An event that will be written later. */
export interface Scheduled {
  readonly scheduled_id: string;
  readonly [field: string]: unknown;
}

/** A saga in a list. */
export interface SagaSummary {
  readonly saga_id: string;
  readonly name: string;
  readonly state: SagaState;
  readonly started_at: number;
  readonly trigger: EventReference;
}

/** See docs/reference/sagas.md, "States". */
export type SagaState = "running" | "completed" | "compensating" | "compensated" | "failed";

/** A saga with its progress. */
export interface Saga extends SagaSummary {
  readonly updated_at: number;
  readonly waiting_for?: {
    readonly step: string;
    readonly key?: string;
    readonly event_types?: readonly string[];
    readonly until?: number;
  };
  readonly history: readonly {
    readonly at: number;
    readonly step: string;
    readonly outcome: string;
    readonly event?: EventReference;
    readonly reason?: string;
  }[];
}

/** The record of a 5xx, or of a reaction that failed. */
export interface ErrorRecord {
  readonly error_id: string;
  readonly error_type: string;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly request_id: string;
  readonly occurred_at: string;
}

/** A listener and the state of its deliveries. */
export interface Listener {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  readonly deliveries: Readonly<Record<DeliveryState, number>>;
  readonly counted_to: number;
  readonly circuit: { readonly state: "closed" | "open" | "half_open"; readonly until?: number };
}

/** See docs/reference/listeners.md, "Answers and retries". */
export type DeliveryState = "pending" | "delivered" | "dead" | "dropped";

/** An event on its way to a listener, or what became of it. */
export interface Delivery {
  readonly delivery_id: string;
  readonly event: { readonly key: string; readonly stream_id: string };
  readonly created_at: string;
  readonly state: DeliveryState;
  readonly reason?: string;
  readonly ended_at?: string;
  readonly next_try_at?: string;
  readonly attempts: number;
  readonly tries: readonly {
    readonly at: string;
    readonly status?: number;
    readonly failure?: string;
    readonly duration_ms: number;
  }[];
}

/** A signed root over all streams of an environment. */
export interface Anchor {
  readonly format: number;
  readonly id: string;
  readonly instance_id: string;
  readonly environment: string;
  readonly merkle_root: string;
  readonly event_count: number;
  readonly stream_count: number;
  readonly created_at: string;
  readonly signature: string;
  readonly public_key: string;
}

/** A key that signs anchors. */
export interface SigningKey {
  readonly ok: true;
  readonly algorithm: string;
  readonly public_key: string;
  readonly created_at: string;
  readonly instance_id?: string;
  readonly environment?: string;
  readonly keys?: readonly { readonly public_key: string; readonly created_at: string }[];
}

/** The proof of one event, for `@daybook/client/verify`; its parts are as the server sent them. */
export interface Attestation {
  readonly ok: true;
  readonly [part: string]: unknown;
}
