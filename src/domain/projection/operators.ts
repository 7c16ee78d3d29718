/**
 * What the templates of projections have beside those of handlers:
 *
 * - `{"$map": list, "as": name, "to": template}`: the template for each element, bound as `$name`
 *   (`$item` without `as`). What is no list gives null.
 * - `{"$lookup": list, "where": ..., "select": template}`: of the first element that matches, as in
 *   handlers, what the template gives, the element being `$item`; all of it without `select`. Where
 *   nothing matches: null.
 * - `{"$count": list}`: how many elements; what is no list has none.
 * - `{"$sum": list or number}`: the sum of what is a number; null where it is too large for one.
 */

import { spend } from "../budget.ts";
import { checkLevel, CONTAINER_UNITS, SLOT_UNITS, STEP_UNITS } from "../handler/budget.ts";
import { addFault, childSite, type Site, withNames } from "../handler/evaluation.ts";
import { bindingNameAt } from "../handler/operation.ts";
import { builtTemplate, constantTemplate, type Template, templateAt } from "../handler/template.ts";
import { ITEM_NAME, whereAt } from "../handler/where.ts";
import type { JsonObject, JsonValue } from "../json.ts";
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
  const list = templateAt(definition.$map!, childSite(site, "$map"));
  const name = bindingNameAt(definition.as ?? ITEM_NAME, childSite(site, "as"));
  const slot = site.scope.names.length;
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
  const list = templateAt(definition.$lookup!, childSite(site, "$lookup"));
  const matcher = whereAt(definition.where!, childSite(site, "where"));
  const slot = site.scope.names.length;
  const inside = childSite(withNames(site, [ITEM_NAME]), "select");
  const select = templateAt(definition.select ?? `$${ITEM_NAME}`, inside);
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

function countTemplate(definition: JsonObject, site: Site): Template {
  if (!hasFields(definition, ["$count"], [], site)) return constantTemplate(null);
  const list = templateAt(definition.$count!, childSite(site, "$count"));
  return builtTemplate((evaluation) => {
    const elements = list.view(evaluation);
    return Array.isArray(elements) ? elements.length : 0;
  });
}

function sumTemplate(definition: JsonObject, site: Site): Template {
  if (!hasFields(definition, ["$sum"], [], site)) return constantTemplate(null);
  const list = templateAt(definition.$sum!, childSite(site, "$sum"));
  return builtTemplate((evaluation) => {
    const found = list.view(evaluation);
    const elements = Array.isArray(found) ? found : [found];
    spend(evaluation.budget, STEP_UNITS * elements.length);
    let sum = 0;
    // Bounded: charged two lines above.
    for (const element of elements) if (typeof element === "number") sum += element;
    // A negative zero has no word in JSON.
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
