/**
 * The template operators that projections have in addition to those of handlers.
 *
 * - `{"$map": list, "as": name, "to": template}`: the template applied to each element, bound
 *   as `$name` (`$item` without `as`). Null if the operand is not a list.
 * - `{"$lookup": list, "where": {field: template, ...}, "select": template}`: finds the first
 *   element whose fields equal the values of the templates and returns `select` of it, or the
 *   whole element without `select`. The templates of `where` are evaluated outside the list, so
 *   they see the variables of an enclosing `$map`, including its `$item`. In `select`, both `$`
 *   and `$item` are the element. `where` may also be a predicate as in handlers, and there
 *   `$item` is the element. Null if nothing matches.
 * - `{"$count": list}`: the number of elements; 0 if the operand is not a list.
 * - `{"$sum": list or number}`: the sum of the numbers among its elements; null if it
 *   overflows.
 */

import { spend } from "../budget.ts";
import { checkLevel, CONTAINER_UNITS, SLOT_UNITS, STEP_UNITS } from "../handler/budget.ts";
import { bindingNameAt } from "../handler/operation.ts";
import { builtTemplate, constantTemplate, templateAt } from "../handler/template.ts";
import {
  addFault,
  childSite,
  nextSlot,
  type Site,
  slotOf,
  type Template,
  withNames,
} from "../handler/evaluation.ts";
import { ITEM_NAME, whereAt } from "../handler/where.ts";
import { excerpt, looksLikePath } from "../handler/path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { didYouMean } from "../nearest_name.ts";

type Compile = (definition: JsonObject, site: Site) => Template;

export const PROJECTION_OPERATORS: ReadonlyMap<string, Compile> = new Map([
  ["$map", mapTemplate],
  ["$lookup", lookupTemplate],
  ["$count", countTemplate],
  ["$sum", sumTemplate],
]);

function mapTemplate(definition: JsonObject, site: Site): Template {
  if (!hasFields(definition, ["$map", "to"], ["as"], site)) return constantTemplate(null);
  const list = listAt(definition.$map!, childSite(site, "$map"));
  const name = bindingNameAt(definition.as ?? ITEM_NAME, childSite(site, "as"));
  const slot = nextSlot(site.scope);
  const to = templateAt(definition.to!, childSite(withNames(site, [name ?? ITEM_NAME]), "to"));
  return builtTemplate((evaluation, level) => {
    const elements = list.view(evaluation);
    if (!Array.isArray(elements)) return elements === undefined ? undefined : null;
    checkLevel(level);
    spend(evaluation.budget, CONTAINER_UNITS + SLOT_UNITS * elements.length);
    const mapped: JsonValue[] = [];
    for (const element of elements) {
      evaluation.bindings[slot] = element;
      const value = to.build(evaluation, level + 1);
      if (value === undefined) return undefined;
      mapped.push(value);
    }
    return mapped;
  });
}

function lookupTemplate(definition: JsonObject, site: Site): Template {
  if (!hasFields(definition, ["$lookup", "where"], ["select"], site)) return constantTemplate(null);
  const list = listAt(definition.$lookup!, childSite(site, "$lookup"));
  const wherePlace = childSite(site, "where");
  refusePlainPaths(definition.where!, wherePlace);
  const matcher = whereAt(definition.where!, wherePlace, "outside");
  const slot = nextSlot(site.scope);
  const select = selectAt(definition.select ?? "$", slot, childSite(site, "select"));
  return builtTemplate((evaluation, level) => {
    const elements = list.view(evaluation);
    if (!Array.isArray(elements)) return elements === undefined ? undefined : null;
    const matches = matcher(elements, evaluation);
    if (matches === undefined) return undefined;
    const index = matches.indexOf(true);
    if (index === -1) return null;
    evaluation.bindings[slot] = elements[index];
    return select.build(evaluation, level);
  });
}

/** Compiles what to show of the element in `slot`; refuses a text that was meant as a path. */
function selectAt(definition: JsonValue, slot: number, site: Site): Template {
  if (typeof definition === "string" && !looksLikePath(definition)) {
    const text = excerpt(definition);
    const hint = `Write "$.${text}"; for a fixed text {"$literal": "${text}"}`;
    addFault(site, "path_without_root", `"${text}" is a text, not a path`, hint);
  }
  const { scope } = withNames(site, [ITEM_NAME]);
  return templateAt(definition, { ...site, scope: { ...scope, element: slot } });
}

/** Refuses texts such as `line.sku` where `$line` is bound: they would be compared literally. */
function refusePlainPaths(where: JsonValue, site: Site): void {
  if (!isJsonObject(where)) return;
  for (const [field, value] of Object.entries(where)) {
    const head = typeof value === "string" ? /^([A-Za-z_]\w*)[.[]/.exec(value)?.[1] : undefined;
    if (head === undefined || !isBound(head, site)) continue;
    const text = excerpt(value as string);
    const hint = `Write "$${text}"; for the text itself {"$literal": "${text}"}`;
    addFault(childSite(site, field), "path_without_root", `"${text}" is a text, not a path`, hint);
  }
}

function isBound(name: string, { scope }: Site): boolean {
  return slotOf(name, scope) >= (scope.roots?.length ?? 0);
}

/** Compiles the list operand of an operator; refuses an alias that can never be a list. */
function listAt(definition: JsonValue, site: Site): Template {
  const { roots = [], kinds, element } = site.scope;
  const alias = typeof definition === "string"
    ? /^\$\.([^.[?]+)\??$/.exec(definition)?.[1]
    : undefined;
  const kind = alias === undefined || element !== undefined
    ? "list"
    : kinds?.[roots.indexOf(alias)];
  if (kind === "object" || kind === "text") {
    const hint = `Name a list in it, for example "$.${alias}.lines"`;
    addFault(site, "never_a_list", `"$.${alias}" is never a list`, hint);
  }
  return templateAt(definition, site);
}

function countTemplate(definition: JsonObject, site: Site): Template {
  if (!hasFields(definition, ["$count"], [], site)) return constantTemplate(null);
  const list = listAt(definition.$count!, childSite(site, "$count"));
  return builtTemplate((evaluation) => {
    const elements = list.view(evaluation);
    return Array.isArray(elements) ? elements.length : 0;
  });
}

function sumTemplate(definition: JsonObject, site: Site): Template {
  if (!hasFields(definition, ["$sum"], [], site)) return constantTemplate(null);
  const list = listAt(definition.$sum!, childSite(site, "$sum"));
  return builtTemplate((evaluation) => {
    const found = list.view(evaluation);
    const elements = Array.isArray(found) ? found : [found];
    spend(evaluation.budget, STEP_UNITS * elements.length);
    let sum = 0;
    // Bounded: charged two lines above.
    for (const element of elements) if (typeof element === "number") sum += element;
    // JSON cannot represent a negative zero.
    return Number.isFinite(sum) ? sum + 0 : null;
  });
}

function hasFields(
  definition: JsonObject,
  required: readonly string[],
  optional: readonly string[],
  site: Site,
): boolean {
  const before = site.faults.length;
  const known = [...required, ...optional];
  for (const key of Object.keys(definition)) {
    if (known.includes(key)) continue;
    const hint = didYouMean(key, known, `It has ${known.join(", ")}.`);
    addFault(childSite(site, key), "unknown_key", `"${key}" is no part of ${required[0]}`, hint);
  }
  for (const key of required) {
    if (definition[key] !== undefined) continue;
    addFault(childSite(site, key), "missing_key", `${required[0]} needs "${key}"`, "Add it");
  }
  return site.faults.length === before;
}
