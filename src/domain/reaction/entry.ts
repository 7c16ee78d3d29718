/**
 * Compiles one entry of `implications`: `emit`, `map`, `schedule`, `pipeline` or `wasm`.
 *
 * The kind of an entry is the key it has; a `condition` may stand beside it. See
 * docs/reference/reactions.md.
 */

import {
  addFault,
  childSite,
  type Evaluation,
  nextSlot,
  type Site,
  withNames,
} from "../handler/evaluation.ts";
import { bindingNameAt } from "../handler/operation.ts";
import { predicateAt } from "../handler/predicate.ts";
import { looksLikePath, type ValuePath, valuePathAt } from "../handler/path.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { cancelRulesAt, delayAt } from "./schedule.ts";
import { emitAt } from "./emission.ts";
import { fieldsAt } from "./form.ts";
import { gatherEmit, type Gathering, gatherSchedule, isOverfull, mayRest } from "./gathering.ts";
import { CONTEXT_NAME, moduleStepAt } from "./module_step.ts";
import { withinShare } from "./share.ts";
import type { Terms } from "./terms.ts";

/**
 * Adds the actions of the entry for one trigger. If the entry fails, it returns the reason, and
 * the actions it added must be discarded. Throws `BudgetSpent` and `AnswerMissing`. After much
 * work it ends the time slice: it leaves in `gathering.next` where to continue when it is
 * called again.
 */
export type CompiledEntry = (evaluation: Evaluation, gathering: Gathering) => string | undefined;

export const ENTRY_KINDS = ["emit", "map", "schedule", "pipeline", "wasm"] as const;
type EntryKind = typeof ENTRY_KINDS[number];

const ENTRY_HINT = `An entry has one of the keys ${ENTRY_KINDS.join(", ")}, and may have condition`;
const ELEMENT_NAME = "item";

function doNothing(): undefined {}

/** Compiles one entry; it records faults, and a faulty entry compiles to nothing. */
export function entryAt(definition: JsonValue, site: Site, terms: Terms): CompiledEntry {
  const kind = kindAt(definition, ENTRY_KINDS, ENTRY_HINT, site);
  if (kind === undefined) return doNothing;
  const fields = definition as JsonObject;
  return conditional(fields, kindCompilers[kind](fields[kind] as JsonValue, site, terms), site);
}

type KindCompiler = (definition: JsonValue, site: Site, terms: Terms) => CompiledEntry;

/** Each compiler receives the value under its key, and the site of the entry itself. */
const kindCompilers: Readonly<Record<EntryKind, KindCompiler>> = {
  emit: compileEmit,
  map: compileMap,
  schedule: compileSchedule,
  pipeline: compilePipeline,
  wasm: compileModule,
};

/** The one key of `kinds` in an entry or a step. Undefined, after recording a fault, otherwise. */
function kindAt<Kind extends string>(
  definition: JsonValue,
  kinds: readonly Kind[],
  hint: string,
  site: Site,
): Kind | undefined {
  const fields = fieldsAt(definition, [], [...kinds, "condition"], site);
  if (fields === undefined) return undefined;
  const found = kinds.filter((kind) => Object.hasOwn(fields, kind));
  if (found.length === 1) return found[0];
  const message = found.length === 0
    ? "This says nothing that would follow"
    : `This says two things at once: ${found.join(" and ")}`;
  addFault(site, "implication_invalid", message, hint);
  return undefined;
}

function conditional(fields: JsonObject, run: CompiledEntry, site: Site): CompiledEntry {
  if (!Object.hasOwn(fields, "condition")) return run;
  const condition = predicateAt(fields["condition"] as JsonValue, childSite(site, "condition"));
  const holds = withinShare(condition);
  return (evaluation, gathering) => {
    // An entry that continues has already passed its condition.
    const goesOn = gathering.next !== undefined || holds(evaluation) === true;
    return goesOn ? run(evaluation, gathering) : undefined;
  };
}

function compileEmit(definition: JsonValue, site: Site, terms: Terms): CompiledEntry {
  const entry = { path: site.path, scheduled: false };
  const emit = emitAt(definition, childSite(site, "emit"), terms, entry);
  return (evaluation, gathering) => {
    const emitted = emit(evaluation);
    if (emitted.kind === "failure") return `emit.${emitted.message}`;
    if (emitted.kind === "value") gatherEmit(gathering, emitted.value);
  };
}

