/** What a spec would mean for stored data. */

/**
 * What a new spec would mean for stored events: which ones its schemas refuse, and which states its
 * handlers change.
 *
 * @example
 * ```ts
 * import type { DataCheck } from "@daybook/client/admin";
 *
 * function isSafe({ refused, changed, complete }: DataCheck): boolean {
 *   return complete && refused.length === 0 && changed.length === 0;
 * }
 * console.log(isSafe.name);
 * ```
 */
export interface DataCheck {
  /** How many stored events were tried. */
  readonly events: number;
  readonly refused: readonly {
    readonly event_type: string;
    readonly count: number;
    readonly examples: readonly unknown[];
  }[];
  /** How many aggregates were folded under both specs. */
  readonly aggregates: number;
  readonly changed: readonly {
    readonly type: string;
    readonly count: number;
    readonly examples: readonly {
      readonly key: string;
      readonly before: unknown;
      readonly after: unknown;
    }[];
  }[];
  /** What the guards of the new spec say of stored events; absent if it has none. */
  readonly guards?: {
    readonly judged: number;
    readonly failed: readonly {
      readonly event_type: string;
      /** Which of the guards of its type. */
      readonly guard: number;
      readonly message: string;
      readonly count: number;
      readonly examples: readonly { readonly key: string; readonly id: string }[];
    }[];
    /** Guards that look at states of modules: they are not tried. */
    readonly untried: number;
  };
  /** Whether everything was looked at. */
  readonly complete: boolean;
  readonly [field: string]: unknown;
}
