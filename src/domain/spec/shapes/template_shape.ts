/** The shapes that templates and paths of handlers may give. */

import { parseSegments, type Segment } from "../../handler/segments.ts";
import { isJsonObject, type JsonValue } from "../../json.ts";
import { joinObject, joinShapes, type ShapeWork, spendFields } from "./combine_shapes.ts";
import {
  ANY,
  elementOf,
  EMPTY_OBJECT,
  type Field,
  fieldOf,
  isNever,
  kindsOf,
  literalShape,
  NEVER,
  type ObjectShape,
  scalarShape,
  type Shape,
  shapeOfArray,
  shapeOfObjects,
} from "./shape.ts";
import { TextMap } from "../../lookup/text_map.ts";

/** What the paths of a handler read. */
export interface ShapeScope {
  readonly state: Shape;
  readonly data: Shape;
  readonly type: string;
  /** Bound names, without their `$`. */
  readonly names: ReadonlyMap<string, Shape>;
  readonly work: ShapeWork;
}

/** What a path may find. */
interface Found {
  readonly shape: Shape;
  /** True if it may find nothing. */
  readonly isMissing: boolean;
}

const TEXT = scalarShape("string");
const NULL = scalarShape("null");
/** Elements of a list in a template that are told apart; those of a longer one are alike. */
const ELEMENTS_MAX = 32;

const PARTY = shapeOfObjects({
  fields: new Map<string, Field>([
    ["type", { shape: TEXT, isOptional: false }],
    ["id", { shape: TEXT, isOptional: false }],
  ]),
  rest: NEVER,
});

/** Metadata has the actor and the time of the event, and further fields that are not told here. */
const METADATA = shapeOfObjects({
  fields: new Map<string, Field>([
    ["actor", { shape: PARTY, isOptional: false }],
    ["target", { shape: PARTY, isOptional: true }],
    ["timestamp", { shape: scalarShape("integer"), isOptional: false }],
  ]),
  rest: ANY,
});

/** The shape of a template's value; without values if the operation around it is always skipped. */
export function templateShape(definition: JsonValue, scope: ShapeScope): Shape {
  if (typeof definition === "string" && /^[$@]/.test(definition)) {
    return pathShape(definition, scope);
  }
  if (Array.isArray(definition)) return listShape(definition, scope);
  if (!isJsonObject(definition)) return literalShape(definition);
  if (Object.hasOwn(definition, "$literal")) return literalShape(definition.$literal!);
  if (Object.hasOwn(definition, "$")) return pathShape(definition.$ as string, scope);
  if (Object.hasOwn(definition, "$merge")) {
    return mergedShape(definition.$merge as JsonValue[], scope);
  }
  const fields = new Map<string, Field>();
  for (const [name, value] of Object.entries(definition)) {
    const shape = templateShape(value, scope);
    if (isNever(shape)) return NEVER;
    fields.set(name, { shape, isOptional: false });
  }
  return shapeOfObjects({ fields, rest: NEVER });
}

function listShape(definition: readonly JsonValue[], scope: ShapeScope): Shape {
  const prefix = definition.map((each) => templateShape(each, scope));
  if (prefix.some(isNever)) return NEVER;
  if (prefix.length > ELEMENTS_MAX) {
    return shapeOfArray(prefix.reduce((some, each) => joinShapes(some, each, scope.work)));
  }
  return { ...NEVER, array: { prefix, rest: NEVER, least: prefix.length } };
}

function mergedShape(parts: readonly JsonValue[], scope: ShapeScope): Shape {
  let merged: ObjectShape = EMPTY_OBJECT;
  for (const part of parts) {
    const shape = templateShape(part, scope);
    if (isNever(shape)) return NEVER;
    const { isAny, types, values, array, objects } = kindsOf(shape);
    const isOfObjects = !isAny && types.size === 0 && values.length === 0 && array === undefined;
    const before = merged;
    const [first, ...others] = objects.map((object) => overlay(before, object, scope.work));
    if (first === undefined) continue;
    merged = others.reduce((some, each) => joinObject(some, each, scope.work), first);
    // What is no object adds nothing.
    if (!isOfObjects) merged = joinObject(before, merged, scope.work);
  }
  return shapeOfObjects(merged);
}

