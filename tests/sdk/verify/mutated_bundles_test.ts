/**
 * Changed bundles: the verifier of the client gives the verdict of the server's, of the standalone
 * one and of Python's on each of them. SDK_MUTATIONS says how many, AUDIT_SEED repeats a run.
 */

import assert from "node:assert/strict";
import { verifyBundle } from "../../../sdk/src/verify/mod.ts";
import { judgeBundle } from "../../../scripts/verify_bundle.ts";
import { verifyBundleBytes } from "../../../src/domain/audit/attestation.ts";
import golden from "../../golden/audit/bundles.json" with { type: "json" };
import { startAuditOracle } from "../../support/audit_oracle.ts";
import { mutateBundles, type Mutation } from "../../support/bundle_mutations.ts";

const COUNT = Number(Deno.env.get("SDK_MUTATIONS") ?? 10_000);
const SEED = Number(Deno.env.get("AUDIT_SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const BATCH = 1_000;
const publicKey = golden.valid[0]!.bundle.anchor.public_key;

/** The verdict of the client, which must be that of the two others. */
function judge({ bytes, kind, expected }: Mutation): string {
  const described = () => `AUDIT_SEED=${SEED}, ${kind}: ${new TextDecoder().decode(bytes)}`;
  const verdict = verifyBundle(bytes, { publicKey });
  const step = verdict.ok ? "ok" : verdict.step;
  const server = verifyBundleBytes(bytes, { publicKey });
  assert.equal(step, server.ok ? "ok" : server.step, described());
  assert.equal(step, judgeBundle(bytes, { key: publicKey }), described());
  if (expected !== "shape") assert.equal(step === "ok", expected === "accepted", described());
  return step;
}

Deno.test(`four verifiers agree on ${COUNT} changed bundles`, async () => {
  await using oracle = await startAuditOracle();
  const mutations = mutateBundles(golden.valid.map(({ bundle }) => bundle), SEED);
  const steps: Record<string, number> = {};
  for (let done = 0; done < COUNT; done += BATCH) {
    const batch = Array.from({ length: BATCH }, () => mutations.next().value as Mutation);
    // The Python process judges meanwhile. It takes the key of the bundle, of which each change
    // makes the signature wrong.
    const asked = oracle?.judge(batch.map(({ bytes }) => bytes));
    const verdicts = batch.map(judge);
    for (const [number, other] of (await asked ?? []).entries()) {
      assert.equal(verdicts[number], other, `AUDIT_SEED=${SEED}, ${batch[number]!.kind}`);
    }
    for (const step of verdicts) steps[step] = (steps[step] ?? 0) + 1;
  }
  console.log(`seed ${SEED}: ${JSON.stringify(steps)}`);
  const seen = ["ok", "form", "event", "counts", "chain", "stream_proof", "instance_proof"];
  for (const step of [...seen, "signature"]) {
    assert.ok((steps[step] ?? 0) >= COUNT / 1000, `too few ended at "${step}" to tell anything`);
  }
});
