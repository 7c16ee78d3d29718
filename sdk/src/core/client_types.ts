/**
 * The form of the types that a client is made with: `createClient<Shop>`. `daybook types` writes an
 * interface of this form, and `TypesOf<typeof spec>` of `defineSpec` has it too.
 */

/** One aggregate type: its state, and the data of each of its event types. */
export interface AggregateTypes {
  readonly state: object;
  readonly events: Readonly<Record<string, object>>;
}

/** What one deployed spec knows. */
export interface ClientTypes {
  readonly aggregates: Readonly<Record<string, AggregateTypes>>;
  /** The actor types of the spec, its `agent_types`. */
  readonly actors: string;
  /** Its `target_types`; `never` if it has none. */
  readonly targets: string;
}

/** For clients without types: everything may be there, and nothing is known of it. */
export interface AnyTypes extends ClientTypes {
  readonly aggregates: Readonly<
    // deno-lint-ignore no-explicit-any
    Record<string, { readonly state: any; readonly events: Readonly<Record<string, any>> }>
  >;
}
