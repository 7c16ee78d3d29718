/** The steps of each verification in their order, and how far one came. */

import type { VerifyStep } from "@daybook/client/verify";
import type { Judged } from "./evidence.ts";

/** `not asked`: nobody has said what is meant, so there was nothing to compare. */
export type StepState = "holds" | "does not hold" | "not reached" | "not asked";

type Steps = readonly (readonly [step: VerifyStep, shows: string])[];

const STEPS: Readonly<Record<Judged["kind"], Steps>> = {
  bundle: [
    ["key", "Each trusted key is one that only its owner can sign with."],
    ["form", "The bundle has all parts of a proof, each in its form."],
    ["event", "The stored text belongs to this stream."],
    [
      "counts",
      "The place of the event and the length of the proof fit the numbers of events and streams.",
    ],
    ["chain", "The hash before it and its stored text give its chain hash."],
    ["stream_proof", "That hash leads to the root of the stream."],
    ["instance_proof", "The root of the stream leads to the root of the anchor."],
    ["anchor", "The anchor is of the instance and the environment that are meant."],
    ["signature", "A trusted key has signed the anchor."],
  ],
  receipt: [
    ["key", "Each trusted key is one that only its owner can sign with."],
    ["form", "The receipt has all its parts, each in its form, and no others."],
    ["event", "The receipt is of the stream that is meant."],
    ["anchor", "The receipt is of the instance and the environment that are meant."],
    ["signature", "A trusted key has signed the receipt."],
  ],
};

export interface StepRow {
  readonly step: VerifyStep;
  readonly shows: string;
  readonly state: StepState;
}

/** Steps that compare with what the reader means, and with nothing else. */
const ASKED: Readonly<Record<Judged["kind"], ReadonlySet<VerifyStep>>> = {
  bundle: new Set<VerifyStep>(["anchor"]),
  receipt: new Set<VerifyStep>(["event", "anchor"]),
};

export function stepRows({ kind, verdict, checks }: Judged): readonly StepRow[] {
  const steps = STEPS[kind];
  const failed = verdict.ok ? steps.length : steps.findIndex(([step]) => step === verdict.step);
  return steps.map(([step, shows], at) => {
    const isAsked = !ASKED[kind].has(step) || checks.some((check) => check.step === step);
    return { step, shows, state: stateOf(at - failed, isAsked) };
  });
}

/** `distance`: from the step that failed, below 0 before it. */
function stateOf(distance: number, isAsked: boolean): StepState {
  if (distance > 0) return "not reached";
  if (distance === 0) return "does not hold";
  return isAsked ? "holds" : "not asked";
}
