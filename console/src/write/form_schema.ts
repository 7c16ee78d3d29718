/**
 * What input a part of a JSON Schema gets. A part that no input can express is written as JSON.
 * Shapes are made one level at a time, so a schema that refers to itself does no harm.
 */

export type Shape =
  & { readonly isNullable: boolean; readonly description?: string; readonly rules: string }
  & (
    | { readonly kind: "object"; readonly fields: readonly FieldShape[] }
    | { readonly kind: "list"; readonly item: unknown }
    | { readonly kind: "choice"; readonly options: readonly unknown[] }
    | { readonly kind: "text" | "number" | "boolean" | "json" }
  );

export interface FieldShape {
  readonly name: string;
  readonly schema: unknown;
  readonly isRequired: boolean;
}

/** Deeper parts, and objects and choices with more members, are written as JSON. */
const DEPTH_MAX = 6;
const MEMBERS_MAX = 100;
const REFERENCES_MAX = 20;

type Schema = Readonly<Record<string, unknown>>;

/** `root`: the document in which references are looked up. */
export function shapeOf(root: unknown, schema: unknown, depth: number): Shape {
  const found = follow(root, schema);
  const description = typeof found?.description === "string" ? found.description : undefined;
  const about = { isNullable: false, description, rules: rulesOf(found ?? {}) };
  if (found === undefined || depth > DEPTH_MAX) return { kind: "json", ...about };
  const inner = withoutNull(found);
  if (inner !== undefined) {
    const shape = shapeOf(root, inner, depth);
    return { ...shape, description: shape.description ?? description, isNullable: true };
  }
  const options = "const" in found ? [found.const] : found.enum;
  if (Array.isArray(options)) {
    const isShort = options.length > 0 && options.length <= MEMBERS_MAX;
    return isShort ? { kind: "choice", options, ...about } : { kind: "json", ...about };
  }
  return { ...kindOf(found), ...about };
}

type Kind =
  | { kind: "object"; fields: readonly FieldShape[] }
  | { kind: "list"; item: unknown }
  | { kind: "text" | "number" | "boolean" | "json" };

function kindOf(schema: Schema): Kind {
  switch (schema.type ?? (isSchema(schema.properties) ? "object" : undefined)) {
    case "object": {
      const fields = fieldsOf(schema);
      return fields === undefined ? { kind: "json" } : { kind: "object", fields };
    }
    case "array":
      if ("prefixItems" in schema || !isSchema(schema.items)) return { kind: "json" };
      return { kind: "list", item: schema.items };
    case "string":
      return { kind: "text" };
    case "number":
    case "integer":
      return { kind: "number" };
    case "boolean":
      return { kind: "boolean" };
    default:
      return { kind: "json" };
  }
}

function fieldsOf({ properties, required }: Schema): FieldShape[] | undefined {
  if (!isSchema(properties)) return undefined;
  const names = Object.keys(properties);
  if (names.length === 0 || names.length > MEMBERS_MAX) return undefined;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return names.map((name) => ({
    name,
    schema: properties[name],
    isRequired: needed.includes(name),
  }));
}

/** The schema without its null, for `["string", "null"]` or a choice of two, one of them null. */
function withoutNull(schema: Schema): unknown {
  if (Array.isArray(schema.type)) {
    const others = schema.type.filter((type) => type !== "null");
    if (others.length !== 1) return undefined;
    return others.length === schema.type.length - 1 ? { ...schema, type: others[0] } : undefined;
  }
  const branches = schema.anyOf ?? schema.oneOf;
  if ("type" in schema || !Array.isArray(branches) || branches.length !== 2) return undefined;
  const others = branches.filter((branch) => !isSchema(branch) || branch.type !== "null");
  return others.length === 1 ? others[0] : undefined;
}

function follow(root: unknown, schema: unknown): Schema | undefined {
  let found = schema;
  for (let count = 0; count < REFERENCES_MAX; count++) {
    if (!isSchema(found)) return undefined;
    if (typeof found.$ref !== "string") return "$dynamicRef" in found ? undefined : found;
    // What stands beside a reference may forbid what it allows; the server judges that.
    found = partAt(root, found.$ref);
  }
  return undefined;
}

/** `pointer`: such as `#/components/schemas/order.was_placed`. */
function partAt(root: unknown, pointer: string): unknown {
  if (!pointer.startsWith("#")) return undefined;
  return pointer.slice(1).split("/").slice(1).reduce<unknown>((value, segment) => {
    const name = decoded(segment).replaceAll("~1", "/").replaceAll("~0", "~");
    return isBranch(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }, root);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function isBranch(value: unknown): value is Schema {
  return typeof value === "object" && value !== null;
}

function isSchema(value: unknown): value is Schema {
  return isBranch(value) && !Array.isArray(value);
}

const RULES: readonly (readonly [keyword: string, words: (value: unknown) => string])[] = [
  ["minimum", (value) => `at least ${value}`],
  ["exclusiveMinimum", (value) => `more than ${value}`],
  ["maximum", (value) => `at most ${value}`],
  ["exclusiveMaximum", (value) => `less than ${value}`],
  ["multipleOf", (value) => `a multiple of ${value}`],
  ["minLength", (value) => `${value} characters or more`],
  ["maxLength", (value) => `${value} characters or fewer`],
  ["pattern", (value) => `matches ${value}`],
  ["format", (value) => `a ${value}`],
  ["minItems", (value) => `${value} or more of them`],
  ["maxItems", (value) => `${value} or fewer of them`],
];

/** What the value must fulfil, in words. */
function rulesOf(schema: Schema): string {
  const kind = schema.type === "integer" ? ["a whole number"] : [];
  const rules = RULES
    .filter(([keyword]) => ["string", "number"].includes(typeof schema[keyword]))
    .map(([keyword, words]) => words(schema[keyword]));
  return [...kind, ...rules].join(", ");
}
