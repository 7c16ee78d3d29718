/** `deploy`: makes a spec the current one of an environment, now or whenever its file changes. */

import type { JsonObject } from "../../domain/json.ts";
import type { Violation } from "../../domain/refusal.ts";
import { diffSpecs } from "../../domain/spec/diff.ts";
import type { DataCheck } from "../../domain/spec/data_check.ts";
import { showDataCheck } from "./show_data_check.ts";
import type { Failure } from "../terminal/output.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { EXIT_FAILED, EXIT_MISUSED } from "../terminal/settings.ts";
import { showDiff } from "./show_diff.ts";
import { readSpecFile, type SpecFile } from "./spec_file.ts";
import { watchFiles } from "./watch_files.ts";
import { EXIT_REFUSED, showFaults } from "./spec_faults.ts";

export interface DeployOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly checkData?: boolean;
  readonly force?: boolean;
  readonly watch?: boolean;
}

type Outcome =
  | { readonly ok: true; readonly value: JsonObject; readonly text: () => string }
  | { readonly ok: false; readonly failure: Failure; readonly code: number };

const RETRY_MS = 2_000;

export async function deploy(path: string, options: DeployOptions): Promise<void> {
  const session = await openSession(options);
  if (options.watch) return await watch(session, path, options);
  const outcome = await deployOnce(session, path, options);
  if (!outcome.ok) return session.output.fail(outcome.failure, outcome.code);
  session.output.result(outcome.value, outcome.text);
}

async function deployOnce(
  session: Session,
  path: string,
  options: DeployOptions,
): Promise<Outcome> {
  const { output, environment } = session;
  const read = await readSpecFile(path);
  if (!read.ok) {
    const failure = { error: read.error, error_type: "spec_unreadable", hint: read.hint };
    return { ok: false, failure, code: EXIT_MISUSED };
  }
  const progress = output.progress(`Deploying to ${environment}`);
  try {
    return await sendSpec(session, read.file, options, (text) => progress.say(text));
  } finally {
    progress.end();
  }
}

async function sendSpec(
  session: Session,
  file: SpecFile,
  { dryRun = false, checkData = false, force = false }: DeployOptions,
  say: (text: string) => void,
): Promise<Outcome> {
  const { environment, output: { paint } } = session;
  const before = await readDeployed(session);
  if (!before.ok) return before;
  let check: DataCheck | undefined;
  if (checkData) {
    say(`Trying the stored events of ${environment}`);
    const tried = await post(session, file, { dry_run: true, check_data: true, force });
    if (!tried.ok) return tried;
    check = tried.value.data_check as unknown as DataCheck;
    if (check !== undefined && check.refused.length > 0) return refusedEvents(session, check);
    if (dryRun) return describe(tried.value);
  }
  const sent = await post(session, file, { dry_run: dryRun, force });
  return sent.ok ? describe(sent.value) : sent;

  function describe(answer: JsonObject): Outcome {
    const { version, spec_hash, warnings } = answer;
    const faults = (warnings ?? []) as unknown as readonly Violation[];
    const diff = diffSpecs(before.ok ? before.spec : undefined, file.spec, []);
    const isSame = diff.verdict === "same";
    const value = {
      environment,
      dry_run: dryRun,
      deployed: !dryRun && !isSame,
      version,
      spec_hash,
      ...diff,
      warnings,
      ...(check !== undefined && { data_check: check }),
    } as unknown as JsonObject;
    const text = () => {
      const parts = isSame ? [] : [showDiff(diff, paint), ""];
      const notes = showFaults(faults, file, paint, "yellow");
      if (notes !== "") parts.push(notes, "");
      if (check !== undefined) parts.push(showDataCheck(check, paint), "");
      const what = isSame
        ? `Nothing to deploy: ${environment} has this spec already, as version ${version}.`
        : dryRun
        ? `${environment} would take it as version ${version}. Nothing was deployed.`
        : `${paint("green", "Deployed")} to ${environment} as version ${version}.`;
      return [...parts, what].join("\n");
    };
    return { ok: true, value, text };
  }
}

