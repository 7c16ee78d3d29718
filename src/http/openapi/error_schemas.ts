/**
 * The schemas of refusals: one for each `error_type`, or for each status if it has several.
 *
 * So each answer of a status matches one schema, and its `error_type` says which one.
 */

import type { JsonValue } from "../../domain/json.ts";
import { type ErrorName, ERRORS } from "./errors.ts";
import { ref, type Schema } from "./schema.ts";

interface ErrorGroup {
  readonly name: string;
  readonly types: readonly string[];
  readonly kinds: readonly ErrorName[];
}

/** The schema group of each kind of refusal. */
const GROUPS = groupErrors(Object.keys(ERRORS) as ErrorName[]);

export const ERROR_SCHEMAS: Readonly<Record<string, Schema>> = Object.fromEntries(
  [...new Set(GROUPS.values())].map(({ name, kinds }) => [
    name,
    merge(kinds.map((kind) => ERRORS[kind].schema)),
  ]),
);

/** An answer that is one of these refusals, which all have one status. */
export function refusalSchema(kinds: readonly ErrorName[]): Schema {
  const groups = [...new Set(kinds.map((kind) => GROUPS.get(kind)!))];
  if (groups.length === 1) return ref(groups[0]!.name);
  const mapping = groups.flatMap(({ name, types }) =>
    types.map((type) => [type, ref(name).$ref as string])
  );
  return {
    oneOf: groups.map(({ name }) => ref(name)),
    discriminator: { propertyName: "error_type", mapping: Object.fromEntries(mapping) },
  };
}

function groupErrors(kinds: readonly ErrorName[]): ReadonlyMap<ErrorName, ErrorGroup> {
  const statuses = new Map<string, Set<number>>();
  for (const kind of kinds) {
    const name = baseName(kind);
    statuses.set(name, (statuses.get(name) ?? new Set()).add(ERRORS[kind].status));
  }
  const byName = Map.groupBy(kinds, (kind) => {
    const base = baseName(kind);
    return statuses.get(base)!.size === 1 ? `${base}Error` : `${base}${ERRORS[kind].status}Error`;
  });
  const groups = new Map<ErrorName, ErrorGroup>();
  for (const [name, members] of byName) {
    const group = { name, types: errorTypesOf(members[0]!), kinds: members };
    for (const kind of members) groups.set(kind, group);
  }
  return groups;
}

/** `spec_invalid` to `SpecInvalid`; a kind with several types uses its own name. */
function baseName(kind: ErrorName): string {
  const types = errorTypesOf(kind);
  const words = (types.length === 1 ? types[0]! : kind).split("_");
  return words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
}

function errorTypesOf(kind: ErrorName): string[] {
  const { error_type: type } = ERRORS[kind].schema.properties as Record<string, Schema>;
  return (type!.enum ?? [type!.const]) as string[];
}

/** A field is required if all schemas require it; where their types differ, any of them matches. */
function merge(schemas: readonly Schema[]): Schema {
  const fields = new Map<string, Map<string, JsonValue>>();
  for (const { properties } of schemas) {
    for (const [name, schema] of Object.entries(properties as Schema)) {
      const forms = fields.get(name) ?? new Map<string, JsonValue>();
      fields.set(name, forms.set(JSON.stringify(schema), schema!));
    }
  }
  const properties = [...fields].map(([name, forms]) => {
    const [first, ...others] = forms.values();
    return [name, others.length === 0 ? first! : { anyOf: [first!, ...others] }];
  });
  const [required = [], ...others] = schemas.map((schema) => schema.required as string[]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: required.filter((name) => others.every((names) => names.includes(name))),
  };
}
