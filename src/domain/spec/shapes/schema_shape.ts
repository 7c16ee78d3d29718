/**
 * The shapes that a JSON Schema allows.
 *
 * Keywords that a shape cannot express (`pattern`, `not`, `minimum` ...) make it no smaller, so
 * each valid value has the shape. The schema has been checked at its deploy.
 */

import { BudgetSpent, newBudget } from "../../budget.ts";
import type { Steps } from "../../fairness/pieces.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { findReferencesSteps, findTargets, type References } from "../schema/references.ts";
import { escapePointer, SIMPLE_TYPES } from "../schema/vocabulary.ts";
import { joinObject, joinShapes, meetShapes, type ShapeWork } from "./combine_shapes.ts";
import {
  ANY,
  ANY_OBJECT,
  type Definition,
  type Field,
  isNamed,
  isNever,
  type Kinds,
  kindsOf,
  literalShape,
  NEVER,
  type Note,
  type ObjectShape,
  type ScalarType,
  type Shape,
  shapeOfObjects,
} from "./shape.ts";
import { TextMap, type Texts, TextSet } from "../../lookup/text_map.ts";

/** Steps that the shape of one schema may take, in one time slice. Beyond, it is any object. */
const WORK_MAX = 50_000;
/** Forms of `anyOf` and `oneOf` that are kept apart; more of them become one. */
const FORMS_MAX = 16;

interface Reading {
  readonly references: References;
  readonly targets: Texts;
  /** By pointer; null while it is being computed. */
  readonly shapes: TextMap<Shape | null>;
  readonly definitions: TextMap<Definition>;
  readonly opened: TextMap<Kinds>;
  readonly work: ShapeWork;
}

/** The shape of the objects that `schema` allows: the data of an event. */
export function* shapeOfDataSteps(schema: JsonValue): Steps<Shape> {
  const references = yield* findReferencesSteps(schema);
  const targets = findTargets(references);
  const work = { ...newBudget(WORK_MAX), names: 0 };
  const reading: Reading = {
    references,
    targets,
    shapes: new TextMap(),
    definitions: new TextMap(),
    opened: new TextMap(),
    work,
  };
  try {
    const shape = targets.has("") ? namedShape("", reading) : shapeAt("", reading);
    const { objects } = kindsOf(shape);
    const isOfObjects = isNamed(shape) && isOnlyObjects(kindsOf(shape));
    return isOfObjects ? shape : shapeOfObjects(...objects);
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    return shapeOfObjects(ANY_OBJECT);
  }
}

function isOnlyObjects({ types, values, array }: Kinds): boolean {
  return types.size === 0 && values.length === 0 && array === undefined;
}

/** What people wrote about the schema at its own place. */
export function noteOf(schema: JsonValue | undefined): Note | undefined {
  if (!isJsonObject(schema ?? null)) return undefined;
  const { title, description } = schema as JsonObject;
  const isText = (value: unknown) => typeof value === "string" && value.trim() !== "";
  if (!isText(title) && !isText(description)) return undefined;
  return {
    ...(isText(title) && { title: title as string }),
    ...(isText(description) && { description: description as string }),
  };
}

function schemaAt(pointer: string, { references }: Reading): JsonValue {
  return references.places.get(pointer)?.schema ?? true;
}

/** The shape of a nested schema; by its name if the schema is referred to. */
function heldShape(pointer: string, reading: Reading): Shape {
  return reading.targets.has(pointer) ? namedShape(pointer, reading) : shapeAt(pointer, reading);
}

/** What is referred to has a name, unless it says too little to need one. */
function namedShape(pointer: string, reading: Reading): Shape {
  const known = reading.shapes.get(pointer);
  if (known === undefined) {
    const shape = shapeAt(pointer, reading);
    if (isNamed(shape) || isPlain(shape)) return shape;
  } else if (known !== null && (isNamed(known) || isPlain(known))) return known;
  let definition = reading.definitions.get(pointer);
  if (definition === undefined) {
    const note = noteOf(schemaAt(pointer, reading));
    definition = { pointer, note, open: () => openAt(pointer, reading) };
    reading.definitions.set(pointer, definition);
  }
  return { definition };
}

function openAt(pointer: string, reading: Reading): Kinds | undefined {
  const { shapes, definitions, opened } = reading;
  const known = opened.get(pointer);
  if (known !== undefined) return known;
  if (shapes.get(pointer) === null) return undefined;
  const shape = shapeAt(pointer, reading);
  if (isNamed(shape)) return shape.definition.open();
  const [object, ...others] = shape.objects;
  const isOneObject = object !== undefined && others.length === 0 && !shape.isAny;
  const definition = definitions.get(pointer)!;
  const kinds = isOneObject ? { ...shape, objects: [{ ...object, definition }] } : shape;
  opened.set(pointer, kinds);
  return kinds;
}

function isPlain({ isAny, array, objects }: Kinds): boolean {
  return isAny || (array === undefined && objects.length === 0);
}

