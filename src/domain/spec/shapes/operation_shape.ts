/** What one operation of a handler may add to the shape of a state. */

import { HANDLER_SCOPE } from "../../handler/evaluation.ts";
import { nameSegment, type Segment } from "../../handler/segments.ts";
import { fieldPathAt } from "../../handler/target.ts";
import type { Steps } from "../../fairness/pieces.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import {
  flatArray,
  joinObject,
  joinShapes,
  type ShapeWork,
  spendFields,
} from "./combine_shapes.ts";
import {
  ANY,
  type ArrayShape,
  type Field,
  fieldOf,
  isAnyShape,
  isNever,
  type Kinds,
  kindsOf,
  NEVER,
  type ObjectShape,
  scalarShape,
  type Shape,
  shapeOfArray,
  shapeOfObjects,
} from "./shape.ts";
import { overlay, type ShapeScope, templateShape } from "./template_shape.ts";
import { TextMap } from "../../lookup/text_map.ts";

/** The scope of an operation without the state, which is given beside it. */
export type Around = Omit<ShapeScope, "state">;

/** A step to a key: one that is known, or any key that events name. */
type Step = Segment | "any key";

/**
 * The new value of a place whose value has the shape `current`: without values if nothing is
 * there, and without values if nothing is written.
 */
type Change = (current: Shape) => Shape;

/**
 * A shape that has each state after the operation, and may lack the state before it. Yields
 * between the operations within it.
 */
export function* applyOperation(
  operation: JsonObject,
  state: ObjectShape,
  around: Around,
): Steps<ObjectShape> {
  if (Object.hasOwn(operation, "if")) {
    return yield* applyAll([operation.then!, operation.else ?? []], state, around);
  }
  if (Object.hasOwn(operation, "let")) {
    const names = new Map(around.names);
    const scope = { ...around, state: shapeOfObjects(state) };
    for (const [key, value] of Object.entries(operation.let as JsonObject)) {
      names.set(key.replace(/^\$/, ""), templateShape(value, scope));
    }
    return yield* applyAll([operation.then!], state, { ...around, names });
  }
  const [[name, fields]] = Object.entries(operation) as [[string, JsonValue]];
  return applyNamed(name, fields as JsonObject, state, around);
}

function* applyAll(
  handlers: readonly JsonValue[],
  state: ObjectShape,
  around: Around,
): Steps<ObjectShape> {
  let result = state;
  for (const operation of handlers.flatMap((each) => Array.isArray(each) ? each : [each])) {
    const after = yield* applyOperation(operation as JsonObject, result, around);
    result = joinObject(result, after, around.work);
    yield;
  }
  return result;
}

function applyNamed(
  name: string,
  fields: JsonObject,
  state: ObjectShape,
  around: Around,
): ObjectShape {
  const { work } = around;
  const scope: ShapeScope = { ...around, state: shapeOfObjects(state) };
  const isKeyed = name.endsWith("_at");
  const steps: Step[] = fields.target === "" ? [] : [...stepsOf(fields.target!)];
  if (!isKeyed) {
    if (steps.length === 0) return applyToState(name, fields, state, scope);
    return writeObject(state, steps, changeOf(name, fields, scope), work);
  }
  let result = state;
  for (const key of keysOf(templateShape(fields.key!, scope))) {
    const change = changeOf(name.slice(0, -"_at".length), fields, scope);
    result = joinObject(result, writeObject(state, [...steps, key], change, work), work);
  }
  return result;
}

function stepsOf(target: JsonValue): readonly Segment[] {
  return fieldPathAt(target, { path: "", scope: HANDLER_SCOPE, faults: [] }, "target_invalid") ??
    [];
}

/** The keys that a template may give; what is no text does nothing. */
function keysOf(shape: Shape): Step[] {
  const { types, values } = kindsOf(shape);
  if (types.has("string")) return ["any key"];
  return values.filter((value) => typeof value === "string").map(nameSegment);
}

function applyToState(
  name: string,
  fields: JsonObject,
  state: ObjectShape,
  scope: ShapeScope,
): ObjectShape {
  if (name !== "set" && name !== "merge") return state;
  const { objects } = kindsOf(templateShape(fields.value!, scope));
  return objects.reduce((some, object) => {
    const after = name === "set" ? object : overlay(state, object, scope.work);
    return joinObject(some, after, scope.work);
  }, state);
}

