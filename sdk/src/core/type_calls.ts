/** The calls of an aggregate type: `db.order.list()`, `db.order.near()`. */

import type { NearbyAnswer, Page, Resolved } from "./answers.ts";
import type { AggregateTypes } from "./client_types.ts";
import { itemsOf } from "./iterate.ts";
import type { Call } from "./refusal.ts";
import { type CallOptions, readFrom, type Transport } from "./transport.ts";

/**
 * Which aggregates of a type.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { id, data } of db.order.list({ resolve: true, limit: 100 })) {
 *   if (data !== undefined) console.log(id, data.total);
 * }
 * ```
 */
export interface ListOptions<Resolve extends boolean = false> extends CallOptions {
  /** Only ids that begin so. */
  readonly prefix?: string;
  /** Only ids behind this one. */
  readonly start?: string;
  /** The size of a page. */
  readonly limit?: number;
  /** Gives states, not ids. */
  readonly resolve?: Resolve;
  /** With `resolve`: folds every event, without cache. */
  readonly synchronous?: boolean;
}

/**
 * A point and how far around it, in metres.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const options = { lat: 52.52, lng: 13.405, radius: 500 };
 * const near = await db.order.near(options);
 * if (!near.ok) console.log(near.error);
 * ```
 */
export interface NearOptions extends CallOptions {
  readonly lat: number;
  readonly lng: number;
  readonly radius?: number;
  readonly limit?: number;
}

/** What a list gives: ids, or states with their ids. */
export type Listed<State, Resolve extends boolean> = Resolve extends true ? Resolved<State>
  : string;

/**
 * The calls of an aggregate type as a whole.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const { data } = await db.customer.listPage({ limit: 10 }).orThrow();
 * console.log(data);
 * ```
 */
export interface TypeCalls<Aggregate extends AggregateTypes> {
  /** The ids of all aggregates with events, or their states. Throws {@link DaybookError}. */
  list<Resolve extends boolean = false>(
    options?: ListOptions<Resolve>,
  ): AsyncIterableIterator<Listed<Aggregate["state"], Resolve>, void>;

  /** One page of them. */
  listPage<Resolve extends boolean = false>(
    options?: ListOptions<Resolve>,
  ): Call<Page<Listed<Aggregate["state"], Resolve>>>;

  /** The aggregates around a point, nearest first. */
  near(options: NearOptions): Call<NearbyAnswer>;
}

export function createType(transport: Transport, type: string): object {
  const path = `/${type}`;
  const listPage = (options?: ListOptions<boolean>) =>
    readFrom<Page<unknown>>(transport, path, options);
  return {
    listPage,
    list: (options: ListOptions<boolean> = {}) =>
      itemsOf(options, (place) => listPage({ ...options, ...place })),
    near: (options: NearOptions) => readFrom<NearbyAnswer>(transport, `${path}/nearby`, options),
  };
}
