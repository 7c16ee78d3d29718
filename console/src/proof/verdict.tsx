/** What a verification has found, step by step. */

import type { BundleVerdict, VerifyStep } from "@daybook/client/verify";
import { JsonView } from "../parts/json_view.tsx";
import { StatusChip } from "../parts/status_chip.tsx";

/** The steps in their order, and what each shows. */
const STEPS: readonly (readonly [step: VerifyStep, shows: string])[] = [
  ["key", "The pinned key is one that only its owner can sign with."],
  ["form", "The bundle has all parts of a proof, each in its form."],
  ["event", "The stored text belongs to this stream."],
  [
    "counts",
    "The place of the event and the length of the proof fit the numbers of events and streams.",
  ],
  ["chain", "The hash before it and its stored text give its chain hash."],
  ["stream_proof", "That hash leads to the root of the stream."],
  ["instance_proof", "The root of the stream leads to the root of the anchor."],
  ["anchor", "The anchor is of this instance and this environment."],
  ["signature", "The pinned key has signed the anchor."],
];

export function Verdict({ verdict }: { verdict: BundleVerdict }) {
  const failed = verdict.ok ? STEPS.length : STEPS.findIndex(([step]) => step === verdict.step);
  return (
    <>
      <p class={`note ${verdict.ok ? "good" : "danger"}`} role="status">
        {verdict.ok
          ? <strong>Proven: this event was stored as shown.</strong>
          : <strong>Not proven: {verdict.message}</strong>}
      </p>
      <ol aria-label="Steps">
        {STEPS.map(([step, shows], at) => (
          <li key={step}>
            {shows} <StatusChip state={stateOf(at, failed)} tone={toneOf(at, failed)} />
          </li>
        ))}
      </ol>
      {verdict.ok && (
        <>
          <p>
            Anchored on{" "}
            <time>{String(verdict.proven.anchor.created_at)}</time>. Only this is proven:
          </p>
          <JsonView value={verdict.proven.event} />
        </>
      )}
    </>
  );
}

function stateOf(at: number, failed: number): string {
  if (at < failed) return "holds";
  return at === failed ? "does not hold" : "not reached";
}

function toneOf(at: number, failed: number): "good" | "danger" | "neutral" {
  if (at < failed) return "good";
  return at === failed ? "danger" : "neutral";
}
