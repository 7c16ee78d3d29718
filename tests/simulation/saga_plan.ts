/** The saga of `world_spec.ts`, implemented a second time: what each step does and undoes. */

import type { SpecNumber } from "./world_spec.ts";

export interface PlannedStep {
  readonly name: string;
  /** Aggregate type and event type. */
  readonly emits: readonly [string, string];
  readonly undoes?: readonly [string, string];
  /** The step ends with an event of the payment that has the same id. */
  readonly awaits?: true;
  /** Skipped unless the trigger is flagged. */
  readonly isFlagged?: true;
  /** Runs only if money arrived; otherwise the step before has failed. */
  readonly isPaid?: true;
}

const RESERVE: PlannedStep = {
  name: "reserve",
  emits: ["stock", "was_reserved"],
  undoes: ["stock", "was_released"],
};
const ANNOUNCE: PlannedStep = { name: "announce", emits: ["ledger", "was_announced"] };
const OTHERS: readonly PlannedStep[] = [
  {
    name: "charge",
    emits: ["stock", "was_charged"],
    undoes: ["payment", "was_refunded"],
    awaits: true,
  },
  {
    name: "ship",
    emits: ["stock", "was_shipped"],
    undoes: ["stock", "was_returned"],
    isFlagged: true,
  },
  { name: "confirm", emits: ["order", "was_confirmed"], isPaid: true },
];

export function planOf(spec: SpecNumber): readonly PlannedStep[] {
  return [RESERVE, ...(spec === 2 ? [ANNOUNCE] : []), ...OTHERS];
}

/** Whether the spec refuses the events that the saga writes. */
export function refuses(spec: SpecNumber, [, eventType]: readonly [string, string]): boolean {
  return (spec === 2 && eventType === "was_confirmed") ||
    (spec === 3 && eventType === "was_released");
}