/** An object with the fields of `over` in place of those of `under`. */
export function overlay(under: ObjectShape, over: ObjectShape, work: ShapeWork): ObjectShape {
  spendFields([under, over], work);
  const fields: [name: string, field: Field][] = [];
  for (const name of new TextMap([...under.fields, ...over.fields]).keys()) {
    const [below, above] = [fieldOf(under, name), fieldOf(over, name)];
    if (above === undefined || below === undefined) {
      const field = above ?? below;
      if (field !== undefined) fields.push([name, field]);
    } else if (!above.isOptional) fields.push([name, above]);
    else {
      const shape = joinShapes(below.shape, above.shape, work);
      fields.push([name, { ...above, shape, isOptional: below.isOptional }]);
    }
  }
  return { fields: new TextMap(fields), rest: joinShapes(under.rest, over.rest, work) };
}

/** The value of a path: null where it finds nothing, unless it ends in `?`. */
function pathShape(text: string, scope: ShapeScope): Shape {
  const { root, steps } = rootOf(text, scope);
  const parsed = parseSegments(steps);
  // A deployed spec has no other paths.
  if (!parsed.ok) return ANY;
  const { shape, isMissing } = follow(root, parsed.segments, scope.work);
  return isMissing && !parsed.optional ? joinShapes(shape, NULL, scope.work) : shape;
}

function rootOf(text: string, scope: ShapeScope): { root: Shape; steps: string } {
  if (text.startsWith("@")) return { root: scope.state, steps: text.slice(1) };
  if (!text.startsWith("$.")) {
    const name = /^\$([A-Za-z_][A-Za-z0-9_]*)/.exec(text)?.[1] ?? "";
    return { root: scope.names.get(name) ?? ANY, steps: text.slice(1 + name.length) };
  }
  const name = /^\$\.(data|metadata|key|id|type)(?=[.[?]|$)/.exec(text)?.[1];
  const steps = text.slice(2 + (name ?? "").length);
  switch (name) {
    case "data":
      return { root: scope.data, steps };
    case "metadata":
      return { root: METADATA, steps };
    case "type":
      return { root: literalShape(scope.type), steps };
    default:
      return { root: TEXT, steps };
  }
}

function follow(from: Shape, segments: readonly Segment[], work: ShapeWork): Found {
  let shape = from;
  let isMissing = false;
  for (const [index, segment] of segments.entries()) {
    if (segment.every) {
      const found = everyElement(shape, segments.slice(index + 1), work);
      return { shape: found.shape, isMissing: isMissing || found.isMissing };
    }
    const found = takeStep(shape, segment, work);
    shape = found.shape;
    isMissing ||= found.isMissing;
  }
  return { shape, isMissing };
}

/** One flat list, however many `[*]` there are; null for what is missing inside an element. */
function everyElement(list: Shape, rest: readonly Segment[], work: ShapeWork): Found {
  const { array, ...others } = kindsOf(list);
  if (array === undefined) return { shape: NEVER, isMissing: true };
  const isMissing = !isNever({ ...others, array: undefined });
  const element = array.prefix.reduce((some, each) => joinShapes(some, each, work), array.rest);
  const found = follow(element, rest, work);
  if (rest.some(({ every }) => every)) {
    const { array: inner } = kindsOf(found.shape);
    return { shape: shapeOfArray(inner === undefined ? NEVER : inner.rest), isMissing };
  }
  const isNullable = found.isMissing && !isNever(element);
  const shape = isNullable ? joinShapes(found.shape, NULL, work) : found.shape;
  return { shape: shapeOfArray(shape), isMissing };
}

/** What one step may find in a value of this shape. */
export function takeStep(from: Shape, segment: Segment, work: ShapeWork): Found {
  const { isAny, types, values, array, objects } = kindsOf(from);
  if (isAny) return { shape: ANY, isMissing: true };
  let shape: Shape = NEVER;
  let isMissing = types.size > 0 || values.length > 0;
  if (array !== undefined) {
    if (segment.index !== -1) shape = elementOf(array, segment.index);
    isMissing ||= segment.index === -1 ||
      segment.index >= Math.min(array.least, array.prefix.length);
  }
  for (const object of objects) {
    const field = segment.name === undefined ? undefined : fieldOf(object, segment.name);
    if (field !== undefined) shape = joinShapes(shape, field.shape, work);
    isMissing ||= field === undefined || field.isOptional;
  }
  return { shape, isMissing };
}
