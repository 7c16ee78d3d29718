/**
 * Compiles the expressions of a saga: conditions, streams and event templates.
 *
 * They are written in the language of handlers and implications and read the trigger (`$.`),
 * `$prev` and `$steps`. See docs/reference/sagas.md.
 */

import { BudgetSpent } from "../../budget.ts";
import type { StoredEvent } from "../../event.ts";
import { compileDefinition, compilePredicate } from "../../handler/compile_handler.ts";
import type { Evaluation, Scope, Site } from "../../handler/evaluation.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { limits } from "../../limits.ts";
import type { Emission } from "../../reaction/action.ts";
import { emitAt } from "../../reaction/emission.ts";
import type { Resolved } from "../../reaction/resolved.ts";
import { type NamedStream, streamAt } from "../../reaction/stream.ts";
import { checkAggregateType, checkEventType, type Terms } from "../../reaction/terms.ts";
import type { Violation } from "../../refusal.ts";
import type { Made, SagaSight } from "../../saga/definition.ts";
import type { FaultList } from "../fault_list.ts";
import { checkSagaPaths, type StepNames } from "./saga_paths.ts";

/** The location of an expression: which steps have ended when it is evaluated. */
export interface SagaPlace extends StepNames {
  readonly terms: Terms;
  readonly faults: FaultList;
}

/** Budget for creating one event; well above the largest one. */
const BUDGET_BYTES = limits.pieceReactionWorkBytesMax;

/** Compiles a condition; if it cannot be evaluated within its budget, it does not hold. */
export function compileCondition(
  value: JsonValue,
  path: string,
  place: SagaPlace,
): (sight: SagaSight) => boolean {
  checkSagaPaths(value, place, path, place.faults);
  const compiled = compilePredicate(value, path, scopeOf(place));
  if (compiled.ok) return (sight) => attempt(() => compiled.predicate(evaluationOf(sight)), false);
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
  checkSagaPaths(value, place, path, faults);
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

function evaluationOf({ trigger, prev, steps }: SagaSight): Evaluation {
  const ended: JsonObject = {};
  for (const [name, event] of steps) ended[name] = viewOf(event);
  const bindings = [ended, prev && viewOf(prev)];
  return { state: {}, event: trigger, bindings, budget: { left: BUDGET_BYTES } };
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