/** The current spec of the environment; undefined before the first deploy. */
export async function readDeployed(
  session: Session,
): Promise<
  | { readonly ok: true; readonly spec: JsonObject | undefined; readonly version: number }
  | (Outcome & { readonly ok: false })
> {
  const { environment } = session;
  const path = `/api/instances/${await session.instanceId()}/spec`;
  const answer = await session.tryOperator({ path, query: { environment } });
  if (answer.ok) {
    const { spec, version } = answer.body;
    return { ok: true, spec: spec as JsonObject, version: version as number };
  }
  const { failure } = answer;
  if (failure.status === 404 && /no spec/i.test(failure.error)) {
    return { ok: true, spec: undefined, version: 0 };
  }
  return { ok: false, failure, code: EXIT_FAILED };
}

export async function post(
  session: Session,
  file: SpecFile,
  flags: { readonly dry_run?: boolean; readonly check_data?: boolean; readonly force?: boolean },
): Promise<
  { readonly ok: true; readonly value: JsonObject } | (Outcome & { readonly ok: false })
> {
  const { environment, output: { paintError } } = session;
  const set = Object.fromEntries(Object.entries(flags).filter(([, isSet]) => isSet));
  const answer = await session.tryOperator({
    method: "POST",
    path: `/api/instances/${await session.instanceId()}/spec`,
    body: { environment, spec: file.spec, ...set },
  });
  if (answer.ok) return { ok: true, value: answer.body };
  const { failure } = answer;
  const violations = failure.violations as readonly Violation[] | undefined;
  if (violations === undefined) return { ok: false, failure, code: EXIT_FAILED };
  const isInvalid = failure.error_type === "spec_invalid";
  const canForce = !isInvalid && environment !== "production";
  const error = isInvalid
    ? `The spec is not valid (${violations.length}).`
    : `The spec would break what clients of ${environment} send today (${violations.length}).`;
  const hint = showFaults(violations, file, paintError, "red") +
    (canForce ? "\n\nOutside of production, --force deploys it all the same." : "");
  return { ok: false, failure: { ...failure, error, hint }, code: EXIT_REFUSED };
}

function refusedEvents({ environment, output }: Session, check: DataCheck): Outcome {
  const failure = {
    error: `${environment} has events that the new schemas would refuse. Nothing was deployed.`,
    error_type: "stored_events_refused",
    hint:
      `${showDataCheck(check, output.paintError)}\n\nEvents that are stored stay. If new ones of ` +
      "this form may be refused, deploy without --check-data.",
    data_check: check,
  };
  return { ok: false, failure, code: EXIT_REFUSED };
}

/** Deploys now and after each change, until the process is stopped. */
async function watch(session: Session, path: string, options: DeployOptions): Promise<void> {
  const { output, environment } = session;
  const watching = watchFiles([{ path, run: () => deployAndTell(session, path, options) }]);
  await watching.trigger(path);
  output.note(`Watching ${path} for ${environment}. Ctrl-C ends.`);
  await watching.ended;
}

/** Deploys and says how that went. Returns when to try again if the server was not there. */
export async function deployAndTell(
  session: Session,
  path: string,
  options: DeployOptions,
): Promise<number | void> {
  const { output } = session;
  const outcome = await deployOnce(session, path, options);
  if (outcome.ok) return output.line({ ok: true, ...outcome.value }, outcome.text);
  const { failure } = outcome;
  output.line({ ok: false, ...failure }, () => {
    const lines = [`${output.paint("red", "error:")} ${failure.error}`, failure.hint];
    return lines.filter((line) => line !== undefined).join("\n");
  });
  return failure.error_type === "unreachable" ? RETRY_MS : undefined;
}