function changeOf(name: string, fields: JsonObject, scope: ShapeScope): Change {
  const { work } = scope;
  switch (name) {
    case "set":
      return always(templateShape(fields.value!, scope));
    case "merge":
      return mergeChange(templateShape(fields.value!, scope), work);
    case "increment":
    case "decrement":
      return addChange(templateShape(fields.by ?? 1, scope));
    case "append":
    case "append_unique":
      return appendChange(templateShape(fields.value!, scope), work);
    case "upsert":
      return upsertChange(templateShape(fields.value!, scope), work);
    case "map":
      return mapChange(fields, scope);
    case "update_where":
      return updateChange(fields, scope);
    case "remove":
      return Object.hasOwn(fields, "where") ? flatten(work) : REMOVE;
    default:
      return flatten(work);
  }
}

function always(value: Shape): Change {
  return () => value;
}

/** Marks a place whose key may go away. */
const REMOVE: Change = always(NEVER);

const NULL = scalarShape("null");

function isAbsent(current: Shape): boolean {
  return isNever(current) || kindsOf(current).types.has("null");
}

function mergeChange(value: Shape, work: ShapeWork): Change {
  const added = kindsOf(value).objects;
  return (current) => {
    if (isAnyShape(current)) return ANY;
    const merged = kindsOf(current).objects.flatMap((under) =>
      added.map((over) => shapeOfObjects(overlay(under, over, work)))
    );
    const fresh = isAbsent(current) && added.length > 0 ? [shapeOfObjects(...added)] : [];
    return joinAll([...fresh, ...merged], work);
  };
}

function joinAll(shapes: readonly Shape[], work: ShapeWork): Shape {
  return shapes.reduce((some, each) => joinShapes(some, each, work), NEVER);
}

function addChange(by: Shape): Change {
  const added = numberIn(by);
  return (current) => {
    const before = isAbsent(current) ? numberIn(current) ?? "integer" : numberIn(current);
    if (added === undefined || before === undefined) return NEVER;
    return scalarShape(added === "integer" && before === "integer" ? "integer" : "number");
  };
}

/** Which numbers a shape has; undefined if it has none. */
function numberIn(shape: Shape): "integer" | "number" | undefined {
  const { types, values } = kindsOf(shape);
  const numbers = values.filter((value) => typeof value === "number");
  if (types.has("number") || !numbers.every(Number.isInteger)) return "number";
  return types.has("integer") || numbers.length > 0 ? "integer" : undefined;
}

function appendChange(value: Shape, work: ShapeWork): Change {
  return (current) => {
    if (isNever(value)) return NEVER;
    const { array } = kindsOf(current);
    const fresh = isAbsent(current) ? shapeOfArray(value) : NEVER;
    return array === undefined
      ? fresh
      : shapeOfArray(joinShapes(flatArray(array, work).rest, value, work));
  };
}

function upsertChange(value: Shape, work: ShapeWork): Change {
  const added = kindsOf(value).objects;
  return (current) => {
    if (added.length === 0) return NEVER;
    const { array } = kindsOf(current);
    if (array === undefined) {
      return isAbsent(current) ? shapeOfArray(shapeOfObjects(...added)) : NEVER;
    }
    const element = flatArray(array, work).rest;
    const merged = overlayAll(element, added, work);
    return shapeOfArray(joinAll([element, shapeOfObjects(...added), ...merged], work));
  };
}

function overlayAll(
  element: Shape,
  added: readonly ObjectShape[],
  work: ShapeWork,
): readonly Shape[] {
  return kindsOf(element).objects.flatMap((under) =>
    added.map((over) => shapeOfObjects(overlay(under, over, work)))
  );
}

/** What only takes elements away. */
function flatten(work: ShapeWork): Change {
  return (current) => {
    const { array } = kindsOf(current);
    return array === undefined ? NEVER : { ...NEVER, array: flatArray(array, work) };
  };
}

function mapChange(fields: JsonObject, scope: ShapeScope): Change {
  const name = typeof fields.as === "string" ? fields.as.replace(/^\$/, "") : "item";
  return eachElement(scope.work, (element) => {
    const names = new Map([...scope.names, [name, element]]);
    return templateShape(fields.value!, { ...scope, names });
  });
}

