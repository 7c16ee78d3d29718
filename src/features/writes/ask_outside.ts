/**
 * Runs transactions that depend on answers of WebAssembly modules. A transaction body must not
 * wait for a module, which may take seconds. So the body ends at the first unknown answer, the
 * module is asked, and the body runs again with the answer.
 *
 * Answers are remembered by question, so each is reused wherever the same question comes up
 * again.
 */

import { assert } from "../../domain/assert.ts";
import { limits } from "../../domain/limits.ts";
import type { ModuleAnswer } from "../../domain/reaction/module_question.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import type { ModuleAsker } from "./ask_modules.ts";
import { type OpenConditions, openConditions } from "./judge_guards.ts";
import { foldTarget, readStreamState, type SceneParts, type StreamState } from "./judge_scene.ts";
import type { SceneStart } from "./live_states.ts";
import { foldOutside, type OutsideStates, StatesNeeded } from "./outside_states.ts";
import { ModulesToAsk } from "./prepare_reactions.ts";
import type { PreparedTarget } from "./prepared_write.ts";

/** What modules have answered about one tenant's events. */
export interface OutsideAnswers {
  readonly implications: Map<string, ModuleAnswer>;
  /**
   * States of streams by stream, fold hash and tip. The key of a verdict also has the events:
   * an accepted verdict maps to the state after them here, a refused one to its reason in
   * `refusals`.
   */
  readonly streams: Map<string, StreamState>;
  readonly refusals: Map<string, string>;
  /** Judges preconditions and guards; absent where nothing is written. */
  readonly openConditions?: OpenConditions;
}

/** The body cannot go on before modules have judged the events that follow a stream's tip. */
class VerdictNeeded extends Error {
  override readonly name = "VerdictNeeded";
  constructor(readonly target: PreparedTarget, readonly tip: string | undefined) {
    super("modules are to judge an event first");
  }
}

/** Rounds of one transaction at most: it needs one for each event on which modules have a say. */
const ROUNDS_MAX = 500;

export interface OutsideAsker {
  /** @throws what the body throws, or an error if modules cannot run now. */
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
    const outside: OutsideStates = new Map();
    const start: SceneStart = { tools: parts, tenant, outside, remembers: false };
    const answers: OutsideAnswers = {
      ...newOutsideAnswers(),
      openConditions: (tx, appenders) => openConditions(start, tx, appenders),
    };
    for (let round = 0; round < ROUNDS_MAX; round++) {
      try {
        return await engine.transact((tx) => body(tx, answers), { owner: tenant });
      } catch (error) {
        if (error instanceof ModulesToAsk) await answer(tenant, spec, error, answers);
        else if (error instanceof VerdictNeeded) await judge(tenant, error, answers);
        else if (error instanceof StatesNeeded) {
          await foldOutside(parts, tenant, error, true, outside);
        } else throw error;
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
    // The stream has moved since; the next round reads it where it is now.
    if (before === undefined) return;
    const endMs = parts.host.monotonicMs() + limits.wasmRequestMsMax;
    const after = await foldTarget(parts, tenant, target, before, { endMs, place: () => ({}) });
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
 * Why the handlers of `target` refuse its events on top of `tip`; undefined if they accept
 * them.
 * @throws {VerdictNeeded} if that is not known yet; the transaction must then be abandoned.
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

/** The target with the state that modules have judged it on, for its guards. */
export function withJudgedState(
  { streams }: OutsideAnswers,
  target: PreparedTarget,
  tip: string | undefined,
): PreparedTarget {
  const before = streams.get(streamName(target, tip));
  if (before === undefined) return target;
  return { ...target, judgedStates: new Map([[0, before.stateJson]]) };
}

function streamName({ key, judgedAs }: PreparedTarget, tip: string | undefined): string {
  return `${key} ${judgedAs!.foldHash} ${tip ?? ""}`;
}

function verdictName(target: PreparedTarget, tip: string | undefined): string {
  return `${streamName(target, tip)} ${target.events.map(({ raw }) => raw).join("\n")}`;
}

/** Whether the same request may be accepted at another time. */
export function mayPass(refusal: Refusal): boolean {
  if (refusal.kind === "module_failed") return refusal.failure === "wasm_timeout";
  return refusal.kind === "modules_unavailable" || refusal.kind === "fold_budget_exceeded";
}

/** One sentence for error records and saga histories. */
export function explainRefusal(refusal: Refusal): string {
  switch (refusal.kind) {
    case "handler_error":
      return `The handler refused the event: ${refusal.error.type}: ${refusal.error.message}`;
    case "module_failed":
      return `The handler failed (${refusal.failure}): ${refusal.message}`;
    case "guard_failed":
      return `A guard refused the event (guards[${refusal.guard}]): ${refusal.message}`;
    case "modules_unavailable":
    case "fold_budget_exceeded":
      return refusal.message;
    default:
      return `The event was refused: ${refusal.kind}`;
  }
}
