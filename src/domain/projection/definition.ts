/**
 * The types of a checked projection, ready to compute rows.
 *
 * See docs/reference/projections.md.
 */

import type { Evaluation } from "../handler/evaluation.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { StreamKey } from "../identifier.ts";
import type { Column } from "./ready_projection.ts";
import type { Texts } from "../lookup/text_map.ts";

/** Where the value of an alias comes from. `slot` is its index in the bindings of a row. */
export type CompiledSource =
  | { readonly kind: "key"; readonly slot: number }
  | { readonly kind: "include"; readonly slot: number; readonly stream: StreamKey }
  | {
    readonly kind: "one" | "array";
    readonly slot: number;
    readonly type: string;
    /**
     * Reads the id, or the list of ids; a value that is not a valid identifier names no
     * aggregate.
     */
    readonly readIds: (evaluation: Evaluation) => JsonValue | undefined;
  };

export interface CompiledColumn extends Column {
  /** Undefined if there is no value. Throws `BudgetSpent` or `StateTooLarge`. */
  readonly read: (evaluation: Evaluation) => JsonValue | undefined;
}

/**
 * Where a document comes from. A stored document was checked when it was deployed, perhaps by
 * an older version of the service; it is therefore not refused for paths that never find
 * anything.
 */
export type ProjectionOrigin = "deploy" | "store";

/** The parts of a spec that a projection is checked against. */
export interface KnownNames {
  readonly aggregateTypes: ReadonlyMap<string, unknown>;
  readonly singletons: Texts;
}

export interface CompiledProjection {
  readonly name: string;
  readonly document: JsonObject;
  /** The aggregate type whose aggregates each have a row. */
  readonly forEach: string;
  /** Whether ids with a tag have rows too. */
  readonly includesSubstreams: boolean;
  /** The sources in steps: a source needs only the states found by earlier steps. */
  readonly steps: readonly (readonly CompiledSource[])[];
  readonly columns: readonly CompiledColumn[];
  /** All aggregate types the projection reads. */
  readonly types: ReadonlySet<string>;
  /** Streams that every row reads. */
  readonly includes: Texts<StreamKey>;
  /** The singletons of the spec, which ids are checked against. */
  readonly singletons: Texts;
}
