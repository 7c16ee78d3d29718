/** `diff`: what a spec would change, and whether it may be deployed; scripts see the exit code. */

import type { JsonObject } from "../../domain/json.ts";
import type { Violation } from "../../domain/refusal.ts";
import { diffSpecs, type SpecDiff } from "../../domain/spec/diff.ts";
import type { DataCheck } from "../../domain/spec/data_check.ts";
import { counted, showDataCheck } from "./show_data_check.ts";
import { post, readDeployed } from "./deploy.ts";
import { openOutput, type Output, type Paint } from "../terminal/output.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { EXIT_MISUSED } from "../terminal/settings.ts";
import { showDiff } from "./show_diff.ts";
import { EXIT_REFUSED, showFaults } from "./spec_faults.ts";
import { readSpecFile, type SpecFile } from "./spec_file.ts";

export interface DiffOptions extends CommonOptions {
  readonly against?: string;
  /** False with `--no-check-data`. */
  readonly checkData: boolean;
  readonly allowChanges?: boolean;
}

/** The exit code for a spec that differs and may be deployed. */
const EXIT_DIFFERS = 3;

interface Finding {
  readonly diff: SpecDiff;
  readonly verdict: SpecDiff["verdict"] | "invalid";
  /** What is refused, as the server says it. */
  readonly violations: readonly Violation[];
  readonly warnings: readonly Violation[];
  readonly check?: DataCheck;
  /** What it was compared with. */
  readonly against: string;
  readonly version?: number;
}

export async function diff(path: string, options: DiffOptions): Promise<void> {
  const output = openOutput(options);
  const file = await specOrExit(output, path);
  const finding = options.against === undefined
    ? await compareWithServer(await openSession(options), file, options)
    : compareFiles(file, await specOrExit(output, options.against));
  report(output, file, finding);
  const code = { same: 0, compatible: EXIT_DIFFERS, refused: EXIT_REFUSED, invalid: EXIT_REFUSED };
  const isFine = finding.verdict === "compatible" && options.allowChanges;
  Deno.exit(isFine ? 0 : code[finding.verdict]);
}

async function specOrExit(output: Output, path: string): Promise<SpecFile> {
  const read = await readSpecFile(path);
  if (read.ok) return read.file;
  const { error, hint } = read;
  return output.fail({ error, error_type: "spec_unreadable", hint }, EXIT_MISUSED);
}

function compareFiles(file: SpecFile, other: SpecFile): Finding {
  const found = diffSpecs(other.spec, file.spec);
  const violations = found.changes.filter(({ effect }) => effect === "refused")
    .map(({ path, meaning, rule = "", hint = "" }) => ({ path, message: meaning, rule, hint }));
  const { verdict } = found;
  return { diff: found, verdict, violations, warnings: [], against: other.path };
}

async function compareWithServer(
  session: Session,
  file: SpecFile,
  { checkData }: DiffOptions,
): Promise<Finding> {
  const { output, environment } = session;
  const before = await readDeployed(session);
  if (!before.ok) return output.fail(before.failure, before.code);
  const { spec, version } = before;
  const against = spec === undefined
    ? `${environment}, which has no spec yet`
    : `${environment}, version ${version}`;
  const same = diffSpecs(spec, file.spec, []);
  if (same.verdict === "same") {
    return { diff: same, verdict: "same", violations: [], warnings: [], against, version };
  }
  const tried = await tryDeploy(session, file, checkData);
  const { violations, warnings, check } = tried;
  const incompatible = tried.isInvalid ? [] : violations;
  const found = diffSpecs(spec, file.spec, incompatible);
  const verdict = tried.isInvalid ? "invalid" : found.verdict;
  return { diff: found, verdict, violations, warnings, check, against, version };
}

interface Tried extends Pick<Finding, "violations" | "warnings" | "check"> {
  readonly isInvalid: boolean;
}

/** Asks the server, which has the last word, and knows what is stored. */
async function tryDeploy(session: Session, file: SpecFile, checkData: boolean): Promise<Tried> {
  const { output } = session;
  const progress = output.progress(`Asking ${session.environment}`);
  let answer = await post(session, file, { dry_run: true, check_data: checkData });
  const isOld = !answer.ok && answer.failure.status === 400 &&
    /check_data/.test(answer.failure.error);
  if (isOld) answer = await post(session, file, { dry_run: true });
  const isRefused = !answer.ok && answer.failure.error_type === "spec_incompatible";
  // What the data says is worth knowing of a refused spec, too; production does not allow it.
  const forced = isRefused && checkData && !isOld && session.environment !== "production"
    ? await post(session, file, { dry_run: true, check_data: true, force: true })
    : undefined;
  progress.end();
  if (isOld) output.note("This server does not try stored events yet; it may be older than this.");
  if (answer.ok) return { ...partsOf(answer.value), violations: [], isInvalid: false };
  const violations = answer.failure.violations as readonly Violation[] | undefined;
  if (violations === undefined) return output.fail(answer.failure, answer.code);
  const parts = forced?.ok ? partsOf(forced.value) : { warnings: [] };
  return { ...parts, violations, isInvalid: !isRefused };
}

function partsOf(answer: JsonObject): Pick<Finding, "warnings" | "check"> {
  const { warnings, data_check } = answer;
  return {
    warnings: (warnings ?? []) as unknown as readonly Violation[],
    ...(data_check !== undefined && { check: data_check as unknown as DataCheck }),
  };
}

function report(output: Output, file: SpecFile, finding: Finding): void {
  const { diff: found, verdict, violations, warnings, check, version } = finding;
  const value = {
    verdict,
    ...(version !== undefined && { version }),
    changes: found.changes,
    folded_again: found.folded_again,
    violations,
    warnings,
    ...(check !== undefined && { data_check: check }),
  };
  output.result(value, () => {
    const { paint } = output;
    const parts = [
      showDiff(found, paint),
      showFaults(verdict === "invalid" ? violations : [], file, paint, "red"),
      showFaults(warnings, file, paint, "yellow"),
      check === undefined ? "" : showDataCheck(check, paint),
      summary(finding, paint),
    ];
    return parts.filter((part) => part !== "").join("\n\n");
  });
}

function summary({ verdict, diff: { changes, folded_again }, against }: Finding, paint: Paint) {
  if (verdict === "same") return `No difference from ${against}.`;
  const changed = counted(changes.length, "change");
  if (verdict === "invalid") return `${paint("red", "Not a valid spec")}; a deploy is refused.`;
  const refused = changes.filter(({ effect }) => effect === "refused").length;
  if (verdict === "refused") {
    return `${paint("red", "Refused")}: ${refused} of ${changed} from ${against} ` +
      `${refused === 1 ? "breaks" : "break"} what clients send today.`;
  }
  const states = folded_again.length === 0
    ? ""
    : ` States of ${folded_again.join(", ")} are computed again.`;
  return `${paint("green", "Compatible")}: ${changed} from ${against}.${states}`;
}
