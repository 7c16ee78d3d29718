/**
 * The table of all tick operations, and the two that contain others: `if` and `let`.
 *
 * See docs/reference/handlers.md.
 *
 * - An operation is an object with one key, its name: `{"set": {"target": "n", "value": 1}}`.
 *   Two names in one object are refused, because their order would depend on the order of the
 *   keys.
 * - Wherever operations are expected (`handler`, `then`, `else`), one object or a list is
 *   accepted.
 * - The templates of one `let` do not see each other's names, whatever their order. They are
 *   evaluated before `then` runs and keep their values while `then` changes the state. A name,
 *   written with or without its `$`, hides an outer one.
 * - If a condition or a `let` needs a missing path with a `?`, the whole block is skipped,
 *   including `else`.
 */

import { spend } from "../budget.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { STEP_UNITS } from "./budget.ts";
import { addFault, childSite, nextSlot, type Site, withNames } from "./evaluation.ts";
import {
  compileIncrementAt,
  compileMerge,
  compileMergeAt,
  compileRemoveAt,
  compileSet,
  compileSetAt,
  incrementCompiler,
} from "./field_operations.ts";
import {
  compileAppend,
  compileAppendUnique,
  compileFilter,
  compileMap,
  compileRemove,
  compileUpdateWhere,
  compileUpsert,
} from "./list_operations.ts";
import {
  bindingNameAt,
  checkFields,
  doNothing,
  type Operation,
  type OperationCompiler,
} from "./operation.ts";
import { predicateAt } from "./predicate.ts";
import { templateAt } from "./template.ts";

const COMPILERS: ReadonlyMap<string, OperationCompiler> = new Map<string, OperationCompiler>([
  ["set", compileSet],
  ["merge", compileMerge],
  ["append", compileAppend],
  ["append_unique", compileAppendUnique],
  ["remove", compileRemove],
  ["increment", incrementCompiler(1)],
  ["decrement", incrementCompiler(-1)],
  ["filter", compileFilter],
  ["map", compileMap],
  ["update_where", compileUpdateWhere],
  ["upsert", compileUpsert],
  ["set_at", compileSetAt],
  ["merge_at", compileMergeAt],
  ["remove_at", compileRemoveAt],
  ["increment_at", compileIncrementAt],
]);

/** All operation names, for messages and for the test that every operation has its cases. */
export const OPERATION_NAMES: readonly string[] = [...COMPILERS.keys(), "if", "let"];

const HINT = `Operations: ${OPERATION_NAMES.join(", ")}`;

/** Compiles one operation or a list of operations that run in order. */
export function operationsAt(definition: JsonValue, site: Site): Operation {
  if (!Array.isArray(definition)) return operationAt(definition, site);
  const operations = definition.map((each, index) => operationAt(each, childSite(site, index)));
  const [only] = operations;
  if (only === undefined) return doNothing;
  if (operations.length === 1) return only;
  return (evaluation) => {
    for (const operation of operations) operation(evaluation);
  };
}

function operationAt(definition: JsonValue, site: Site): Operation {
  const operation = uncharged(definition, site);
  return (evaluation) => {
    spend(evaluation.budget, STEP_UNITS);
    operation(evaluation);
  };
}

function uncharged(definition: JsonValue, site: Site): Operation {
  if (!isJsonObject(definition)) {
    addFault(site, "operation_invalid", "An operation is an object with its name as key", HINT);
    return doNothing;
  }
  if (Object.hasOwn(definition, "if")) return conditional(definition, site);
  if (Object.hasOwn(definition, "let")) return binding(definition, site);
  const names = Object.keys(definition);
  if (names.length !== 1) {
    addFault(
      site,
      "operation_invalid",
      `An operation is an object with exactly one key; this one has ${names.length}`,
      "Write a list of operations, one object each",
    );
  }
  return namedOperations(definition, names, site);
}

/** Compiles every name so that all faults are found; only an object with one name ever runs. */
function namedOperations(definition: JsonObject, names: readonly string[], site: Site): Operation {
  let last: Operation = doNothing;
  for (const name of names) {
    const compile = COMPILERS.get(name);
    const inside = childSite(site, name);
    const fields = definition[name] as JsonValue;
    if (compile !== undefined) {
      last = isJsonObject(fields) ? compile(fields, inside) : notFields(inside);
    } else {
      addFault(inside, "operation_unknown", `There is no operation "${name}"`, HINT);
    }
  }
  return last;
}

function notFields(site: Site): Operation {
  addFault(
    site,
    "operation_invalid",
    "The fields of an operation are an object",
    'E.g. {"target": "status", "value": "placed"}',
  );
  return doNothing;
}

function conditional(definition: JsonObject, site: Site): Operation {
  const complete = checkFields(definition, ["if", "then"], ["else"], site);
  const holds = predicateAt(definition["if"] as JsonValue, childSite(site, "if"));
  const then = blockAt(definition, "then", site);
  const otherwise = blockAt(definition, "else", site);
  if (!complete) return doNothing;
  return (evaluation) => {
    const result = holds(evaluation);
    if (result === true) then(evaluation);
    else if (result === false) otherwise(evaluation);
  };
}

function blockAt(definition: JsonObject, name: "then" | "else", site: Site): Operation {
  if (!Object.hasOwn(definition, name)) return doNothing;
  return operationsAt(definition[name] as JsonValue, childSite(site, name));
}

function binding(definition: JsonObject, site: Site): Operation {
  const complete = checkFields(definition, ["let", "then"], [], site);
  const bound = bindingsAt(definition["let"] as JsonValue, childSite(site, "let"));
  const first = nextSlot(site.scope);
  const then = blockAt(definition, "then", withNames(site, bound.map(({ name }) => name)));
  if (!complete) return doNothing;
  return (evaluation) => {
    const { bindings } = evaluation;
    spend(evaluation.budget, STEP_UNITS * bound.length);
    for (const [offset, { template }] of bound.entries()) {
      const value = template.keep(evaluation);
      if (value === undefined) return;
      bindings[first + offset] = value;
    }
    then(evaluation);
  };
}

function bindingsAt(definition: JsonValue, site: Site) {
  if (!isJsonObject(definition) || Object.keys(definition).length === 0) {
    addFault(
      site,
      "operation_invalid",
      '"let" is an object of names and templates',
      'E.g. {"line": "$.data.line"}, read as "$line.qty"',
    );
    return [];
  }
  const bound: { name: string; template: ReturnType<typeof templateAt> }[] = [];
  const names = new Set<string>();
  for (const key of Object.keys(definition)) {
    const inside = childSite(site, key);
    const name = bindingNameAt(key, inside);
    const template = templateAt(definition[key] as JsonValue, inside);
    if (name === undefined) continue;
    if (names.has(name)) {
      addFault(inside, "name_invalid", `The name "${name}" is bound twice`, "Drop one of them");
    }
    names.add(name);
    bound.push({ name, template });
  }
  return bound;
}
