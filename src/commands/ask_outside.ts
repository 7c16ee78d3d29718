/**
 * Transactions that need to know what modules say. A body may not wait for a module, which may take
 * seconds; so it ends where it does not know, the module is asked, and the body runs anew with the
 * answer. What was said is remembered by what was asked, so each answer is of use wherever the same
 * question comes up.
 */

import { assert } from "../domain/assert.ts";
import { limits } from "../domain/limits.ts";
import type { ModuleAnswer } from "../domain/reaction/module_question.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { CompiledSpec } from "../domain/spec/compiled.ts";
import type { Engine, Transaction } from "../kv/engine.ts";
import type { ModuleAsker } from "./ask_modules.ts";
import { foldTarget, readStreamState, type SceneParts, type StreamState } from "./judge_scene.ts";
import { ModulesToAsk } from "./prepare_reactions.ts";
import type { PreparedTarget } from "./prepared_write.ts";

/** What modules have said about one tenant's events. */
export interface OutsideAnswers {
  readonly implications: Map<string, ModuleAnswer>;
  /** Streams by their tip, and why one does not take an event behind it; by type and event too. */
  readonly streams: Map<string, StreamState>;
  readonly refusals: Map<string, string>;
}

/** A verdict on events behind the tip of a stream is needed before the body can go on. */
class VerdictNeeded extends Error {
  override readonly name = "VerdictNeeded";
  constructor(readonly target: PreparedTarget, readonly tip: string | undefined) {
    super("modules are to judge an event first");
  }
}

/** Rounds of one transaction: as many as it has events that modules have a say in. */
const ROUNDS_MAX = 500;

export interface OutsideAsker {
  /** @throws what the body throws, and an error where modules cannot be run now. */
  transact<T>(
    tenant: number,
    spec: CompiledSpec,
    body: (tx: Transaction, answers: OutsideAnswers) => Promise<T>,
  ): Promise<T>;
}

export function newOutsideAnswers(): OutsideAnswers {
  return { implications: new Map(), streams: new Map(), refusals: new Map() };
}

export function createOutsideAsker(
  engine: Engine,
  parts: SceneParts,
  asker: ModuleAsker,
): OutsideAsker {
  async function transact<T>(
    tenant: number,
    spec: CompiledSpec,
    body: (tx: Transaction, answers: OutsideAnswers) => Promise<T>,
  ): Promise<T> {
    const answers = newOutsideAnswers();
    for (let round = 0; round < ROUNDS_MAX; round++) {
      try {
        return await engine.transact((tx) => body(tx, answers));
      } catch (error) {
        if (error instanceof ModulesToAsk) await answer(tenant, spec, error, answers);
        else if (error instanceof VerdictNeeded) await judge(tenant, error, answers);
        else throw error;
      }
    }
    throw new Error("Modules are asked again and again, and the transaction does not end");
  }

  async function answer(
    tenant: number,
    spec: CompiledSpec,
    { questions }: ModulesToAsk,
    { implications }: OutsideAnswers,
  ): Promise<void> {
    const endMs = parts.host.monotonicMs() + limits.wasmRequestMsMax;
    const answered = await asker.answer(tenant, spec, questions, implications, endMs);
    if (!answered.ok) throw new Error(explainRefusal(answered.refusal));
  }

  async function judge(
    tenant: number,
    { target, tip }: VerdictNeeded,
    { streams, refusals }: OutsideAnswers,
  ): Promise<void> {
    const name = streamName(target, tip);
    const before = streams.get(name) ?? await readAt(tenant, target, tip);
    // The stream has moved since: the next round sees where it is.
    if (before === undefined) return;
    const endMs = parts.host.monotonicMs() + limits.wasmRequestMsMax;
    const after = await foldTarget(parts, tenant, target, before, endMs, () => ({}));
    if (after.ok) {
      streams.set(name, before);
      streams.set(verdictName(target, tip), after.value);
      streams.set(streamName(target, after.value.tip), after.value);
    } else if (mayPass(after.refusal)) throw new Error(explainRefusal(after.refusal));
    else refusals.set(verdictName(target, tip), explainRefusal(after.refusal));
  }

  async function readAt(
    tenant: number,
    { key, judgedAs }: PreparedTarget,
    tip: string | undefined,
  ): Promise<StreamState | undefined> {
    const found = await readStreamState(parts.reader, tenant, key, judgedAs!);
    if (!found.ok) throw new Error(explainRefusal(found.refusal));
    return found.value.tip === tip ? found.value : undefined;
  }

  return { transact };
}

/**
 * Why the handlers of `target` do not take its events behind `tip`; undefined where they do.
 * @throws {VerdictNeeded} where that is not known yet; then the transaction is to be left.
 */
export function verdictOf(
  { streams, refusals }: OutsideAnswers,
  target: PreparedTarget,
  tip: string | undefined,
): string | undefined {
  assert(target.judgedAs !== undefined, "modules judge events of types that have some");
  const name = verdictName(target, tip);
  if (streams.has(name)) return undefined;
  const refused = refusals.get(name);
  if (refused === undefined) throw new VerdictNeeded(target, tip);
  return refused;
}

function streamName({ key, judgedAs }: PreparedTarget, tip: string | undefined): string {
  return `${key} ${judgedAs!.foldHash} ${tip ?? ""}`;
}

function verdictName(target: PreparedTarget, tip: string | undefined): string {
  return `${streamName(target, tip)} ${target.events.map(({ raw }) => raw).join("\n")}`;
}

/** Whether the same may be taken another time. */
export function mayPass(refusal: Refusal): boolean {
  if (refusal.kind === "module_failed") return refusal.failure === "wasm_timeout";
  return refusal.kind === "modules_unavailable" || refusal.kind === "fold_budget_exceeded";
}

/** In a sentence, for error records and the histories of sagas. */
export function explainRefusal(refusal: Refusal): string {
  switch (refusal.kind) {
    case "handler_error":
      return `The handler refused the event: ${refusal.error.type}: ${refusal.error.message}`;
    case "module_failed":
      return `The handler failed (${refusal.failure}): ${refusal.message}`;
    case "modules_unavailable":
    case "fold_budget_exceeded":
      return refusal.message;
    default:
      return `The event was refused: ${refusal.kind}`;
  }
}
