/**
 * Charges what a pattern does as it happens. The engine makes states of an automaton as a text asks
 * for them: a step to a state that is known costs next to nothing, a step to a new one looks at all
 * instructions that are under way. What it costs is known only while it runs.
 */

import type { RE2JS } from "re2js";
import { type Budget, newBudget, spend } from "../../budget.ts";
import type { LinearPattern } from "./pattern.ts";

/** Of a test, and of a character that leads to a known state. */
const UNITS_PER_TEST = 64;
const UNITS_PER_CHARACTER = 2;
/** Of a step that is not known yet: for itself, for each instruction, each entry of its table. */
const UNITS_PER_STEP = 100;
const UNITS_PER_INSTRUCTION = 30;
const UNITS_PER_ENTRY = 1;
/** Of each instruction at each character, where the automaton gives up. */
const UNITS_WITHOUT_STATES = 12;

/** The parts of the engine that this looks into; kept as they are by the lock file and a test. */
interface State {
  readonly nfaStates: ArrayLike<number>;
  readonly next: readonly unknown[] | null;
}

interface Automaton {
  readonly maxMem: number;
  readonly memBudget: number;
  readonly numClasses: number;
  step(state: State, ...place: unknown[]): State | null;
  match(input: { endPos(): number }, ...place: unknown[]): boolean | null;
  clearCache(): void;
}

interface Program {
  readonly prefixComplete: boolean;
  /** Another engine for some patterns, which takes hundreds of times as long for each character. */
  onepass: unknown;
  readonly lazyDFA: Automaton | null;
  readonly dfa: Automaton;
  match(text: string): boolean;
}

export function chargedPattern(compiled: ReturnType<RE2JS["re2"]>, size: number): LinearPattern {
  const program = compiled as unknown as Program;
  program.onepass = null;
  const running = { budget: newBudget(0) };
  let isCharged = false;

  function test(text: string, budget: Budget): boolean {
    spend(budget, UNITS_PER_TEST + UNITS_PER_CHARACTER * text.length);
    if (!isCharged && !program.prefixComplete) {
      chargeAutomaton(program.dfa, size, running);
      isCharged = true;
    }
    running.budget = budget;
    return program.match(text);
  }

  return {
    test,
    size,
    cacheBytes: () => {
      const { lazyDFA } = program;
      return lazyDFA === null ? 0 : lazyDFA.maxMem - lazyDFA.memBudget;
    },
    clearCache: () => program.lazyDFA?.clearCache(),
  };
}

function chargeAutomaton(
  automaton: Automaton,
  size: number,
  running: { readonly budget: Budget },
): void {
  const step = automaton.step.bind(automaton);
  automaton.step = (state, ...place) => {
    const table = state.next === null ? UNITS_PER_ENTRY * automaton.numClasses : 0;
    const units = UNITS_PER_STEP + UNITS_PER_INSTRUCTION * state.nfaStates.length + table;
    spend(running.budget, units);
    return step(state, ...place);
  };
  const match = automaton.match.bind(automaton);
  automaton.match = (input, ...place) => {
    const found = match(input, ...place);
    if (found === null) spend(running.budget, UNITS_WITHOUT_STATES * size * input.endPos());
    return found;
  };
}
