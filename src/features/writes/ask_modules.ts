/**
 * Asks WebAssembly modules what events set off, while a write is prepared. Preparation is
 * repeated with each round of answers until no question is open. A pipeline needs as many
 * rounds as it has steps.
 */

import { limits } from "../../domain/limits.ts";
import {
  type ModuleAnswer,
  type ModuleAnswers,
  type ModuleQuestion,
  questionKey,
} from "../../domain/reaction/module_question.ts";
import { accept, ACCEPTED, type Outcome } from "../../domain/refusal.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Host } from "../../host.ts";
import type { ModuleRunner } from "../modules/run_modules.ts";
import { ModulesToAsk } from "./prepare_reactions.ts";

/** Questions of one write that are put to modules at a time. */
const AT_A_TIME = 32;

export interface ModuleAsker {
  /**
   * Returns what `prepare` returns once it has all answers. It refuses only if modules cannot
   * run at all now: no implication is lost for that reason. A module that takes too long counts
   * as failed.
   */
  prepare<T>(
    tenant: number,
    spec: CompiledSpec,
    prepare: (answers: ModuleAnswers) => T | Promise<T>,
  ): Promise<Outcome<T>>;
  /**
   * Adds the answers to `answers`. Questions left at `endMs` (monotonic time) count as too
   * slow.
   */
  answer(
    tenant: number,
    spec: CompiledSpec,
    questions: readonly ModuleQuestion[],
    answers: Map<string, ModuleAnswer>,
    endMs: number,
  ): Promise<Outcome<void>>;
}

const TOO_SLOW: ModuleAnswer = {
  ok: false,
  message: "Computing it takes longer than the implications of one write may take",
  cause: { cause: "wasm_timeout" },
};

export function createModuleAsker(host: Host, modules: ModuleRunner): ModuleAsker {
  async function prepare<T>(
    tenant: number,
    spec: CompiledSpec,
    prepare: (answers: ModuleAnswers) => T | Promise<T>,
  ): Promise<Outcome<T>> {
    const answers = new Map<string, ModuleAnswer>();
    const endMs = host.monotonicMs() + limits.wasmRequestMsMax;
    for (;;) {
      try {
        return accept(await prepare(answers));
      } catch (error) {
        if (!(error instanceof ModulesToAsk)) throw error;
        const answered = await answer(tenant, spec, error.questions, answers, endMs);
        if (!answered.ok) return answered;
      }
    }
  }

  async function answer(
    ...[tenant, { blobs }, questions, answers, endMs]: Parameters<ModuleAsker["answer"]>
  ): Promise<Outcome<void>> {
    for (let at = 0; at < questions.length; at += AT_A_TIME) {
      const asked = questions.slice(at, at + AT_A_TIME);
      const isLate = host.monotonicMs() > endMs;
      const outcomes = await Promise.all(
        asked.map((question) => isLate ? accept(TOO_SLOW) : modules.ask(tenant, blobs, question)),
      );
      for (const [index, outcome] of outcomes.entries()) {
        if (!outcome.ok) return outcome;
        answers.set(questionKey(asked[index]!), outcome.value);
      }
    }
    return ACCEPTED;
  }

  return { prepare, answer };
}
