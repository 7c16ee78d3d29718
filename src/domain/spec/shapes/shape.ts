/**
 * Shapes: sets of JSON values, from which types and schemas are written.
 *
 * A shape may contain more values than those it stands for, but never fewer. It is a union of
 * scalars, arrays and objects. Objects are kept apart from each other only as long as a field
 * tells them apart, or where a schema lists them.
 */

import { isJsonObject, type JsonValue } from "../../json.ts";

export type ScalarType = "null" | "boolean" | "integer" | "number" | "string";
export type Literal = boolean | number | string;

/** What people wrote about a value. */
export interface Note {
  readonly title?: string;
  readonly description?: string;
}

export interface Kinds {
  /** Any JSON at all. */
  readonly isAny: boolean;
  /** All values of these types. */
  readonly types: ReadonlySet<ScalarType>;
  /** Single values besides them. */
  readonly values: readonly Literal[];
  readonly array: ArrayShape | undefined;
  readonly objects: readonly ObjectShape[];
}

/** A shape with a name of its own; one that contains itself needs it. */
export interface Named {
  readonly definition: Definition;
}

export type Shape = Kinds | Named;

export interface Definition {
  /** Where it stands in its schema: a JSON Pointer. */
  readonly pointer: string;
  readonly note: Note | undefined;
  /** Undefined while it is being computed. */
  readonly open: () => Kinds | undefined;
}

export interface ArrayShape {
  /** The shapes of the first elements. */
  readonly prefix: readonly Shape[];
  /** The shape of the others; a shape without values if there are none. */
  readonly rest: Shape;
  /** How many of the first elements are always there. */
  readonly least: number;
}

export interface ObjectShape {
  readonly fields: ReadonlyMap<string, Field>;
  /** The shape of fields with other names; one without values if there are none. */
  readonly rest: Shape;
  /** The definition whose only form this is. */
  readonly definition?: Definition;
}

export interface Field {
  readonly shape: Shape;
  readonly isOptional: boolean;
  readonly note?: Note;
}

const NO_KINDS = { isAny: false, types: new Set<ScalarType>(), values: [], objects: [] };

/** No value at all. */
export const NEVER: Kinds = { ...NO_KINDS, array: undefined };
export const ALL_TYPES: ReadonlySet<ScalarType> = new Set<ScalarType>([
  "null",
  "boolean",
  "number",
  "string",
]);

/** Any value. */
export const ANY: Kinds = anyKinds();
export const ANY_OBJECT: ObjectShape = ANY.objects[0]!;
export const EMPTY_OBJECT: ObjectShape = { fields: new Map(), rest: NEVER };

function anyKinds(): Kinds {
  const any = { isAny: true, types: ALL_TYPES, values: [] } as unknown as {
    array: ArrayShape;
    objects: ObjectShape[];
  } & Kinds;
  any.array = { prefix: [], rest: any, least: 0 };
  any.objects = [{ fields: new Map(), rest: any }];
  return any;
}

export function isNamed(shape: Shape): shape is Named {
  return "definition" in shape;
}

export function isAnyShape(shape: Shape): boolean {
  return !isNamed(shape) && shape.isAny;
}

/** True if no value has this shape. A named shape has values, as far as anybody can tell. */
export function isNever(shape: Shape): boolean {
  return !isNamed(shape) && shape.types.size === 0 && shape.values.length === 0 &&
    shape.array === undefined && shape.objects.length === 0;
}

/** Undefined while the named shape is being computed. */
export function openShape(shape: Shape): Kinds | undefined {
  return isNamed(shape) ? shape.definition.open() : shape;
}

export function kindsOf(shape: Shape): Kinds {
  return openShape(shape) ?? ANY;
}

export function scalarShape(...types: readonly ScalarType[]): Kinds {
  return { ...NEVER, types: new Set(types) };
}

export function shapeOfArray(rest: Shape): Kinds {
  return { ...NEVER, array: { prefix: [], rest, least: 0 } };
}

export function shapeOfObjects(...objects: readonly ObjectShape[]): Kinds {
  return { ...NEVER, objects };
}

/** The shape of exactly one value. */
export function literalShape(value: JsonValue): Kinds {
  if (value === null) return scalarShape("null");
  if (Array.isArray(value)) {
    const prefix = value.map(literalShape);
    return { ...NEVER, array: { prefix, rest: NEVER, least: prefix.length } };
  }
  if (!isJsonObject(value)) {
    // JSON has no -0, and a number that it cannot hold is null.
    if (typeof value === "number" && !Number.isFinite(value)) return scalarShape("null");
    return { ...NEVER, values: [typeof value === "number" ? value + 0 : value] };
  }
  const fields = Object.entries(value).map(([name, each]): [string, Field] => [
    name,
    { shape: literalShape(each), isOptional: false },
  ]);
  return shapeOfObjects({ fields: new Map(fields), rest: NEVER });
}

export function typeOfLiteral(value: Literal): ScalarType {
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value as "boolean" | "string";
}

export function holdsLiteral(types: ReadonlySet<ScalarType>, value: Literal): boolean {
  const type = typeOfLiteral(value);
  return types.has(type) || (type === "integer" && types.has("number"));
}

/** The field of that name; undefined if no such object has one. */
export function fieldOf({ fields, rest }: ObjectShape, name: string): Field | undefined {
  const field = fields.get(name);
  if (field !== undefined) return isNever(field.shape) ? undefined : field;
  return isNever(rest) ? undefined : { shape: rest, isOptional: true };
}

/** The shape of the element at an index; without values if there is none. */
export function elementOf({ prefix, rest }: ArrayShape, index: number): Shape {
  return prefix[index] ?? rest;
}
