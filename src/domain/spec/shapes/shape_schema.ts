/** Writes a shape as a JSON Schema, as far as OpenAPI generators understand it. */

import type { JsonObject, JsonValue } from "../../json.ts";
import {
  type ArrayShape,
  type Definition,
  type Field,
  isAnyShape,
  isNamed,
  isNever,
  type Kinds,
  type ObjectShape,
  type Shape,
  shapeOfObjects,
} from "./shape.ts";

/** Gives the reference to the schema of a definition. */
export type RefTo = (definition: Definition) => string;

export function schemaOfShape(shape: Shape, refTo: RefTo): JsonObject {
  if (isNamed(shape)) return { $ref: refTo(shape.definition) };
  if (shape.isAny) return {};
  if (isNever(shape)) return { not: {} };
  const forms = [
    ...scalarSchemas(shape),
    ...(shape.array === undefined ? [] : [schemaOfArray(shape.array, refTo)]),
    ...shape.objects.map((object) => heldObject(object, refTo)),
  ];
  return forms.length === 1 ? forms[0]! : { anyOf: forms };
}

function heldObject(object: ObjectShape, refTo: RefTo): JsonObject {
  const { definition } = object;
  return definition === undefined ? schemaOfObject(object, refTo) : { $ref: refTo(definition) };
}

function scalarSchemas({ types, values }: Kinds): JsonObject[] {
  const schemas: JsonObject[] = [];
  if (types.size === 1) schemas.push({ type: [...types][0]! });
  else if (types.size > 1) schemas.push({ type: [...types].sort() });
  const kinds = Map.groupBy(values, (value) => typeof value);
  for (const listed of kinds.values()) {
    if (listed.length === 1) schemas.push({ const: listed[0]! });
    else if (listed.length > 1) schemas.push({ enum: listed });
  }
  return schemas;
}

function schemaOfArray({ prefix, rest, least }: ArrayShape, refTo: RefTo): JsonObject {
  const isClosed = isNever(rest);
  const minItems = Math.min(least, prefix.length);
  return {
    type: "array",
    ...(prefix.length > 0 && { prefixItems: prefix.map((each) => schemaOfShape(each, refTo)) }),
    ...(isClosed
      ? { maxItems: prefix.length }
      : !isAnyShape(rest) && { items: schemaOfShape(rest, refTo) }),
    ...(minItems > 0 && { minItems }),
  };
}

/** The schema of one object; as its own part of a document, not as a reference to one. */
export function schemaOfObject({ fields, rest }: ObjectShape, refTo: RefTo): JsonObject {
  const properties = [...fields].map(([name, field]): [string, JsonValue] => [
    name,
    schemaOfField(field, refTo),
  ]);
  const required = [...fields].filter(([, field]) => !field.isOptional).map(([name]) => name);
  return {
    type: "object",
    // Entries, not assignments: a field may be called `__proto__`.
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required }),
    ...(isNever(rest)
      ? { additionalProperties: false }
      : !isAnyShape(rest) && { additionalProperties: schemaOfShape(rest, refTo) }),
  };
}

function schemaOfField({ shape, note }: Field, refTo: RefTo): JsonObject {
  const schema = schemaOfShape(shape, refTo);
  if (note === undefined) return schema;
  return schema.$ref === undefined ? { ...schema, ...note } : { allOf: [schema], ...note };
}

/** The schema of a definition's own part. */
export function schemaOfDefinition({ open, note }: Definition, refTo: RefTo): JsonObject {
  const kinds = open()!;
  const objects = kinds.objects.map(({ fields, rest }) => ({ fields, rest }));
  return { ...schemaOfShape({ ...kinds, objects }, refTo), ...note };
}

/** An object with nothing else beside it. */
export function schemaOfState(state: ObjectShape, refTo: RefTo): JsonObject {
  return schemaOfShape(shapeOfObjects(state), refTo);
}
