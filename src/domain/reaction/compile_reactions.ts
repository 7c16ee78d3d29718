/**
 * Compiles the `implications` of an event type to a function that computes what an event sets
 * off.
 *
 * Actions are computed after validation, from the event alone. The function is pure and total:
 * a failing entry is a value, and the other entries still run. See docs/reference/reactions.md.
 */

import { BudgetSpent, newBudget, PIECE_UNITS, spend } from "../budget.ts";
import { CONTAINER_UNITS } from "../handler/budget.ts";
import { compileDefinition } from "../handler/compile_handler.ts";
import { addFault, childSite, type Evaluation, type Site } from "../handler/evaluation.ts";
import { describeKind, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { runAtOnce, type Steps } from "../fairness/pieces.ts";
import type { Violation } from "../refusal.ts";
import type { StoredEvent } from "../event.ts";
import type { ModuleCall } from "../wasm/module_call.ts";
import type { CompiledReactions, ReactionFailure, Reactions, ReactionWork } from "./action.ts";
import { type CompiledEntry, entryAt } from "./entry.ts";
import { type Gathering, isOverfull } from "./gathering.ts";
import { AnswerMissing } from "./module_step.ts";
import { type ModuleAnswers, type ModuleQuestion, NO_ANSWERS } from "./module_question.ts";
import { type ImpliedTypes, impliedTypes } from "./implied_types.ts";
import type { NamedEvent, Terms } from "./terms.ts";
import { type Texts, TextSet } from "../lookup/text_map.ts";

/** The context in which the implications of one event type are compiled. */
export type ReactionTerms = Omit<Terms, "named" | "isOpen" | "watched" | "moduleCalls">;

export type ReactionCompilation =
  | {
    readonly ok: true;
    readonly reactions: CompiledReactions;
    readonly mayImply: ImpliedTypes;
    /** The events they write, as far as the spec determines them. */
    readonly named: readonly NamedEvent[];
    /** `<aggregate_type>.<event_type>` of each `cancel_on`. */
    readonly watched: Texts;
    readonly moduleCalls: readonly ModuleCall[];
  }
  | { readonly ok: false; readonly violations: readonly Violation[] };

interface PlacedEntry {
  readonly path: string;
  readonly run: CompiledEntry;
}

/**
 * Compiles `implications`. `path` is their dotted location in the spec; the path of each
 * violation and failure starts with it. All faults are reported, up to about
 * `limits.violationsMax`.
 */
export function compileReactions(
  definition: JsonValue,
  path: string,
  terms: ReactionTerms,
): ReactionCompilation {
  const filled: Terms = {
    ...terms,
    named: [],
    isOpen: false,
    watched: new TextSet(),
    moduleCalls: [],
  };
  const compiled = compileDefinition(
    definition,
    path,
    { state: false, names: [] },
    (value, site) => entriesAt(value, site, filled),
  );
  if (!compiled.ok) return compiled;
  const entries = compiled.value;
  function steps(
    event: StoredEvent,
    work: ReactionWork = newReactionWork(),
    answers: ModuleAnswers = NO_ANSWERS,
  ): Steps<Reactions> {
    return computeActions(entries, event, work, answers);
  }
  const reactions = Object.assign(
    (...given: Parameters<typeof steps>) => runAtOnce(steps(...given)),
    { steps },
  );
  const { named, watched, moduleCalls } = filled;
  const mayImply = impliedTypes(filled);
  return { ok: true, reactions, mayImply, named, watched, moduleCalls };
}

/** A full budget of work, shared by all events of one write. */
export function newReactionWork(): ReactionWork {
  return newBudget(limits.reactionWorkBytesMax);
}

function entriesAt(definition: JsonValue, site: Site, terms: Terms): readonly PlacedEntry[] {
  if (!Array.isArray(definition)) {
    const message = `implications must be an array, not ${describeKind(definition)}`;
    addFault(site, "wrong_type", message, "Write [] for none");
    return [];
  }
  if (definition.length > limits.implicationEntriesMax) {
    const message = `There are more than ${limits.implicationEntriesMax} implications`;
    addFault(site, "too_many", message, "Imply one event that implies the others");
    return [];
  }
  const entries: PlacedEntry[] = [];
  for (const [index, each] of definition.entries()) {
    if (site.faults.length >= limits.violationsMax) break;
    const place = childSite(site, index);
    entries.push({ path: place.path, run: entryAt(each, place, terms) });
  }
  return entries;
}

function* computeActions(
  entries: readonly PlacedEntry[],
  event: StoredEvent,
  budget: ReactionWork,
  answers: ModuleAnswers,
): Steps<Reactions> {
  const restBelow = budget.left - PIECE_UNITS;
  const gathering: Gathering = { actions: [], bytes: 0, answers, restBelow };
  const questions: ModuleQuestion[] = [];
  const failures: ReactionFailure[] = [];
  const evaluation: Evaluation = { state: {}, event, bindings: [], budget, sharesParts: true };
  for (const { path, run } of entries) {
    const count = gathering.actions.length;
    const { bytes } = gathering;
    let stopped: Stop;
    do {
      if (gathering.next !== undefined || budget.left < gathering.restBelow) {
        yield;
        gathering.restBelow = budget.left - PIECE_UNITS;
      }
      stopped = runEntry(run, evaluation, gathering);
    } while (gathering.next !== undefined);
    if (isOverfull(gathering)) break;
    if (stopped === undefined) continue;
    // All or nothing: half of a set that belongs together is harder to repair than none of it.
    gathering.actions.length = count;
    gathering.bytes = bytes;
    if (typeof stopped !== "string") questions.push(stopped);
    else failures.push(describeFailure(path, stopped, gathering));
  }
  const { actions } = gathering;
  return questions.length === 0 ? { actions, failures } : { actions, failures, questions };
}

function describeFailure(path: string, message: string, gathering: Gathering): ReactionFailure {
  const { cause } = gathering;
  delete gathering.cause;
  return cause === undefined ? { path, message } : { path, message, cause };
}

/** Why an entry failed, or the question it must ask first. */
type Stop = string | ModuleQuestion | undefined;

function runEntry(run: CompiledEntry, evaluation: Evaluation, gathering: Gathering): Stop {
  try {
    spend(evaluation.budget, CONTAINER_UNITS);
    return run(evaluation, gathering);
  } catch (error) {
    if (error instanceof AnswerMissing) return error.question;
    if (!(error instanceof BudgetSpent)) throw error;
    return "Computing it takes more work than a template, an event or a write may";
  }
}
