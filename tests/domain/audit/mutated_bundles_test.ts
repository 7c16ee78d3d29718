/**
 * At least 50,000 changed bundles are refused, and three verifiers agree on each. None is
 * refused by a crash. The verifiers share no code: the product's, the standalone one and the
 * one in Python. AUDIT_MUTATIONS says how many must be refused, AUDIT_SEED repeats a run.
 */

import assert from "node:assert/strict";
import { judgeBundle } from "../../../scripts/verify_bundle.ts";
import { verifyBundleBytes } from "../../../src/domain/audit/attestation.ts";
import golden from "../../golden/audit/bundles.json" with { type: "json" };
import { startAuditOracle } from "../../support/audit_oracle.ts";
import { mutateBundles, type Mutation } from "../../support/bundle_mutations.ts";

const REFUSED = Number(Deno.env.get("AUDIT_MUTATIONS") ?? 50_000);
const SEED = Number(Deno.env.get("AUDIT_SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const BATCH = 2_000;

function take(mutations: Generator<Mutation>, count: number): Mutation[] {
  return Array.from({ length: count }, () => mutations.next().value as Mutation);
}

function describe({ kind, bytes }: Mutation): string {
  return `AUDIT_SEED=${SEED}, ${kind}: ${new TextDecoder().decode(bytes)}`;
}

/** The verdict of our two verifiers, which must be the same. */
function judge(mutation: Mutation): string {
  const verdict = verifyBundleBytes(mutation.bytes);
  const step = verdict.ok ? "ok" : verdict.step;
  const alone = judgeBundle(mutation.bytes);
  if (step !== alone) assert.equal(alone, step, describe(mutation));
  if (mutation.expected !== "shape" && (step === "ok") !== (mutation.expected === "accepted")) {
    assert.fail(`must be ${mutation.expected}, but was "${step}": ${describe(mutation)}`);
  }
  return step;
}

Deno.test(`${REFUSED} changed bundles are refused, and three verifiers agree on each`, async () => {
  await using oracle = await startAuditOracle();
  const mutations = mutateBundles(golden.valid.map(({ bundle }) => bundle), SEED);
  const steps: Record<string, number> = {};
  let refused = 0;
  // Most are refused by an exception whose stack trace nobody reads.
  const traced = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  while (refused < REFUSED) {
    const batch = take(mutations, BATCH);
    // The Python process judges meanwhile.
    const asked = oracle?.judge(batch.map(({ bytes }) => bytes));
    const verdicts = batch.map(judge);
    for (const [number, other] of (await asked ?? []).entries()) {
      if (other !== verdicts[number]) {
        assert.equal(verdicts[number], other, describe(batch[number]!));
      }
    }
    for (const [number, step] of verdicts.entries()) {
      steps[step] = (steps[step] ?? 0) + 1;
      if (batch[number]!.expected === "refused") refused++;
    }
  }
  Error.stackTraceLimit = traced;
  console.log(`seed ${SEED}: ${JSON.stringify(steps)}`);
  for (
    const step of [
      "ok",
      "form",
      "event",
      "counts",
      "chain",
      "stream_proof",
      "instance_proof",
      "signature",
    ]
  ) {
    assert.ok((steps[step] ?? 0) >= REFUSED / 500, `too few ended at "${step}" to tell anything`);
  }
});