function shapeAt(pointer: string, reading: Reading): Shape {
  const known = reading.shapes.get(pointer);
  if (known !== undefined) return known ?? ANY;
  reading.shapes.set(pointer, null);
  const shape = computeAt(pointer, reading);
  reading.shapes.set(pointer, shape);
  return shape;
}

function computeAt(pointer: string, reading: Reading): Shape {
  const schema = schemaAt(pointer, reading);
  if (!isJsonObject(schema)) return schema === false ? NEVER : ANY;
  const { work } = reading;
  let shape: Shape = ownShape(schema, pointer, reading);
  for (const target of referredShapes(schema, pointer, reading)) {
    shape = meetShapes(shape, target, work);
  }
  for (const index of indicesOf(schema.allOf)) {
    shape = meetShapes(shape, heldShape(`${pointer}/allOf/${index}`, reading), work);
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const forms = indicesOf(schema[keyword]).map((index) =>
      heldShape(`${pointer}/${keyword}/${index}`, reading)
    );
    if (forms.length > 0) shape = meetShapes(shape, formsShape(forms, work), work);
  }
  if (schema.if !== undefined) shape = meetShapes(shape, ifShape(schema, pointer, reading), work);
  if (schema.unevaluatedProperties !== undefined) {
    const object = unevaluatedShape(pointer, reading);
    shape = meetShapes(shape, { ...ANY, isAny: false, objects: [object] }, work);
  }
  return shape;
}

function indicesOf(list: JsonValue | undefined): number[] {
  return Array.isArray(list) ? [...list.keys()] : [];
}

function referredShapes(schema: JsonObject, pointer: string, reading: Reading): Shape[] {
  const { references, work } = reading;
  const shapes: Shape[] = [];
  if (typeof schema.$ref === "string") {
    const target = references.resolve(schema.$ref, pointer);
    if (target !== undefined) shapes.push(namedShape(target, reading));
  }
  if (typeof schema.$dynamicRef === "string") {
    const several = references.dynamicTargets(schema.$dynamicRef, pointer);
    const one = references.resolve(schema.$dynamicRef, pointer);
    const targets = several?.pointers ?? (one === undefined ? [] : [one]);
    const forms = targets.map((target) => namedShape(target, reading));
    if (forms.length > 0) shapes.push(formsShape(forms, work));
  }
  return shapes;
}

/** One of several shapes. Objects stay apart as the schema lists them, while they are few. */
function formsShape(forms: readonly Shape[], work: ShapeWork): Shape {
  const [first, ...others] = forms.filter((form) => !isNever(form));
  if (first === undefined) return NEVER;
  if (others.length === 0) return first;
  const all = [first, ...others];
  const joined = all.reduce((some, each) => joinShapes(some, each, work));
  if (isNamed(joined) || joined.isAny || joined.objects.length === 0) return joined;
  const objects: ObjectShape[] = [];
  for (const object of all.flatMap((form) => kindsOf(form).objects)) {
    if (!objects.some((other) => joinObject(other, object, work) === other)) objects.push(object);
  }
  return objects.length > FORMS_MAX ? joined : { ...joined, objects };
}

function ifShape(schema: JsonObject, pointer: string, reading: Reading): Shape {
  const held = (keyword: string) =>
    schema[keyword] === undefined ? ANY : heldShape(`${pointer}/${keyword}`, reading);
  const holds = meetShapes(held("if"), held("then"), reading.work);
  return formsShape([holds, held("else")], reading.work);
}

const TYPED: ReadonlyMap<string, ScalarType> = new Map(
  (["null", "boolean", "integer", "number", "string"] as const).map((type) => [type, type]),
);
const OF_ARRAYS = ["items", "prefixItems", "minItems", "unevaluatedItems"];
const OF_OBJECTS = ["properties", "required", "patternProperties", "additionalProperties"];

/** What the schema's own keywords say, without those that refer to further schemas. */
function ownShape(schema: JsonObject, pointer: string, reading: Reading): Shape {
  const { work } = reading;
  let shape: Shape = ANY;
  const says = (keywords: readonly string[]) => keywords.some((each) => schema[each] !== undefined);
  if (schema.type !== undefined || says(OF_ARRAYS) || says(OF_OBJECTS)) {
    const allowed = [schema.type ?? [...SIMPLE_TYPES]].flat() as string[];
    const types = allowed.flatMap((type) => TYPED.get(type) ?? []);
    const isNumber = allowed.includes("number");
    const object = allowed.includes("object") ? objectShape(schema, pointer, reading) : undefined;
    shape = {
      isAny: false,
      types: new Set(types.filter((type) => type !== "integer" || !isNumber)),
      values: [],
      array: allowed.includes("array") ? arrayShape(schema, pointer, reading) : undefined,
      objects: object === undefined ? [] : [object],
    };
  }
  if (schema.const !== undefined) shape = meetShapes(shape, literalShape(schema.const), work);
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.map(literalShape);
    const listed = values.reduce((some: Shape, each) => joinShapes(some, each, work), NEVER);
    shape = meetShapes(shape, listed, work);
  }
  return shape;
}

