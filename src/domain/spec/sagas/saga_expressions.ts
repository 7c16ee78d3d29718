/**
 * Compiles the expressions of a saga: conditions, streams and event templates.
 *
 * They are written in the language of handlers and implications and read the trigger (`$.`),
 * `$prev` and `$steps`. See docs/reference/sagas.md.
 */

import { BudgetSpent, newBudget } from "../../budget.ts";
import type { StoredEvent } from "../../event.ts";
import {
  checkDefinitionSize,
  compileDefinition,
  compilePredicate,
} from "../../handler/compile_handler.ts";
import type { Evaluation, Scope, Site } from "../../handler/evaluation.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { limits } from "../../limits.ts";
import type { Emission } from "../../reaction/action.ts";
import { emitAt } from "../../reaction/emission.ts";
import type { Resolved } from "../../reaction/resolved.ts";
import { withinShare } from "../../reaction/share.ts";
import { type NamedStream, streamAt } from "../../reaction/stream.ts";
import { checkAggregateType, checkEventType, type Terms } from "../../reaction/terms.ts";
import type { Violation } from "../../refusal.ts";
import type { Made, SagaSight } from "../../saga/definition.ts";
import type { SpecOrigin } from "../deployment.ts";
import { type FaultList, joinIndex, joinKey, shorten } from "../fault_list.ts";
import { looksLikePath } from "../../handler/path.ts";
import { parseSegments } from "../../handler/segments.ts";
import { didYouMean } from "../../nearest_name.ts";

/** The location of an expression: which steps have ended when it is evaluated. */
export interface SagaPlace extends StepNames {
  /** A stored saga was checked when it was deployed: limits that came later do not apply to it. */
  readonly origin: SpecOrigin;
  readonly terms: Terms;
  readonly faults: FaultList;
}

/** Budget for creating one event; well above the largest one. */
const BUDGET_BYTES = limits.pieceReactionWorkBytesMax;

/**
 * Compiles a condition; if it cannot be evaluated within its budget, or within what those before
 * have left of the one they share, it does not hold.
 */
export function compileCondition(
  value: JsonValue,
  path: string,
  place: SagaPlace,
): (sight: SagaSight) => boolean {
  if (!checkPaths(value, place, path)) return () => false;
  const compiled = compilePredicate(value, path, scopeOf(place));
  if (compiled.ok) {
    const holds = withinShare(compiled.predicate);
    return (sight) => attempt(() => holds(evaluationOf(sight, sight.budget)), false);
  }
  addNew(compiled.violations, place.faults);
  return () => false;
}

/** Compiles `emit` or `compensate`: the template of one event. */
export function compileEmission(
  value: JsonValue | undefined,
  path: string,
  place: SagaPlace,
): (sight: SagaSight) => Made<Emission> {
  const resolve = compileWith(
    value,
    path,
    place,
    (definition, site) => emitAt(definition, site, place.terms, { path, scheduled: false }),
  );
  return (sight) => {
    const made = resolve(sight);
    return made.ok ? { ok: true, value: made.value.emission } : made;
  };
}

/** Compiles the `aggregate_type` and `id` of the event a step awaits. */
export function compileStream(
  fields: JsonObject,
  path: string,
  place: SagaPlace,
): (sight: SagaSight) => Made<NamedStream> {
  const { aggregate_type, id } = fields;
  return compileWith(
    { aggregate_type: aggregate_type!, id: id! },
    path,
    place,
    (_, site) => streamAt(fields, site, place.terms)?.resolve,
  );
}

/** Checks names written in the spec itself; values that are not strings are reported elsewhere. */
export function checkNames(
  aggregateType: JsonValue | undefined,
  eventType: JsonValue | undefined,
  paths: { readonly aggregateType?: string; readonly eventType?: string },
  { terms, faults }: SagaPlace,
): void {
  const type = typeof aggregateType === "string" ? aggregateType : undefined;
  if (type !== undefined && paths.aggregateType !== undefined) {
    const site = siteAt(paths.aggregateType);
    checkAggregateType(type, site, terms);
    faults.addAll(site.faults);
  }
  if (typeof eventType !== "string" || paths.eventType === undefined) return;
  // If the aggregate type is unknown, that fault is enough.
  const site = siteAt(paths.eventType);
  if (type !== undefined) checkEventType(eventType, type, site, terms);
  faults.addAll(site.faults);
}

function siteAt(path: string): Site {
  return { path, scope: { state: false, names: [] }, faults: [] };
}

type Resolver<T> = (evaluation: Evaluation) => Resolved<T>;

function compileWith<T>(
  value: JsonValue | undefined,
  path: string,
  place: SagaPlace,
  compileAt: (definition: JsonValue, site: Site) => Resolver<T> | undefined,
): (sight: SagaSight) => Made<T> {
  const { faults } = place;
  if (value === undefined) {
    const hint = 'For example {"aggregate_type": "order", "id": "$.id", "event_type": "was_paid"}.';
    faults.add("missing_key", path, `${path} is required.`, hint);
    return () => NOTHING;
  }
  if (!checkPaths(value, place, path)) return () => NOTHING;
  const compiled = compileDefinition(value, path, scopeOf(place), compileAt);
  if (!compiled.ok) addNew(compiled.violations, faults);
  const resolve = compiled.ok ? compiled.value : undefined;
  if (resolve === undefined) return () => NOTHING;
  return (sight) => attempt(() => toMade(resolve(evaluationOf(sight))), TOO_LARGE);
}

const NOTHING = { ok: false, reason: "it is not defined" } as const;
const TOO_LARGE = { ok: false, reason: "it would be too large" } as const;

