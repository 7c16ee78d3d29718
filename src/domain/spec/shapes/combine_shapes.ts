/** Joins and intersects shapes. */

import { type Budget, spend } from "../../budget.ts";
import {
  ALL_TYPES,
  ANY,
  type ArrayShape,
  elementOf,
  type Field,
  holdsLiteral,
  isAnyShape,
  isNamed,
  isNever,
  type Kinds,
  type Literal,
  NEVER,
  type ObjectShape,
  openShape,
  type ScalarType,
  type Shape,
  typeOfLiteral,
} from "./shape.ts";
import { TextMap } from "../../lookup/text_map.ts";

/** Alternatives of objects that are kept apart; beyond, they become one. */
const ALTERNATIVES_MAX = 16;
/** Single values that are listed; beyond, they become their type. */
const LITERALS_MAX = 64;
/** Named shapes that are joined inside each other, before nothing more is said about them. */
const NESTED_NAMES_MAX = 4;

/** The work that a computation may still do, and how many named shapes it is inside of. */
export interface ShapeWork extends Budget {
  names: number;
}

/** Fields that are copied or compared for one step of work. */
const FIELDS_PER_STEP = 4;

/** @throws {BudgetSpent} when the work is too much. */
export function spendFields(objects: readonly ObjectShape[], work: ShapeWork): void {
  const count = objects.reduce((sum, { fields }) => sum + fields.size, 0);
  spend(work, Math.floor(count / FIELDS_PER_STEP));
}

/**
 * All values of either shape. Returns `left` itself if it has them all.
 * @throws {BudgetSpent} when the work is too much.
 */
export function joinShapes(left: Shape, right: Shape, work: ShapeWork): Shape {
  if (left === right || isNever(right) || isAnyShape(left)) return left;
  if (isNever(left) || isAnyShape(right)) return right;
  if (isNamed(left) && isNamed(right) && left.definition === right.definition) return left;
  return withinNames(left, right, work, () => {
    const [a, b] = [openShape(left), openShape(right)];
    if (a === undefined || b === undefined) return ANY;
    const joined = joinKinds(a, b, work);
    return joined === a ? left : joined;
  }) ?? ANY;
}

/** Undefined where too many named shapes are inside each other. */
function withinNames(
  left: Shape,
  right: Shape,
  work: ShapeWork,
  compute: () => Shape,
): Shape | undefined {
  spend(work, 1);
  const names = isNamed(left) || isNamed(right) ? 1 : 0;
  if (work.names + names > NESTED_NAMES_MAX) return undefined;
  work.names += names;
  const result = compute();
  work.names -= names;
  return result;
}

function joinKinds(a: Kinds, b: Kinds, work: ShapeWork): Kinds {
  spend(work, a.values.length + b.values.length);
  const { types, values } = joinScalars(a, b);
  const array = joinArrays(a.array, b.array, work);
  const objects = joinObjects(a.objects, b.objects, work);
  if (types === a.types && values === a.values && array === a.array && objects === a.objects) {
    return a;
  }
  return simplified({ isAny: false, types, values, array, objects });
}

function simplified(kinds: Kinds): Kinds {
  const { types, array, objects } = kinds;
  const isAny = [...ALL_TYPES].every((type) => types.has(type)) &&
    array !== undefined && array.prefix.length === 0 && isAnyShape(array.rest) &&
    objects.some(({ fields, rest }) => fields.size === 0 && isAnyShape(rest));
  return isAny ? ANY : kinds;
}

function joinScalars(a: Kinds, b: Kinds): Pick<Kinds, "types" | "values"> {
  let types: ReadonlySet<ScalarType> = new Set([...a.types, ...b.types]);
  if (types.has("number") && types.has("integer")) {
    types = new Set([...types].filter((type) => type !== "integer"));
  }
  let values = [...new Set([...a.values, ...b.values])].filter((each) =>
    !holdsLiteral(types, each)
  );
  if (values.length > LITERALS_MAX || (values.includes(true) && values.includes(false))) {
    const isWide = values.length > LITERALS_MAX;
    const wide = values.filter((each) => isWide || typeof each === "boolean").map(typeOfLiteral);
    const further = { ...NEVER, types: new Set(wide) };
    return joinScalars({ ...NEVER, types, values: isWide ? [] : values }, further);
  }
  const isSame = types.size === a.types.size && [...types].every((type) => a.types.has(type));
  if (isSame) types = a.types;
  if (values.length === a.values.length) values = a.values as Literal[];
  return { types, values };
}

