/** Answers about an environment as a whole, as types: tables, sagas, listeners, evidence. */

import type { EventReference } from "./answers.ts";

/**
 * A row of a projection.
 *
 * ```ts
 * import { db } from "./db.ts";
 * interface Total {
 *   readonly total: number;
 * }
 * const row = await db.$projections.row<Total>("order_totals", "7KD2M9QXA");
 * if (row.ok) console.log(row.data.total, row.metadata.position);
 * ```
 */
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

/**
 * The answer of a query in SQL.
 *
 * ```ts
 * import { db } from "./db.ts";
 * interface Count {
 *   readonly orders: number;
 * }
 * const sql = "SELECT count(*) AS orders FROM order_totals WHERE total > ?";
 * const found = await db.$sql<Count>(sql, [10]);
 * if (found.ok) console.log(found.rows[0]?.orders);
 * ```
 */
export interface SqlAnswer<Row> extends Freshness {
  readonly ok: true;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly row_count: number;
  readonly truncated: boolean;
}

/**
 * An event that will be written later.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { scheduled_id } of db.$scheduled.list()) {
 *   await db.$scheduled.cancel(scheduled_id);
 * }
 * ```
 */
export interface Scheduled {
  readonly scheduled_id: string;
  readonly [field: string]: unknown;
}

/**
 * How many aggregates and events a type has.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { type, aggregates, events } of db.$types.list()) {
 *   console.log(type, aggregates, events);
 * }
 * ```
 */
export interface TypeCount {
  readonly type: string;
  readonly aggregates: number;
  readonly events: number;
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

/**
 * A saga with its progress.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { saga_id } of db.$sagas.list({ state: "failed" })) {
 *   const { saga } = await db.$sagas.get(saga_id).orThrow();
 *   console.log(saga.name, saga.history.at(-1)?.reason);
 * }
 * ```
 */
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

/**
 * The record of a 5xx, or of a reaction that failed.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { error_id, message } of db.$errors.list()) console.log(error_id, message);
 * ```
 */
export interface ErrorRecord {
  readonly error_id: string;
  readonly error_type: string;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly request_id: string;
  readonly occurred_at: string;
}

/**
 * A listener and the state of its deliveries.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { name, circuit } of db.$listeners.list()) console.log(name, circuit.state);
 * ```
 */
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

/**
 * An event on its way to a listener, or what became of it.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const dead = await db.$listeners.deliveriesPage("billing", { state: "dead" });
 * if (dead.ok) {
 *   for (const { delivery_id, reason } of dead.data) console.log(delivery_id, reason);
 * }
 * ```
 */
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

/**
 * A signed root over all streams of an environment.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const latest = await db.$audit.anchor("latest");
 * if (latest.ok) console.log(latest.anchor.merkle_root);
 * ```
 */
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

/**
 * The proof of one event, for `@daybook/client/verify`; its parts are as the server sent them.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const bundle = await db.order("7KD2M9QXA").attestation(0);
 * if (bundle.ok) console.log(JSON.stringify(bundle));
 * else if (bundle.error_type === "beyond_anchor_coverage") console.log("wait for the next anchor");
 * ```
 */
export interface Attestation {
  readonly ok: true;
  readonly [part: string]: unknown;
}

/** An event, as its effects name it. An erased one has no type. */
interface EventName {
  readonly key: string;
  readonly stream_id?: string;
  readonly event_type?: string;
  readonly erased?: true;
}

/**
 * What one event has set off. Of an erased one only implied events are known.
 *
 * ```ts
 * import type { EventEffects } from "@daybook/client";
 * import { db } from "./db.ts";
 *
 * const describe = ({ event_type, implied, scheduled = [] }: EventEffects) =>
 *   `${event_type}: ${implied.length} implied, ${scheduled.length} scheduled`;
 * const found = await db.order("7KD2M9QXA").effects(0);
 * if (found.ok) console.log(found.data.map(describe));
 * ```
 */
export interface EventEffects extends EventName {
  /** 0 for the event that was asked for, 1 for those that it has implied, and so on. */
  readonly depth: number;
  /** `pending` while it is not written yet. */
  readonly implied: readonly (EventName & { readonly pending?: true })[];
  readonly scheduled?: readonly {
    readonly scheduled_id: string;
    readonly state: "pending" | "fired" | "cancelled";
    readonly key: string;
    readonly event_type: string;
    readonly fire_at: string;
    readonly ended_at?: string;
    /** The event that it became. */
    readonly stream_id?: string;
    readonly cancelled_by?: {
      readonly reason: "event" | "request" | "operator" | "failed" | "erased";
      readonly key?: string;
      readonly event_type?: string;
      readonly stream_id?: string;
    };
  }[];
  readonly sagas?: readonly {
    readonly saga_id: string;
    readonly name: string;
    readonly state: SagaState;
    /** False for one that awaited the event. */
    readonly started: boolean;
    readonly steps: readonly {
      readonly at: number;
      readonly step: string;
      readonly outcome: string;
      readonly event?: { readonly key: string; readonly stream_id: string };
      readonly reason?: string;
    }[];
  }[];
  readonly deliveries?: readonly {
    readonly listener: string;
    readonly delivery_id: string;
    readonly state: DeliveryState;
  }[];
}

/**
 * What an event has set off: the event itself, then the events that it has implied.
 *
 * ```ts
 * import { db } from "./db.ts";
 *
 * const found = await db.order("7KD2M9QXA").effects(0, { depth: 3 });
 * if (found.ok && !found.complete) console.log("older effects may be missing");
 * ```
 */
export interface Effects {
  readonly ok: true;
  readonly data: readonly EventEffects[];
  /** False if something may be missing: ended schedules are known for 30 days. */
  readonly complete: boolean;
  /** Whether the answer ends before everything is told. */
  readonly truncated: boolean;
}
