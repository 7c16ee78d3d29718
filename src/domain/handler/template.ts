/**
 * Templates: any JSON in which strings that are paths are resolved, at every depth.
 *
 * See docs/reference/expressions.md.
 *
 * - Keys are never paths. A string that starts with `$` or `@` must be a path (see `path.ts`).
 * - An object with a key that starts with `$` is an operator and has no other key: `{"$":
 *   path}`, `{"$merge": [...]}`, `{"$literal": x}`. Any other `$` key is refused; literal data
 *   with such keys goes into `$literal`.
 * - `$merge` merges its parts shallowly, later ones over earlier ones. Parts that do not
 *   evaluate to objects add nothing, so the result is always an object.
 * - If a path with a trailing `?` is missing anywhere inside, the whole template is missing and
 *   the operation around it is skipped.
 */

import { newBudget, spend } from "../budget.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { checkLevel, CONTAINER_UNITS, SLOT_UNITS } from "./budget.ts";
import { addFault, childSite, type Evaluation, type Site, type Template } from "./evaluation.ts";
import { looksLikePath, type ValuePath, valuePathAt } from "./path.ts";
import { copyValue, isObject, moveFields, putField, shareValue } from "./value.ts";

/** Compiles one template; it records faults, and a faulty template compiles to null. */
export function templateAt(definition: JsonValue, site: Site): Template {
  if (typeof definition === "string" && looksLikePath(definition)) {
    return pathTemplate(definition, site);
  }
  if (Array.isArray(definition)) return arrayTemplate(definition, site);
  if (!isJsonObject(definition)) return scalarTemplate(definition, site);
  const operator = Object.keys(definition).find((key) => key.startsWith("$"));
  return operator === undefined
    ? objectTemplate(definition, site)
    : operatorTemplate(definition, operator, site);
}

/** Most members are plain scalars, which cannot be at fault and so need no place of their own. */
function memberAt(definition: JsonValue, site: Site, step: string | number): Template {
  const isPlain = typeof definition === "string"
    ? !looksLikePath(definition)
    : typeof definition === "boolean" || definition === null || Number.isFinite(definition);
  return isPlain ? constantTemplate(definition) : templateAt(definition, childSite(site, step));
}

function scalarTemplate(definition: JsonValue, site: Site): Template {
  if (typeof definition === "number" && !Number.isFinite(definition)) {
    addFault(site, "number_invalid", "The number is too large", "Use a number JSON can hold");
  }
  return constantTemplate(definition);
}

export function constantTemplate(definition: JsonValue): Template {
  // The depth of a definition is checked before compiling; this copy is charged to no fold.
  return ownTemplate(copyValue(definition, 1, newBudget(Infinity)));
}

/** The same for a value that shares nothing with the spec. */
function ownTemplate(constant: JsonValue): Template {
  const view = () => constant;
  const isScalar = typeof constant !== "object" && typeof constant !== "string";
  const build = isScalar
    ? view
    : (evaluation: Evaluation, level: number) => part(constant, level, evaluation);
  return { view, build, keep: view, fromState: false, constant };
}

function pathTemplate(text: string, site: Site): Template {
  const path = valuePathAt(text, site);
  if (path === undefined) return constantTemplate(null);
  const view = viewOf(path);
  function build(evaluation: Evaluation, level: number) {
    const value = view(evaluation);
    return value === undefined ? undefined : part(value, level, evaluation);
  }
  const keep = path.fromState ? (evaluation: Evaluation) => build(evaluation, 1) : view;
  return { view, build, keep, fromState: path.fromState, constant: undefined };
}

function part(value: JsonValue, level: number, { budget, sharesParts }: Evaluation): JsonValue {
  return sharesParts === true ? shareValue(value, level, budget) : copyValue(value, level, budget);
}

function viewOf(path: ValuePath): (evaluation: Evaluation) => JsonValue | undefined {
  if (path.optional) return path.read;
  return (evaluation) => {
    const value = path.read(evaluation);
    return value === undefined ? null : value;
  };
}