function toMade<T>(resolved: Resolved<T>): Made<T> {
  if (resolved.kind === "value") return { ok: true, value: resolved.value };
  if (resolved.kind === "failure") return { ok: false, reason: resolved.message };
  return { ok: false, reason: "a path with a trailing ? finds nothing" };
}

/** Leaves out names that nothing can be bound to, so that a path to them is refused. */
function scopeOf({ earlier, hasPrev }: SagaPlace): Scope {
  if (earlier.length === 0) return { state: false, names: [] };
  return { state: false, names: hasPrev ? ["steps", "prev"] : ["steps"] };
}

/** `checkSagaPaths` has already reported paths to unknown or later steps, with a better hint. */
function addNew(violations: readonly Violation[], faults: FaultList): void {
  const known = new Set(faults.faults.map(({ path }) => path));
  faults.addAll(violations.filter(({ path }) => !known.has(path)));
}

function evaluationOf(
  { trigger, prev, steps }: SagaSight,
  budget = newBudget(BUDGET_BYTES),
): Evaluation {
  const ended: JsonObject = {};
  for (const [name, event] of steps) ended[name] = viewOf(event);
  const bindings = [ended, prev && viewOf(prev)];
  return { state: {}, event: trigger, bindings, budget };
}

/** An event as `$prev` and `$steps.<name>` show it: like `$`, with the id of its stream. */
function viewOf({ key, type, data, metadata }: StoredEvent): JsonObject {
  const id = key.slice(key.indexOf(":") + 1);
  return { key, id, type, data, metadata: metadata as unknown as JsonObject };
}

/** Returns `otherwise` if the budget is spent. */
function attempt<T>(evaluate: () => T, otherwise: T): T {
  try {
    return evaluate();
  } catch (error) {
    if (error instanceof BudgetSpent) return otherwise;
    throw error;
  }
}

/** The names of a saga's steps, and those that a path in this location may read. */
interface StepNames {
  readonly all: readonly string[];
  readonly earlier: readonly string[];
  /** False if no step comes before, so that there is no `$prev`. */
  readonly hasPrev: boolean;
}

const EVENT_PARTS = ["data", "metadata", "key", "id", "type"];
const ROOT = /^\$(steps|prev)(?![A-Za-z0-9_])/;

/** False if the definition is too large or too deep; then it is looked at no further. */
function checkPaths(definition: JsonValue, place: SagaPlace, path: string): boolean {
  const tooLarge = checkDefinitionSize(definition, path);
  if (tooLarge !== undefined) place.faults.addAll([tooLarge]);
  else checkSagaPaths(definition, place, path, place.faults);
  return tooLarge === undefined;
}

/**
 * Checks every path in `definition`, at any depth; `{"$literal": ...}` contains no paths.
 * `$steps` is followed by the name of an earlier step. After that name, as after `$prev`, a path
 * either ends or names a part that every event has.
 */
function checkSagaPaths(
  definition: JsonValue,
  names: StepNames,
  path: string,
  faults: FaultList,
): void {
  if (faults.isFull()) return;
  if (typeof definition === "string") {
    if (looksLikePath(definition)) checkPath(definition, names, path, faults);
  } else if (Array.isArray(definition)) {
    definition.forEach((each, index) =>
      checkSagaPaths(each, names, joinIndex(path, index), faults)
    );
  } else if (isJsonObject(definition)) {
    for (const [key, value] of Object.entries(definition)) {
      if (key !== "$literal") checkSagaPaths(value, names, joinKey(path, key), faults);
    }
  }
}

function checkPath(text: string, names: StepNames, path: string, faults: FaultList): void {
  const root = ROOT.exec(text);
  const parsed = root === null ? undefined : parseSegments(text.slice(root[0].length));
  // Other paths and malformed ones are reported where they are compiled.
  if (root === null || parsed === undefined || !parsed.ok) return;
  const [first, second] = parsed.segments;
  if (root[1] === "prev") {
    if (!names.hasPrev) return refusePrev(text, path, faults);
    return checkPart({ text, part: first?.name, isWhole: first === undefined }, path, faults);
  }
  const step = first?.name;
  if (step === undefined || !names.earlier.includes(step)) {
    return faults.add("step_unknown", path, describe(text, step, names), hintFor(step, names));
  }
  checkPart({ text, part: second?.name, isWhole: second === undefined }, path, faults);
}

function refusePrev(text: string, path: string, faults: FaultList): void {
  const message = `"${shorten(text)}" reads the step before, but no step comes before this place.`;
  faults.add("name_unknown", path, message, "Read the trigger with $.data.");
}

function describe(text: string, step: string | undefined, names: StepNames): string {
  const quoted = `"${shorten(text)}"`;
  if (step === undefined) return `${quoted} names no step.`;
  return names.all.includes(step)
    ? `${quoted} reads step "${step}", which has not ended by then.`
    : `${quoted} reads a step that this saga does not have.`;
}

function hintFor(step: string | undefined, { all, earlier }: StepNames): string {
  const known = earlier.length === 0
    ? "No step has ended here; read the trigger with $.data."
    : `Steps that have ended here: ${earlier.join(", ")}.`;
  return step === undefined || all.includes(step) ? known : didYouMean(step, earlier, known);
}

interface PathPart {
  readonly text: string;
  readonly part: string | undefined;
  readonly isWhole: boolean;
}

/** `isWhole`: the path ends at the event itself. */
function checkPart(
  { text, part, isWhole }: PathPart,
  path: string,
  faults: FaultList,
): void {
  if (isWhole || (part !== undefined && EVENT_PARTS.includes(part))) return;
  faults.add(
    "path_root_unknown",
    path,
    `"${shorten(text)}" reads a part that no event has.`,
    didYouMean(part ?? "", EVENT_PARTS, `An event has ${EVENT_PARTS.join(", ")}.`),
  );
}
