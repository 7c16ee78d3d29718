/**
 * From a definition in the spec to a closure, with every fault it has; the entry points of the tick
 * language for handlers, and of its predicates and templates for implications and sagas.
 * Decisions, section 9: "Mistakes of form ... are refused at deploy with the path of the offending
 * node".
 */

import type { JsonValue } from "../json.ts";
import { isJsonObject } from "../json.ts";
import type { Violation } from "../refusal.ts";
import { type Evaluation, HANDLER_SCOPE, type Scope, type Site } from "./evaluation.ts";
import type { Handler } from "./handler.ts";
import { operationsAt } from "./operations.ts";
import { predicateAt } from "./predicate.ts";
import { templateAt } from "./template.ts";

/** Levels of JSON in one definition, itself included. */
export const DEFINITION_DEPTH_MAX = 64;
/** Values (objects, arrays, scalars) in one definition. */
export const DEFINITION_NODES_MAX = 20_000;

interface Faulty {
  readonly ok: false;
  readonly violations: Violation[];
}

export type CompiledHandler = { readonly ok: true; readonly handler: Handler } | Faulty;

/** True when the predicate holds. May throw `StateTooLarge` when the budget is spent. */
export type CompiledPredicate =
  | { readonly ok: true; readonly predicate: (evaluation: Evaluation) => boolean }
  | Faulty;

/**
 * A fresh value that shares nothing with what it was made from; undefined when a path with a
 * trailing `?` is missing. May throw `StateTooLarge` when the budget is spent.
 */
export type CompiledTemplate =
  | { readonly ok: true; readonly template: (evaluation: Evaluation) => JsonValue | undefined }
  | Faulty;

/**
 * Compiles a tick handler: one operation or a list; `[]` changes nothing. `path` is its dotted
 * location in the spec, with which the path of each violation starts. All faults are reported.
 * The definition may be changed afterwards; the handler does not look at it again.
 */
export function compileHandler(definition: JsonValue, path: string): CompiledHandler {
  const compiled = compileDefinition(definition, path, HANDLER_SCOPE, operationsAt);
  if (!compiled.ok) return compiled;
  const run = compiled.value;
  function handler(...[state, event, budget]: Parameters<Handler>) {
    const evaluation: Evaluation = { state, event, bindings: [], budget };
    run(evaluation);
    return evaluation.state;
  }
  return { ok: true, handler };
}

/** Compiles a predicate; `scope` says which roots beside `$.` its paths may have. */
export function compilePredicate(
  definition: JsonValue,
  path: string,
  scope: Scope,
): CompiledPredicate {
  const compiled = compileDefinition(definition, path, scope, predicateAt);
  if (!compiled.ok) return compiled;
  const holds = compiled.value;
  return { ok: true, predicate: (evaluation) => holds(evaluation) === true };
}

/** Compiles a template; `scope` says which roots beside `$.` its paths may have. */
export function compileTemplate(
  definition: JsonValue,
  path: string,
  scope: Scope,
): CompiledTemplate {
  const compiled = compileDefinition(definition, path, scope, templateAt);
  if (!compiled.ok) return compiled;
  const { build } = compiled.value;
  return { ok: true, template: (evaluation) => build(evaluation, 1) };
}

/**
 * Compiles what a larger language is made of, `compileAt` being its grammar: checks the size of the
 * whole definition first, so that the grammar may be recursive, and collects the faults.
 */
export function compileDefinition<T>(
  definition: JsonValue,
  path: string,
  scope: Scope,
  compileAt: (definition: JsonValue, site: Site) => T,
): { readonly ok: true; readonly value: T } | Faulty {
  const tooLarge = checkDefinitionSize(definition, path);
  if (tooLarge !== undefined) return { ok: false, violations: [tooLarge] };
  const site: Site = { path, scope, faults: [] };
  const value = compileAt(definition, site);
  return site.faults.length === 0 ? { ok: true, value } : { ok: false, violations: site.faults };
}

/** Looked at first, and alone: compiling is recursive, so it must not meet what is too deep. */
function checkDefinitionSize(definition: JsonValue, path: string): Violation | undefined {
  const waiting: { value: JsonValue; depth: number }[] = [{ value: definition, depth: 1 }];
  let nodes = 0;
  // Bounded: the nodes of one handler in a spec.
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    nodes++;
    const { value, depth } = next;
    const children = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
    if (depth > DEFINITION_DEPTH_MAX && typeof value === "object" && value !== null) {
      return {
        rule: "definition_too_deep",
        path,
        message: `The definition nests deeper than ${DEFINITION_DEPTH_MAX} levels`,
        hint: "Flatten nested conditions, and keep literal data flat",
      };
    }
    if (nodes + waiting.length + children.length > DEFINITION_NODES_MAX) {
      return {
        rule: "definition_too_large",
        path,
        message: `The definition has more than ${DEFINITION_NODES_MAX} values`,
        hint: "Split the event type, or move data out of the spec into events",
      };
    }
    // Bounded: the nodes of one handler in a spec.
    for (const child of children) waiting.push({ value: child, depth: depth + 1 });
  }
  return undefined;
}
