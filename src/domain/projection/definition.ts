/** A projection that has been checked, ready to compute rows. Decisions, section 15. */

import type { Evaluation } from "../handler/evaluation.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { StreamKey } from "../stream_key.ts";
import type { Column } from "./view.ts";

/** Where the value of an alias comes from. `slot`: its place among the bindings of a row. */
export type CompiledSource =
  | { readonly kind: "key"; readonly slot: number }
  | { readonly kind: "include"; readonly slot: number; readonly stream: StreamKey }
  | {
    readonly kind: "one" | "array";
    readonly slot: number;
    readonly type: string;
    /** The id, or the ids; what is no identifier names nothing. */
    readonly readIds: (evaluation: Evaluation) => JsonValue | undefined;
  };

export interface CompiledColumn extends Column {
  /** Undefined: nothing is there. May throw `StateTooLarge`. */
  readonly read: (evaluation: Evaluation) => JsonValue | undefined;
}

/**
 * Where a document is from. What is stored was checked when it was deployed, maybe by an older
 * version of the service: paths that never find anything are no faults then.
 */
export type ProjectionOrigin = "deploy" | "store";

/** What of a spec a projection is checked against. */
export interface KnownNames {
  readonly aggregateTypes: ReadonlyMap<string, unknown>;
  readonly singletons: ReadonlySet<string>;
}

export interface CompiledProjection {
  readonly name: string;
  readonly document: JsonObject;
  /** The aggregate type that has a row for each aggregate. */
  readonly forEach: string;
  /** Whether ids with a tag have rows too. */
  readonly includesSubstreams: boolean;
  /** In steps: those of one step need only what the steps before have found. */
  readonly steps: readonly (readonly CompiledSource[])[];
  readonly columns: readonly CompiledColumn[];
  /** All aggregate types that it reads. */
  readonly types: ReadonlySet<string>;
  /** Streams that every row reads. */
  readonly includes: ReadonlySet<StreamKey>;
  /** What an id has to be. */
  readonly singletons: ReadonlySet<string>;
}