function arrayShape(schema: JsonObject, pointer: string, reading: Reading): Kinds["array"] {
  const prefix: Shape[] = [];
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  for (const index of indicesOf(schema.prefixItems)) {
    const shape = heldShape(`${pointer}/prefixItems/${index}`, reading);
    if (isNever(shape)) return index < least ? undefined : { prefix, rest: NEVER, least };
    prefix.push(shape);
  }
  return { prefix, rest: restOfArray(schema, pointer, reading), least };
}

/** Keywords whose schemas see the same array; elements that they look at are evaluated. */
const EVALUATING = ["allOf", "anyOf", "oneOf", "if", "then", "else", "$ref", "$dynamicRef"];

function restOfArray(schema: JsonObject, pointer: string, reading: Reading): Shape {
  if (schema.items !== undefined) return heldShape(`${pointer}/items`, reading);
  if (schema.unevaluatedItems === undefined) return ANY;
  const further = [...EVALUATING, "contains", "dependentSchemas"];
  const isAlone = !further.some((keyword) => schema[keyword] !== undefined);
  return isAlone ? heldShape(`${pointer}/unevaluatedItems`, reading) : ANY;
}

/** Undefined if there can be no such object. */
function objectShape(
  schema: JsonObject,
  pointer: string,
  reading: Reading,
): ObjectShape | undefined {
  const rest = restOfObject(schema, pointer, reading);
  const required = new TextSet(schema.required as string[] | undefined ?? []);
  const fields: [name: string, field: Field][] = [];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const shape = heldShape(`${pointer}/properties/${escapePointer(name)}`, reading);
    const note = noteOf(property as JsonValue);
    fields.push([name, { shape, isOptional: !required.has(name), ...(note && { note }) }]);
  }
  for (const name of required.keys()) {
    if (Object.hasOwn((schema.properties ?? {}) as JsonObject, name)) continue;
    fields.push([name, { shape: rest, isOptional: false }]);
  }
  const isPossible = fields.every(([, field]) => field.isOptional || !isNever(field.shape));
  return isPossible ? { fields: new TextMap(fields), rest } : undefined;
}

/** Fields that `properties` does not name have the shape of a pattern or of all others. */
function restOfObject(schema: JsonObject, pointer: string, reading: Reading): Shape {
  const others = schema.additionalProperties === undefined
    ? ANY
    : heldShape(`${pointer}/additionalProperties`, reading);
  return patternShapes(schema, pointer, reading)
    .reduce((some, each) => joinShapes(some, each, reading.work), others);
}

function patternShapes(schema: JsonObject, pointer: string, reading: Reading): Shape[] {
  return Object.keys(schema.patternProperties ?? {}).map((pattern) =>
    heldShape(`${pointer}/patternProperties/${escapePointer(pattern)}`, reading)
  );
}

/** What `unevaluatedProperties` leaves of objects: fields that no schema in place may evaluate. */
function unevaluatedShape(pointer: string, reading: Reading): ObjectShape {
  const names: string[] = [];
  let rest = heldShape(`${pointer}/unevaluatedProperties`, reading);
  for (const place of placesInPlace(pointer, reading)) {
    const schema = schemaAt(place, reading) as JsonObject;
    names.push(...Object.keys(schema.properties ?? {}));
    const shapes = patternShapes(schema, place, reading);
    for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
      if (schema[keyword] === undefined || place === pointer) continue;
      shapes.push(heldShape(`${place}/${keyword}`, reading));
    }
    if (place === pointer && schema.additionalProperties !== undefined) {
      shapes.push(heldShape(`${place}/additionalProperties`, reading));
    }
    rest = shapes.reduce((some, each) => joinShapes(some, each, reading.work), rest);
  }
  const fields = names.map((
    name,
  ): [string, Field] => [name, { shape: ANY, isOptional: true }]);
  return { fields: new TextMap(fields), rest };
}

/** The schemas that look at the same value as the one at `pointer`, itself first. */
function placesInPlace(pointer: string, reading: Reading): Texts {
  const found = new TextSet();
  const pending = [pointer];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const schema = schemaAt(next, reading);
    if (found.has(next) || !isJsonObject(schema)) continue;
    found.add(next);
    pending.push(...reading.references.targetsAt(next));
    for (const keyword of ["if", "then", "else"]) {
      if (schema[keyword] !== undefined) pending.push(`${next}/${keyword}`);
    }
    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      for (const index of indicesOf(schema[keyword])) pending.push(`${next}/${keyword}/${index}`);
    }
    for (const name of Object.keys(schema.dependentSchemas ?? {})) {
      pending.push(`${next}/dependentSchemas/${escapePointer(name)}`);
    }
  }
  return found;
}
