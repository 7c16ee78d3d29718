/**
 * Compiles definitions of the tick language in a spec to closures and reports every fault.
 *
 * These are the entry points of the language: `compileHandler` for handlers, `compilePredicate`
 * and `compileTemplate` for the predicates and templates of implications and sagas. A deploy
 * that contains a malformed definition is refused with the path of each offending node. See
 * docs/reference/handlers.md.
 */

import { isJsonObject, type JsonValue } from "../json.ts";
import type { Violation } from "../refusal.ts";
import { type Evaluation, HANDLER_SCOPE, type Scope, type Site } from "./evaluation.ts";
import type { Handler } from "./handler.ts";
import { operationsAt } from "./operations.ts";
import { predicateAt } from "./predicate.ts";
import { templateAt } from "./template.ts";

/** Maximum nesting of JSON in one definition; the definition itself is level 1. */
export const DEFINITION_DEPTH_MAX = 64;
/** Maximum number of values (objects, arrays, scalars) in one definition. */
export const DEFINITION_NODES_MAX = 20_000;

interface Faulty {
  readonly ok: false;
  readonly violations: Violation[];
}

export type CompiledHandler = { readonly ok: true; readonly handler: Handler } | Faulty;

/** True when the predicate holds. Throws `BudgetSpent` when the budget is spent. */
export type CompiledPredicate =
  | { readonly ok: true; readonly predicate: (evaluation: Evaluation) => boolean }
  | Faulty;

/**
 * Returns a fresh value that shares nothing with its sources, or undefined when a path with a
 * trailing `?` is missing. Throws `BudgetSpent` when the budget is spent and `StateTooLarge`
 * when the value nests too deep.
 */
export type CompiledTemplate =
  | { readonly ok: true; readonly template: (evaluation: Evaluation) => JsonValue | undefined }
  | Faulty;

/**
 * Compiles a tick handler: one operation or a list of operations; `[]` changes nothing. `path`
 * is the handler's dotted location in the spec; the path of each violation starts with it. All
 * faults are reported. The caller may change `definition` afterwards: the handler does not read
 * it again.
 */
export function compileHandler(definition: JsonValue, path: string): CompiledHandler {
  const compiled = compileDefinition(definition, path, HANDLER_SCOPE, operationsAt);
  if (!compiled.ok) return compiled;
  const run = compiled.value;
  function handler(...[state, event, budget, owned]: Parameters<Handler>) {
    const evaluation: Evaluation = { state, event, bindings: [], budget, owned };
    run(evaluation);
    return evaluation.state;
  }
  return { ok: true, handler };
}

/** Compiles a predicate; `scope` lists the roots its paths may use besides `$.`. */
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

/** Compiles a template; `scope` lists the roots its paths may use besides `$.`. */
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
 * Compiles the part of a definition for which `compileAt` is the grammar, and collects the
 * faults. It checks the size of the whole definition first, so that the grammar may be
 * recursive.
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

/**
 * Runs before anything else: compiling is recursive, so it must not meet a definition too deep. It
 * looks at no more values than a definition may have.
 */
export function checkDefinitionSize(definition: JsonValue, path: string): Violation | undefined {
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
