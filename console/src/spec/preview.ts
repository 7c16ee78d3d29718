/**
 * What a deploy would do, asked before it is done: the difference from the deployed spec, the
 * verdict of the server in a dry run, and what the stored data says. Writes nothing.
 */

import type { Refusal } from "@daybook/client";
import type { Admin, DataCheck, Deployed } from "@daybook/client/admin";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Violation } from "../../../src/domain/refusal.ts";
import { diffSpecs, type SpecDiff } from "../../../src/domain/spec/diff.ts";
import { violationsOf } from "./findings.ts";
import { rebuiltProjections } from "./rebuilt_projections.ts";

/** What is deployed now; version 0 is none. */
export interface Base {
  readonly ok: true;
  readonly version: number;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface Preview {
  readonly base: Base;
  readonly spec: JsonObject;
  readonly verdict: "same" | "accepted" | "incompatible" | "invalid";
  /** What the server refuses. */
  readonly violations: readonly Violation[];
  readonly warnings: readonly Violation[];
  /** Absent for a spec that is invalid, whose parts mean nothing. */
  readonly diff?: SpecDiff;
  readonly check?: DataCheck;
  /** Why the stored data was not asked. */
  readonly unchecked?: Refusal;
  /** The projections that a deploy rebuilds; absent if they could not be listed. */
  readonly rebuilt?: readonly string[];
}

export interface PreviewOptions {
  readonly isProduction: boolean;
  readonly signal: AbortSignal;
}

export async function readBase(admin: Admin, signal?: AbortSignal): Promise<Base | Refusal> {
  const answer = await admin.specs.current({ signal });
  if (!answer.ok && answer.error_type === "not_found") return { ok: true, version: 0 };
  return answer;
}

export async function makePreview(
  admin: Admin,
  spec: JsonObject,
  { isProduction, signal }: PreviewOptions,
): Promise<{ readonly ok: true; readonly preview: Preview } | Refusal> {
  const base = await readBase(admin, signal);
  if (!base.ok) return base;
  const tried = await tryDeploy(admin, spec, signal);
  const { answer } = tried;
  if (answer.ok) {
    const diff = diffSpecs(base.spec as JsonObject | undefined, spec, []);
    const verdict = diff.verdict === "same" ? "same" : "accepted";
    const { warnings, data_check: check } = answer;
    const { unchecked } = tried;
    const rebuilt = await readRebuilt(admin, base, spec, signal);
    const found = { base, spec, violations: [], warnings, diff, check, unchecked, rebuilt };
    return { ok: true, preview: { ...found, verdict } };
  }
  const violations = violationsOf(answer);
  if (violations === undefined) return answer;
  if (answer.error_type === "spec_invalid") {
    const preview = { base, spec, verdict: "invalid", violations, warnings: [] } as const;
    return { ok: true, preview };
  }
  const diff = diffSpecs(base.spec as JsonObject | undefined, spec, violations);
  // What the data says is worth knowing of a refused spec, too; production does not allow it.
  const forced = isProduction ? undefined : await tryDeploy(admin, spec, signal, true);
  const taken = forced?.answer.ok ? forced.answer : undefined;
  const preview = {
    base,
    spec,
    verdict: "incompatible",
    violations,
    warnings: taken?.warnings ?? [],
    diff,
    check: taken?.data_check,
    unchecked: forced?.unchecked,
    rebuilt: isProduction ? undefined : await readRebuilt(admin, base, spec, signal),
  } as const;
  return { ok: true, preview };
}

/** As many projections as an environment may have. */
const PROJECTIONS_MAX = 100;

async function readRebuilt(
  admin: Admin,
  base: Base,
  spec: JsonObject,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const answer = await admin.projections.listPage({ limit: PROJECTIONS_MAX, signal });
  return answer.ok && base.spec !== undefined
    ? rebuiltProjections(base.spec as JsonObject, spec, answer.data)
    : undefined;
}

interface Tried {
  readonly answer: Deployed | Refusal;
  readonly unchecked?: Refusal;
}

/** A check of the data may have to wait for another one; the verdict does not. */
async function tryDeploy(
  admin: Admin,
  spec: JsonObject,
  signal: AbortSignal,
  force = false,
): Promise<Tried> {
  const options = { dry_run: true, ...(force && { force }), signal };
  const answer = await admin.deploy(spec, { ...options, check_data: true });
  if (answer.ok || violationsOf(answer) !== undefined || signal.aborted) return { answer };
  return { answer: await admin.deploy(spec, options), unchecked: answer };
}
