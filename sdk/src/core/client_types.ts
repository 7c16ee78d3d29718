/**
 * The form of the types that a client is made with: `createClient<Shop>`. `daybook types` writes an
 * interface of this form, and `TypesOf<typeof spec>` of `defineSpec` has it too.
 */

/**
 * One aggregate type: its state, and the data of each of its event types.
 *
 * ```ts
 * import type { AggregateTypes } from "@daybook/client";
 * interface Order extends AggregateTypes {
 *   readonly state: { readonly total?: number };
 *   readonly events: { readonly was_paid: { readonly amount: number } };
 * }
 * const amount: Order["events"]["was_paid"]["amount"] = 12.5;
 * console.log(amount);
 * ```
 */
export interface AggregateTypes {
  readonly state: object;
  readonly events: Readonly<Record<string, object>>;
}

/**
 * What one deployed spec knows.
 *
 * ```ts
 * import type { ClientTypes } from "@daybook/client";
 * interface Bank extends ClientTypes {
 *   readonly aggregates: {
 *     readonly account: {
 *       readonly state: { readonly balance?: number };
 *       readonly events: { readonly was_credited: { readonly amount: number } };
 *     };
 *   };
 *   readonly actors: "person";
 *   readonly targets: never;
 * }
 * const actor: Bank["actors"] = "person";
 * console.log(actor);
 * ```
 */
export interface ClientTypes {
  readonly aggregates: Readonly<Record<string, AggregateTypes>>;
  /** The actor types of the spec, its `agent_types`. */
  readonly actors: string;
  /** Its `target_types`; `never` if it has none. */
  readonly targets: string;
}

/**
 * For clients without types: everything may be there, and nothing is known of it.
 *
 * ```ts
 * import type { AnyTypes, Client } from "@daybook/client";
 * async function lengthOf(db: Client<AnyTypes>, type: string, id: string): Promise<number> {
 *   return (await db[type]!(id).length().orThrow()).length;
 * }
 * console.log(lengthOf.name);
 * ```
 */
export interface AnyTypes extends ClientTypes {
  readonly aggregates: Readonly<
    // deno-lint-ignore no-explicit-any
    Record<string, { readonly state: any; readonly events: Readonly<Record<string, any>> }>
  >;
}