function updateChange(fields: JsonObject, scope: ShapeScope): Change {
  const { work } = scope;
  return eachElement(work, (element) => {
    const names = new Map([...scope.names, ["item", element]]);
    const value = kindsOf(templateShape(fields.value!, { ...scope, names }));
    const others: Kinds = { ...kindsOf(element), isAny: false, objects: [] };
    const replacing = isNever(others) ? { ...value, isAny: false, objects: [] } : value;
    return joinAll([replacing, ...overlayAll(element, value.objects, work)], work);
  });
}

function eachElement(work: ShapeWork, valueOf: (element: Shape) => Shape): Change {
  return (current) => {
    const { array } = kindsOf(current);
    if (array === undefined) return NEVER;
    const element = flatArray(array, work).rest;
    if (isNever(element)) return NEVER;
    return shapeOfArray(joinShapes(element, valueOf(element), work));
  };
}

/** The value of a field as operations see it: what is missing counts as null. */
function valueIn(field: Field | undefined, work: ShapeWork): Shape {
  if (field === undefined) return NULL;
  return field.isOptional ? joinShapes(field.shape, NULL, work) : field.shape;
}

/** The object with the change at the place that the steps lead to; it may also stay as it was. */
function writeObject(
  object: ObjectShape,
  steps: readonly Step[],
  change: Change,
  work: ShapeWork,
): ObjectShape {
  spendFields([object], work);
  const [step, ...further] = steps as [Step, ...Step[]];
  if (step === "any key") return writeAnyKey(object, further, change, work);
  // An index only has a place in an array.
  if (step.name === undefined) return object;
  const field = fieldOf(object, step.name);
  const after = writeField(field, further, change, work);
  if (after === undefined || after === field) return object;
  return { fields: new TextMap([...object.fields, [step.name, after]]), rest: object.rest };
}

/** The field after the change, or as it was; undefined if there still is none. */
function writeField(
  field: Field | undefined,
  further: readonly Step[],
  change: Change,
  work: ShapeWork,
): Field | undefined {
  if (change === REMOVE && further.length === 0) {
    return field === undefined || field.isOptional ? field : { ...field, isOptional: true };
  }
  const written = writeShape(valueIn(field, work), further, change, work);
  if (isNever(written)) return field;
  const shape = joinShapes(field?.shape ?? NEVER, written, work);
  return field?.shape === shape ? field : { isOptional: true, ...field, shape };
}

function writeAnyKey(
  object: ObjectShape,
  further: readonly Step[],
  change: Change,
  work: ShapeWork,
): ObjectShape {
  const fields = new Map<string, Field>();
  for (const [name, field] of object.fields) {
    fields.set(name, writeField(field, further, change, work)!);
  }
  const others = isNever(object.rest) ? undefined : { shape: object.rest, isOptional: true };
  return { fields, rest: writeField(others, further, change, work)?.shape ?? NEVER };
}

/** What may be at a place after the change within it, where the value had the shape `current`. */
function writeShape(
  current: Shape,
  steps: readonly Step[],
  change: Change,
  work: ShapeWork,
): Shape {
  const [step, ...further] = steps;
  if (step === undefined) return change(current);
  const { array, objects } = kindsOf(current);
  const written = objects.map((object) => shapeOfObjects(writeObject(object, steps, change, work)));
  if (array !== undefined && (step === "any key" || step.index !== -1)) {
    written.push(writeElement(array, further, change, work));
  }
  if (isAbsent(current)) written.push(freshShape(steps, change));
  return joinAll(written, work);
}

function writeElement(
  array: ArrayShape,
  further: readonly Step[],
  change: Change,
  work: ShapeWork,
): Kinds {
  const element = flatArray(array, work).rest;
  const after = writeField({ shape: element, isOptional: true }, further, change, work)!;
  return shapeOfArray(after.shape);
}

/** The containers that are created on the way to a place, with what the change puts there. */
function freshShape(steps: readonly Step[], change: Change): Kinds {
  const [step, ...further] = steps as [Step, ...Step[]];
  const shape = further.length === 0 ? change(NULL) : freshShape(further, change);
  if (isNever(shape)) return NEVER;
  if (step === "any key") return shapeOfObjects({ fields: new Map(), rest: shape });
  if (step.name === undefined) return step.index === 0 ? shapeOfArray(shape) : NEVER;
  return shapeOfObjects({
    fields: new Map([[step.name, { shape, isOptional: false }]]),
    rest: NEVER,
  });
}
