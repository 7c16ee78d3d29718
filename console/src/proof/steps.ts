/** The steps of each verification in their order, and how far one came. */

import type { VerifyStep } from "@daybook/client/verify";
import type { Judged } from "./evidence.ts";

/**
 * `not asked`: nobody has said what is meant, so there was nothing to compare. `asked in part`:
 * what was compared is the same, but something that the step names was not said.
 */
export type StepState =
  | "holds"
  | "does not hold"
  | "not reached"
  | "asked in part"
  | "not asked";

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

/** Steps that compare with what the reader means, and with nothing else: how many things each. */
const MEANT: Readonly<Record<Judged["kind"], Readonly<Partial<Record<VerifyStep, number>>>>> = {
  bundle: { anchor: 2 },
  receipt: { event: 1, anchor: 2 },
};

export function stepRows({ kind, verdict, checks }: Judged): readonly StepRow[] {
  const steps = STEPS[kind];
  const failed = verdict.ok ? steps.length : steps.findIndex(([step]) => step === verdict.step);
  return steps.map(([step, shows], at) => {
    if (at > failed) return { step, shows, state: "not reached" };
    if (at === failed) return { step, shows, state: "does not hold" };
    const made = checks.filter((check) => check.step === step).length;
    return { step, shows, state: stateOf(made, MEANT[kind][step] ?? 0) };
  });
}

/** The state of a step in which nothing failed, by the comparisons that it made and could make. */
function stateOf(made: number, meant: number): StepState {
  if (made >= meant) return "holds";
  return made > 0 ? "asked in part" : "not asked";
}
