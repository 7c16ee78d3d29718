/** `defineSpec`: a spec in TypeScript, whose types need no generation. */

import type { EventData } from "./schema_types.ts";
import type { SpecForm } from "./spec_form.ts";
import type { StateOf } from "./state_types.ts";

/**
 * Gives back the spec as it is, with its literal types. `daybook deploy` takes a module that
 * exports it, and {@link TypesOf} has its types for the client.
 *
 * ```ts
 * import { createClient, defineSpec, type TypesOf } from "@daybook/client";
 *
 * const spec = defineSpec({
 *   agent_types: ["user"],
 *   aggregate_types: {
 *     counter: {
 *       events: {
 *         was_counted: {
 *           schema: {
 *             type: "object",
 *             properties: { by: { type: "integer" } },
 *             required: ["by"],
 *             additionalProperties: false,
 *           },
 *           handler: { increment: { target: "count", by: "$.data.by" } },
 *         },
 *       },
 *     },
 *   },
 * });
 *
 * const db = createClient<TypesOf<typeof spec>>({
 *   url: "http://127.0.0.1:8002",
 *   key: "dbk_0_test_...",
 *   actor: { type: "user", id: "global" },
 * });
 * await db.counter("main").was_counted({ by: 2 });
 * const state = await db.counter("main").get();
 * if (state.ok) console.log(state.data.count ?? 0);
 * ```
 */
export function defineSpec<const Spec extends SpecForm>(spec: Spec): Spec {
  return spec;
}

/** The data of each event type that clients write; names with `_` are the platform's own. */
type EventTypes<Events> = {
  readonly [Type in Exclude<keyof Events, `_${string}`>]: EventData<Events[Type]>;
};

type AggregateOf<Aggregate> = Aggregate extends { readonly events: infer Events } ? {
    readonly state: StateOf<Events>;
    readonly events: EventTypes<Events>;
  }
  : never;

/**
 * The types of a spec in the form that `createClient` takes, as `daybook types` writes them.
 *
 * ```ts
 * import { defineSpec, type TypesOf } from "@daybook/client";
 *
 * const spec = defineSpec({
 *   agent_types: ["user"],
 *   aggregate_types: { note: { events: { was_written: { schema: true, handler: [] } } } },
 * });
 * type Notes = TypesOf<typeof spec>;
 * const actor: Notes["actors"] = "user";
 * ```
 */
export type TypesOf<Spec extends SpecForm> = {
  readonly aggregates: {
    readonly [Type in keyof Spec["aggregate_types"]]: AggregateOf<Spec["aggregate_types"][Type]>;
  };
  readonly actors: Spec["agent_types"][number];
  readonly targets: Spec extends { readonly target_types: readonly (infer Name)[] } ? Name : never;
};