function joinArrays(
  a: ArrayShape | undefined,
  b: ArrayShape | undefined,
  work: ShapeWork,
): ArrayShape | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const lengths = [a.prefix.length, b.prefix.length];
  const isOneEmpty = [a, b].some(({ prefix, rest }) => prefix.length === 0 && isNever(rest));
  if (lengths[0] !== lengths[1] && !isOneEmpty) {
    return joinArrays(flatArray(a, work), flatArray(b, work), work);
  }
  const prefix = Array.from(
    { length: Math.max(...lengths) },
    (_, index) => joinShapes(elementOf(a, index), elementOf(b, index), work),
  );
  const rest = joinShapes(a.rest, b.rest, work);
  const least = Math.min(a.least, b.least);
  const isSame = prefix.length === lengths[0] && rest === a.rest && least === a.least &&
    prefix.every((each, index) => each === a.prefix[index]);
  return isSame ? a : { prefix, rest, least };
}

/** An array whose elements are all alike. */
export function flatArray(array: ArrayShape, work: ShapeWork): ArrayShape {
  if (array.prefix.length === 0) return array;
  const rest = array.prefix.reduce((all, each) => joinShapes(all, each, work), array.rest);
  return { prefix: [], rest, least: 0 };
}

function joinObjects(
  a: readonly ObjectShape[],
  b: readonly ObjectShape[],
  work: ShapeWork,
): readonly ObjectShape[] {
  if (a === b || b.length === 0) return a;
  if (a.length === 0) return b;
  let result: ObjectShape[] = [...a];
  for (const each of b) result = absorb(result, each, work);
  if (result.length > ALTERNATIVES_MAX) {
    result = [result.reduce((all, each) => joinObject(all, each, work))];
  }
  const isSame = result.length === a.length && result.every((each, index) => each === a[index]);
  return isSame ? a : result;
}

/** Adds one alternative; it becomes one with those that no field tells it apart from. */
function absorb(
  all: readonly ObjectShape[],
  added: ObjectShape,
  work: ShapeWork,
): ObjectShape[] {
  for (const [index, one] of all.entries()) {
    spend(work, 1);
    if (areDisjoint(one, added, work)) continue;
    const joined = joinObject(one, added, work);
    if (joined === one) return [...all];
    const others = all.toSpliced(index, 1);
    const apart = others.every((other) => areDisjoint(other, joined, work));
    return apart ? all.toSpliced(index, 1, joined) : absorb(others, joined, work);
  }
  return [...all, added];
}

/** Whether a field that both always have can never have the same value in both. */
function areDisjoint(a: ObjectShape, b: ObjectShape, work: ShapeWork): boolean {
  spendFields([a], work);
  for (const [name, field] of a.fields) {
    const values = tagValues(field);
    const others = values && tagValues(b.fields.get(name));
    if (values && others && !values.some((value) => others.includes(value))) return true;
  }
  return false;
}

function tagValues(field: Field | undefined): readonly Literal[] | undefined {
  if (field === undefined || field.isOptional || isNamed(field.shape)) return undefined;
  const { types, values, array, objects } = field.shape;
  const isTag = types.size === 0 && array === undefined && objects.length === 0;
  return isTag ? values : undefined;
}

/** One object shape with the values of both. */
export function joinObject(a: ObjectShape, b: ObjectShape, work: ShapeWork): ObjectShape {
  if (a === b) return a;
  spendFields([a, b], work);
  const rest = joinShapes(a.rest, b.rest, work);
  const fields: [name: string, field: Field][] = [];
  let isSame = rest === a.rest;
  for (const name of new TextMap([...a.fields, ...b.fields]).keys()) {
    const mine = a.fields.get(name);
    const field = joinFields(mine ?? restField(a), b.fields.get(name) ?? restField(b), work);
    fields.push([name, field]);
    isSame &&= field === mine;
  }
  return isSame ? a : { fields: new TextMap(fields), rest };
}