function compileMap(definition: JsonValue, site: Site, terms: Terms): CompiledEntry {
  const inside = childSite(site, "map");
  const fields = fieldsAt(definition, ["in", "emit"], ["as"], inside);
  if (fields === undefined) return doNothing;
  const list = Object.hasOwn(fields, "in") ? listAt(fields["in"] as JsonValue, inside) : undefined;
  const name = Object.hasOwn(fields, "as")
    ? bindingNameAt(fields["as"] as JsonValue, childSite(inside, "as"))
    : ELEMENT_NAME;
  if (!Object.hasOwn(fields, "emit")) return doNothing;
  const slot = nextSlot(inside.scope);
  const named = withNames(inside, [name ?? ELEMENT_NAME]);
  const entry = { path: site.path, scheduled: false };
  const emit = emitAt(fields["emit"] as JsonValue, childSite(named, "emit"), terms, entry);
  if (list === undefined) return doNothing;
  return (evaluation, gathering) => {
    const { next = 0 } = gathering;
    gathering.next = undefined;
    const elements = list.read(evaluation) ?? null;
    if (elements === null) return undefined;
    if (!Array.isArray(elements)) return `map.in is ${describeKind(elements)}, not a list`;
    for (let index = next; index < elements.length; index++) {
      if (isOverfull(gathering)) return undefined;
      if (mayRest(gathering, evaluation.budget, index, index - next)) return undefined;
      evaluation.bindings[slot] = elements[index];
      const emitted = emit(evaluation);
      if (emitted.kind === "failure") return `element ${index}: map.emit.${emitted.message}`;
      if (emitted.kind === "value") gatherEmit(gathering, emitted.value);
    }
  };
}

function listAt(definition: JsonValue, site: Site): ValuePath | undefined {
  const inside = childSite(site, "in");
  const text = isJsonObject(definition) ? definition["$"] : definition;
  if (typeof text === "string" && looksLikePath(text)) return valuePathAt(text, inside);
  addFault(inside, "path_invalid", '"in" takes the path of a list', 'E.g. "$.data.lines"');
  return undefined;
}

function compileSchedule(definition: JsonValue, site: Site, terms: Terms): CompiledEntry {
  const inside = childSite(site, "schedule");
  const fields = fieldsAt(definition, ["emit"], ["delay", "delay_ms", "cancel_on"], inside);
  if (fields === undefined) return doNothing;
  const delay = withinShare(delayAt(fields, inside));
  const cancelSite = childSite(inside, "cancel_on");
  const rules = Object.hasOwn(fields, "cancel_on") ? fields["cancel_on"] as JsonValue : [];
  const cancelRules = withinShare(cancelRulesAt(rules, cancelSite, terms));
  if (!Object.hasOwn(fields, "emit")) return doNothing;
  const entry = { path: site.path, scheduled: true };
  const emit = emitAt(fields["emit"] as JsonValue, childSite(inside, "emit"), terms, entry);
  return (evaluation, gathering) => {
    const delayMs = delay(evaluation);
    if (delayMs.kind === "failure") return `schedule.${delayMs.message}`;
    if (delayMs.kind === "skip") return undefined;
    const emitted = emit(evaluation);
    if (emitted.kind === "failure") return `schedule.emit.${emitted.message}`;
    const cancels = cancelRules(evaluation);
    if (cancels.kind === "failure") return `schedule.${cancels.message}`;
    if (emitted.kind === "skip" || cancels.kind === "skip") return undefined;
    const { emission, bytes } = emitted.value;
    const cancelOn = cancels.value;
    const action = { kind: "schedule", delayMs: delayMs.value, emission, cancelOn } as const;
    gatherSchedule(gathering, action, bytes);
  };
}

const STEP_KINDS = ["emit", "wasm"] as const;

function compilePipeline(definition: JsonValue, site: Site, terms: Terms): CompiledEntry {
  const inside = childSite(site, "pipeline");
  const stepHint = 'A step is {"emit": {...}} or a wasm step, and may have a condition';
  if (!Array.isArray(definition)) {
    const message = `A pipeline must be an array of steps, not ${describeKind(definition)}`;
    addFault(inside, "wrong_type", message, stepHint);
    return doNothing;
  }
  if (definition.length === 0 || definition.length > limits.pipelineStepsMax) {
    const message =
      `A pipeline has 1 to ${limits.pipelineStepsMax} steps, not ${definition.length}`;
    addFault(inside, definition.length === 0 ? "empty_list" : "too_many", message, stepHint);
    return doNothing;
  }
  const slot = nextSlot(site.scope);
  const steps = definition.map((each, index) => {
    const step = withNames(childSite(inside, index), [CONTEXT_NAME]);
    const kind = kindAt(each, STEP_KINDS, stepHint, step);
    if (kind === undefined) return doNothing;
    const fields = each as JsonObject;
    const run = kindCompilers[kind](fields[kind] as JsonValue, step, terms);
    return conditional(fields, run, step);
  });
  return (evaluation, gathering) => {
    const { next = 0 } = gathering;
    gathering.next = undefined;
    if (next === 0) evaluation.bindings[slot] = {};
    for (let index = next; index < steps.length; index++) {
      if (index > next && mayRest(gathering, evaluation.budget, index, index - next)) {
        return undefined;
      }
      const failure = steps[index]!(evaluation, gathering);
      if (failure !== undefined) return `pipeline[${index}].${failure}`;
    }
  };
}

function compileModule(definition: JsonValue, site: Site, terms: Terms): CompiledEntry {
  return moduleStepAt(definition, site, terms) ?? doNothing;
}
