/**
 * Charges for matching a pattern while it runs.
 *
 * The engine creates the states of its automaton as a text requires them. A step to a known
 * state costs almost nothing; a step to a new state examines all active instructions. The cost
 * is therefore known only at run time.
 */

import type { RE2JS } from "re2js";
import { type Budget, newBudget, spend } from "../../../budget.ts";

/** Units for a test, and for a character that leads to a known state. */
const UNITS_PER_TEST = 64;
const UNITS_PER_CHARACTER = 2;
/** Units for a step to a new state: for the step, each instruction, and each entry of its table. */
const UNITS_PER_STEP = 100;
const UNITS_PER_INSTRUCTION = 30;
const UNITS_PER_ENTRY = 1;
/** Units for each instruction at each character when the automaton gives up. */
const UNITS_WITHOUT_STATES = 12;

/** Internals of the engine used here; the lock file and a test keep them unchanged. */
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
  /** A different engine for some patterns that is hundreds of times slower for each character. */
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

export interface LinearPattern {
  /**
   * True when the pattern matches anywhere in `text`. The cost is charged while it runs.
   *
   * @throws {BudgetSpent} when `budget` does not suffice.
   */
  test(text: string, budget: Budget): boolean;
  /** The number of the engine's instructions. */
  readonly size: number;
  /** What past tests keep for later ones, in bytes as the engine counts them. */
  cacheBytes(): number;
  clearCache(): void;
}