function restField({ rest }: ObjectShape): Field {
  return { shape: rest, isOptional: true };
}

function joinFields(a: Field, b: Field, work: ShapeWork): Field {
  const shape = joinShapes(a.shape, b.shape, work);
  const isOptional = a.isOptional || b.isOptional;
  const note = a.note ?? b.note;
  if (shape === a.shape && isOptional === a.isOptional && note === a.note) return a;
  return { shape, isOptional, ...(note && { note }) };
}

/**
 * At least the values that both shapes have.
 * @throws {BudgetSpent} when the work is too much.
 */
export function meetShapes(left: Shape, right: Shape, work: ShapeWork): Shape {
  if (left === right || isAnyShape(right)) return left;
  if (isAnyShape(left)) return right;
  if (isNever(left) || isNever(right)) return NEVER;
  if (isNamed(left) && isNamed(right) && left.definition === right.definition) return left;
  return withinNames(left, right, work, () => {
    const [a, b] = [openShape(left), openShape(right)];
    if (a === undefined) return right;
    return b === undefined ? left : meetKinds(a, b, work);
  }) ?? left;
}

function meetKinds(a: Kinds, b: Kinds, work: ShapeWork): Kinds {
  spend(work, a.values.length + b.values.length);
  const types = new Set([...a.types].filter((type) => b.types.has(type)));
  const isIntegerIn = (one: Kinds, other: Kinds) =>
    one.types.has("integer") && other.types.has("number");
  if (isIntegerIn(a, b) || isIntegerIn(b, a)) types.add("integer");
  const values = [
    ...a.values.filter((each) => b.values.includes(each) || holdsLiteral(b.types, each)),
    ...b.values.filter((each) => holdsLiteral(a.types, each)),
  ];
  const array = a.array && b.array && meetArrays(a.array, b.array, work);
  let [left, right] = [a.objects, b.objects];
  if (left.length * right.length > ALTERNATIVES_MAX) {
    left = [left.reduce((all, each) => joinObject(all, each, work))];
    if (right.length > ALTERNATIVES_MAX) {
      right = [right.reduce((all, each) => joinObject(all, each, work))];
    }
  }
  const objects = left.flatMap((one) => right.map((other) => meetObject(one, other, work)))
    .filter((each) => each !== undefined);
  return simplified({ isAny: false, types, values: [...new Set(values)], array, objects });
}

function meetArrays(a: ArrayShape, b: ArrayShape, work: ShapeWork): ArrayShape | undefined {
  const least = Math.max(a.least, b.least);
  const prefix: Shape[] = [];
  for (let index = 0; index < Math.max(a.prefix.length, b.prefix.length); index++) {
    const shape = meetShapes(elementOf(a, index), elementOf(b, index), work);
    if (isNever(shape)) return index < least ? undefined : { prefix, rest: NEVER, least };
    prefix.push(shape);
  }
  return { prefix, rest: meetShapes(a.rest, b.rest, work), least };
}

function meetObject(a: ObjectShape, b: ObjectShape, work: ShapeWork): ObjectShape | undefined {
  spendFields([a, b], work);
  const fields: [name: string, field: Field][] = [];
  const rest = meetShapes(a.rest, b.rest, work);
  const isSame = new Map([[a, rest === a.rest], [b, rest === b.rest]]);
  for (const name of new TextMap([...a.fields, ...b.fields]).keys()) {
    const [one, other] = [a.fields.get(name) ?? restField(a), b.fields.get(name) ?? restField(b)];
    const shape = meetShapes(one.shape, other.shape, work);
    const isOptional = one.isOptional && other.isOptional;
    if (isNever(shape) && !isOptional) return undefined;
    const note = one.note ?? other.note;
    fields.push([name, { shape, isOptional, ...(note && { note }) }]);
    for (const object of [a, b]) {
      const field = object.fields.get(name);
      const isKept = field?.shape === shape && field.isOptional === isOptional &&
        field.note === note;
      if (!isKept) isSame.set(object, false);
    }
  }
  if (isSame.get(a)) return a;
  return isSame.get(b) ? b : { fields: new TextMap(fields), rest };
}
