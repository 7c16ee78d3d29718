/** `createClient`: one object for everything that an environment can be asked. */

import type { AggregateTypes, AnyTypes, ClientTypes } from "./client_types.ts";
import type { Party } from "./answers.ts";
import { byName } from "./by_name.ts";
import { type AggregateHandle, createHandle, type WriteDefaults } from "./handle.ts";
import { createType, type TypeCalls } from "./type_calls.ts";
import { createWide, type WideCalls } from "./wide_calls.ts";
import { createTransport, type Transport, type TransportOptions } from "./transport.ts";

/**
 * Where the server is, who writes, and how patient the client is.
 *
 * ```ts
 * import { type ClientOptions, createClient } from "@daybook/client";
 * const options: ClientOptions = {
 *   url: "http://127.0.0.1:8002",
 *   key: "dbk_0_test_...",
 *   retries: 2,
 *   onRetry: ({ error }, waitMs) => console.log(error, waitMs),
 * };
 * console.log(createClient(options).order!("main").$key);
 * ```
 */
export interface ClientOptions<Types extends ClientTypes = AnyTypes> extends TransportOptions {
  /** Who writes, unless a write says otherwise. */
  readonly actor?: Party<Types["actors"]>;
}

/**
 * `db.order(id)` is one aggregate, `db.order.list()` all of them.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const id of db.order.list({ prefix: "7K" })) {
 *   console.log(await db.order(id).length().orThrow());
 * }
 * ```
 */
export type AggregateType<Aggregate extends AggregateTypes, Types extends ClientTypes> =
  & ((id: string) => AggregateHandle<Aggregate, Types>)
  & TypeCalls<Aggregate>;

/**
 * Aggregate types by their names, and what belongs to all of them, which begins with `$`.
 *
 * ```ts
 * import type { Client } from "@daybook/client";
 * import type { Shop } from "./shop.ts";
 * async function place(db: Client<Shop>, id: string): Promise<boolean> {
 *   return (await db.order(id).was_placed({ customer: "Ada" })).ok;
 * }
 * console.log(place.name);
 * ```
 */
export type Client<Types extends ClientTypes = AnyTypes> =
  & WideCalls<Types>
  & {
    readonly [Name in keyof Types["aggregates"] & string]: AggregateType<
      Types["aggregates"][Name],
      Types
    >;
  };

/**
 * Makes a client. No request is sent until something is asked of it.
 *
 * ```ts
 * import { createClient } from "@daybook/client";
 *
 * interface Shop {
 *   readonly aggregates: {
 *     readonly order: {
 *       readonly state: { readonly customer?: string; readonly total?: number };
 *       readonly events: { readonly was_placed: { readonly customer: string } };
 *     };
 *   };
 *   readonly actors: "user";
 *   readonly targets: never;
 * }
 *
 * const db = createClient<Shop>({
 *   url: "http://127.0.0.1:8002",
 *   key: "dbk_0_test_...",
 *   actor: { type: "user", id: "global" },
 * });
 * const written = await db.order("7KD2M9QXA").was_placed({ customer: "Ada" });
 * if (!written.ok) console.log(written.error_type, written.error, written.hint);
 * ```
 */
export function createClient<Types extends ClientTypes = AnyTypes>(
  options: ClientOptions<Types>,
): Client<Types> {
  const transport = createTransport(options);
  const defaults: WriteDefaults = { actor: options.actor };
  const wide = createWide(transport, defaults) as unknown as Record<string, unknown>;
  return byName(wide, (name) => typeOf(transport, defaults, name)) as unknown as Client<Types>;
}

function typeOf(transport: Transport, defaults: WriteDefaults, type: string): unknown {
  return Object.assign(
    (id: string) => createHandle({ transport, defaults, type, id }),
    createType(transport, type),
  );
}
