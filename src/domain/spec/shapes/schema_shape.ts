/**
 * The shapes that a JSON Schema allows.
 *
 * Keywords that a shape cannot express (`pattern`, `not`, `minimum` ...) make it no smaller, so
 * each valid value has the shape. The schema has been checked at its deploy.
 */

import { BudgetSpent, newBudget } from "../../budget.ts";
import type { Steps } from "../../fairness/pieces.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import {
  allTargets,
  findReferencesSteps,
  findTargets,
  heldAt,
  type Place,
  type References,
} from "../schema/references.ts";
import { SIMPLE_TYPES } from "../schema/vocabulary.ts";
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
import { TextMap, TextSet } from "../../lookup/text_map.ts";

/** Steps that the shape of one schema may take, in one time slice. Beyond, it is any object. */
const WORK_MAX = 50_000;
/** Forms of `anyOf` and `oneOf` that are kept apart; more of them become one. */
const FORMS_MAX = 16;

interface Reading {
  readonly references: References;
  readonly targets: ReadonlySet<Place>;
  /** Null while it is being computed. */
  readonly shapes: Map<Place, Shape | null>;
  readonly definitions: Map<Place, Definition>;
  readonly opened: Map<Place, Kinds>;
  readonly work: ShapeWork;
}

/** The shape of the objects that `schema` allows: the data of an event. */
export function* shapeOfDataSteps(schema: JsonValue): Steps<Shape> {
  const references = yield* findReferencesSteps(schema);
  const targets = yield* findTargets(references);
  const work = { ...newBudget(WORK_MAX), names: 0 };
  const reading: Reading = {
    references,
    targets,
    shapes: new Map(),
    definitions: new Map(),
    opened: new Map(),
    work,
  };
  try {
    const shape = heldShape(references.places.get("")!, reading);
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

/** The shape of a nested schema; by its name if the schema is referred to. */
function heldShape(place: Place, reading: Reading): Shape {
  return reading.targets.has(place) ? namedShape(place, reading) : shapeAt(place, reading);
}

/** What is referred to has a name, unless it says too little to need one. */
function namedShape(place: Place, reading: Reading): Shape {
  const known = reading.shapes.get(place);
  if (known === undefined) {
    const shape = shapeAt(place, reading);
    if (isNamed(shape) || isPlain(shape)) return shape;
  } else if (known !== null && (isNamed(known) || isPlain(known))) return known;
  let definition = reading.definitions.get(place);
  if (definition === undefined) {
    const note = noteOf(place.schema);
    definition = { pointer: place.pointer, note, open: () => openAt(place, reading) };
    reading.definitions.set(place, definition);
  }
  return { definition };
}

function openAt(place: Place, reading: Reading): Kinds | undefined {
  const { shapes, definitions, opened } = reading;
  const known = opened.get(place);
  if (known !== undefined) return known;
  if (shapes.get(place) === null) return undefined;
  const shape = shapeAt(place, reading);
  if (isNamed(shape)) return shape.definition.open();
  const [object, ...others] = shape.objects;
  const isOneObject = object !== undefined && others.length === 0 && !shape.isAny;
  const definition = definitions.get(place)!;
  const kinds = isOneObject ? { ...shape, objects: [{ ...object, definition }] } : shape;
  opened.set(place, kinds);
  return kinds;
}

function isPlain({ isAny, array, objects }: Kinds): boolean {
  return isAny || (array === undefined && objects.length === 0);
}

function shapeAt(place: Place, reading: Reading): Shape {
  const known = reading.shapes.get(place);
  if (known !== undefined) return known ?? ANY;
  reading.shapes.set(place, null);
  const shape = computeAt(place, reading);
  reading.shapes.set(place, shape);
  return shape;
}

function computeAt(place: Place, reading: Reading): Shape {
  const { schema } = place;
  if (!isJsonObject(schema)) return schema === false ? NEVER : ANY;
  const { work } = reading;
  let shape: Shape = ownShape(schema, place, reading);
  for (const target of referredShapes(place, reading)) shape = meetShapes(shape, target, work);
  for (const part of place.held.get("allOf") ?? []) {
    shape = meetShapes(shape, heldShape(part, reading), work);
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const forms = (place.held.get(keyword) ?? []).map((form) => heldShape(form, reading));
    if (forms.length > 0) shape = meetShapes(shape, formsShape(forms, work), work);
  }
  if (schema.if !== undefined) shape = meetShapes(shape, ifShape(place, reading), work);
  if (schema.unevaluatedProperties !== undefined) {
    const object = unevaluatedShape(place, reading);
    shape = meetShapes(shape, { ...ANY, isAny: false, objects: [object] }, work);
  }
  return shape;
}

function referredShapes(place: Place, reading: Reading): Shape[] {
  const { references, work } = reading;
  const { ref, dynamicRef, several } = references.targetsOf(place);
  const shapes: Shape[] = [];
  if (ref !== undefined) shapes.push(namedShape(ref, reading));
  const targets = several?.places ?? (dynamicRef === undefined ? [] : [dynamicRef]);
  const forms = targets.map((target) => namedShape(target, reading));
  if (forms.length > 0) shapes.push(formsShape(forms, work));
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

function ifShape(place: Place, reading: Reading): Shape {
  const held = (keyword: string) => shapeUnder(place, keyword, reading);
  const holds = meetShapes(held("if"), held("then"), reading.work);
  return formsShape([holds, held("else")], reading.work);
}

/** The shape of the one schema under `keyword`; any if there is none. */
function shapeUnder(place: Place, keyword: string, reading: Reading): Shape {
  const held = heldAt(place, keyword);
  return held === undefined ? ANY : heldShape(held, reading);
}

const TYPED: ReadonlyMap<string, ScalarType> = new Map(
  (["null", "boolean", "integer", "number", "string"] as const).map((type) => [type, type]),
);
const OF_ARRAYS = ["items", "prefixItems", "minItems", "unevaluatedItems"];
const OF_OBJECTS = ["properties", "required", "patternProperties", "additionalProperties"];

/** What the schema's own keywords say, without those that refer to further schemas. */
function ownShape(schema: JsonObject, place: Place, reading: Reading): Shape {
  const { work } = reading;
  let shape: Shape = ANY;
  const says = (keywords: readonly string[]) => keywords.some((each) => schema[each] !== undefined);
  if (schema.type !== undefined || says(OF_ARRAYS) || says(OF_OBJECTS)) {
    const allowed = [schema.type ?? [...SIMPLE_TYPES]].flat() as string[];
    const types = allowed.flatMap((type) => TYPED.get(type) ?? []);
    const isNumber = allowed.includes("number");
    const object = allowed.includes("object") ? objectShape(schema, place, reading) : undefined;
    shape = {
      isAny: false,
      types: new Set(types.filter((type) => type !== "integer" || !isNumber)),
      values: [],
      array: allowed.includes("array") ? arrayShape(schema, place, reading) : undefined,
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

function arrayShape(schema: JsonObject, place: Place, reading: Reading): Kinds["array"] {
  const prefix: Shape[] = [];
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  for (const [index, item] of (place.held.get("prefixItems") ?? []).entries()) {
    const shape = heldShape(item, reading);
    if (isNever(shape)) return index < least ? undefined : { prefix, rest: NEVER, least };
    prefix.push(shape);
  }
  return { prefix, rest: restOfArray(schema, place, reading), least };
}

/** Keywords whose schemas see the same array; elements that they look at are evaluated. */
const EVALUATING = ["allOf", "anyOf", "oneOf", "if", "then", "else", "$ref", "$dynamicRef"];

function restOfArray(schema: JsonObject, place: Place, reading: Reading): Shape {
  if (schema.items !== undefined) return shapeUnder(place, "items", reading);
  if (schema.unevaluatedItems === undefined) return ANY;
  const further = [...EVALUATING, "contains", "dependentSchemas"];
  const isAlone = !further.some((keyword) => schema[keyword] !== undefined);
  return isAlone ? shapeUnder(place, "unevaluatedItems", reading) : ANY;
}

/** Undefined if there can be no such object. */
function objectShape(schema: JsonObject, place: Place, reading: Reading): ObjectShape | undefined {
  const rest = restOfObject(place, reading);
  const required = new TextSet(schema.required as string[] | undefined ?? []);
  const fields: [name: string, field: Field][] = [];
  for (const property of place.held.get("properties") ?? []) {
    const { key: name } = property;
    const shape = heldShape(property, reading);
    const note = noteOf(property.schema);
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
function restOfObject(place: Place, reading: Reading): Shape {
  const others = shapeUnder(place, "additionalProperties", reading);
  return patternShapes(place, reading)
    .reduce((some, each) => joinShapes(some, each, reading.work), others);
}

function patternShapes(place: Place, reading: Reading): Shape[] {
  return (place.held.get("patternProperties") ?? []).map((each) => heldShape(each, reading));
}

/** What `unevaluatedProperties` leaves of objects: fields that no schema in place may evaluate. */
function unevaluatedShape(place: Place, reading: Reading): ObjectShape {
  const names: string[] = [];
  let rest = shapeUnder(place, "unevaluatedProperties", reading);
  for (const each of placesInPlace(place, reading)) {
    for (const { key } of each.held.get("properties") ?? []) names.push(key);
    const shapes = patternShapes(each, reading);
    const others = ["additionalProperties", ...(each === place ? [] : ["unevaluatedProperties"])];
    for (const keyword of others) {
      const held = heldAt(each, keyword);
      if (held !== undefined) shapes.push(heldShape(held, reading));
    }
    rest = shapes.reduce((some, shape) => joinShapes(some, shape, reading.work), rest);
  }
  const fields = names.map((
    name,
  ): [string, Field] => [name, { shape: ANY, isOptional: true }]);
  return { fields: new TextMap(fields), rest };
}

/** Keywords whose schemas see the same object. */
const IN_PLACE = ["if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"];

/** The schemas that look at the same value as the one at `place`, itself first. */
function placesInPlace(place: Place, { references }: Reading): ReadonlySet<Place> {
  const found = new Set<Place>();
  const pending = [place];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (found.has(next) || !isJsonObject(next.schema)) continue;
    found.add(next);
    pending.push(...allTargets(next, references));
    for (const keyword of IN_PLACE) pending.push(...next.held.get(keyword) ?? []);
  }
  return found;
}