function arrayTemplate(definition: readonly JsonValue[], site: Site): Template {
  const children = definition.map((each, index) => memberAt(each, site, index));
  if (children.every((child) => child.constant !== undefined)) {
    return ownTemplate(children.map((child) => child.constant as JsonValue));
  }
  return builtTemplate((evaluation, level) => {
    checkLevel(level);
    spend(evaluation.budget, CONTAINER_UNITS + SLOT_UNITS * children.length);
    const built: JsonValue[] = [];
    for (const child of children) {
      const value = child.build(evaluation, level + 1);
      if (value === undefined) return undefined;
      built.push(value);
    }
    return built;
  });
}

function objectTemplate(definition: JsonObject, site: Site): Template {
  const fields = Object.keys(definition).map((name) => ({
    name,
    child: memberAt(definition[name] as JsonValue, site, name),
  }));
  if (fields.every((field) => field.child.constant !== undefined)) {
    const constant: JsonObject = {};
    for (const { name, child } of fields) putField(constant, name, child.constant as JsonValue);
    return ownTemplate(constant);
  }
  const text = fields.reduce((sum, field) => sum + field.name.length, 0);
  const bytes = CONTAINER_UNITS + SLOT_UNITS * fields.length + text;
  return builtTemplate((evaluation, level) => {
    checkLevel(level);
    spend(evaluation.budget, bytes);
    const built: JsonObject = {};
    for (const { name, child } of fields) {
      const value = child.build(evaluation, level + 1);
      if (value === undefined) return undefined;
      putField(built, name, value);
    }
    return built;
  });
}

/** A template that builds a new value each time, even for `view`. */
export function builtTemplate(build: Template["build"]): Template {
  const view = (evaluation: Evaluation) => build(evaluation, 1);
  return { view, build, keep: view, fromState: false, constant: undefined };
}

function operatorTemplate(definition: JsonObject, operator: string, site: Site): Template {
  const further = site.scope.operators?.get(operator);
  if (further !== undefined) return further(definition, site);
  const known = operator === "$" || operator === "$merge" || operator === "$literal";
  if (!known || Object.keys(definition).length > 1) {
    addFault(
      known ? site : childSite(site, operator),
      "template_operator_invalid",
      known
        ? `"${operator}" stands beside other keys`
        : `"${operator}" is no template operator; keys that start with "$" are reserved`,
      'Operators are {"$": path}, {"$merge": [...]} and {"$literal": x}, each alone in its object',
    );
    return constantTemplate(null);
  }
  const operand = definition[operator] as JsonValue;
  const inside = childSite(site, operator);
  if (operator === "$literal") return literalTemplate(operand, inside);
  return operator === "$" ? explicitPath(operand, inside) : mergeTemplate(operand, inside);
}

function literalTemplate(operand: JsonValue, site: Site): Template {
  return Array.isArray(operand) || isJsonObject(operand)
    ? constantTemplate(operand)
    : scalarTemplate(operand, site);
}

function explicitPath(operand: JsonValue, site: Site): Template {
  if (typeof operand === "string") return pathTemplate(operand, site);
  addFault(site, "path_invalid", "The path is not a string", 'Write {"$": "$.data.field"}');
  return constantTemplate(null);
}

function mergeTemplate(operand: JsonValue, site: Site): Template {
  if (!Array.isArray(operand) || operand.length === 0) {
    addFault(
      site,
      "template_operator_invalid",
      '"$merge" takes a list of at least one template',
      'Write {"$merge": ["$.data", {"status": "placed"}]}',
    );
    return constantTemplate(null);
  }
  const parts = operand.map((each, index) => templateAt(each, childSite(site, index)));
  return builtTemplate((evaluation, level) => {
    checkLevel(level);
    spend(evaluation.budget, CONTAINER_UNITS);
    const merged: JsonObject = {};
    for (const part of parts) {
      const value = part.build(evaluation, level);
      if (value === undefined) return undefined;
      if (isObject(value)) moveFields(merged, value, evaluation.budget);
    }
    return merged;
  });
}
