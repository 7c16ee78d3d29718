/**
 * Reading, writing, copying and comparing JSON values inside a fold. Only own properties are ever
 * read or written, so `__proto__`, `constructor` and `toString` are keys like any other. What is
 * written is always a copy: nothing in a state is shared with another place, an event or a spec.
 */

import { type Budget, spend } from "../budget.ts";
import { type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import {
  checkLevel,
  comparedUnits,
  CONTAINER_UNITS,
  KEY_UNITS,
  SLOT_UNITS,
  STEP_UNITS,
} from "./budget.ts";

/** An array or an object. */
export type Container = JsonValue[] | JsonObject;

/** True for `{...}` only; `undefined` stands for what is missing. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isContainer(value: JsonValue | undefined): value is Container {
  return typeof value === "object" && value !== null;
}

/** The own property of that name; undefined where there is none. */
export function ownField(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * Sets an own property; `__proto__` too. An existing key keeps its place in the order. For objects
 * that are being made, and keys that are there: others are for {@link addField}.
 */
export function putField(object: JsonObject, name: string, value: JsonValue): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else {
    if (isLargeIndex(name) && !Object.hasOwn(object, Number(name) - 1)) keepSparse(object);
    object[name] = value;
  }
}

/**
 * Adds a key to an object from which others may have been removed. As {@link putField}, but in the
 * engine's way that uses the place of a removed key again. In the quick way each removal of a key
 * leaves one place more to be looked at whenever that key is looked up, up to all of the table.
 */
export function addField(object: JsonObject, name: string, value: JsonValue): void {
  if (name === "__proto__") return putField(object, name, value);
  if (isLargeIndex(name) && !Object.hasOwn(object, Number(name) - 1)) keepSparse(object);
  Reflect.set(object, name, value);
}

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
/** Below a thousand a number never makes an object change its form. */
const LARGE_INDEX = /^[1-9][0-9]{3,9}$/;

function isLargeIndex(name: string): boolean {
  const first = name.charCodeAt(0);
  return first >= DIGIT_0 && first <= DIGIT_9 && LARGE_INDEX.test(name);
}

/** Removes an own property. */
export function removeField(object: JsonObject, name: string): void {
  if (isLargeIndex(name)) keepSparse(object);
  delete object[name];
}

const sparse = new WeakSet<JsonObject>();
/** The largest number that the engine takes for an index; no such key is left behind. */
const LAST_INDEX = 2 ** 32 - 2;

/**
 * Makes the engine keep the keys of an object that are numbers in a table for ever. By itself it
 * changes between a table and an array, which copies all of them, whenever a number is far from the
 * others, and back when the next one is near: each time at the price of one key. What takes it back
 * is a property that is not enumerable, even after it is gone.
 */
function keepSparse(object: JsonObject): void {
  if (sparse.has(object) || Object.hasOwn(object, LAST_INDEX)) return;
  sparse.add(object);
  Object.defineProperty(object, LAST_INDEX, { value: 0, enumerable: false, configurable: true });
  delete object[LAST_INDEX];
}

/** Moves each field of `from`, which nothing else refers to, into `into`. */
export function moveFields(into: JsonObject, from: JsonObject, budget: Budget): void {
  // Bounded: `namesOf` has charged each field.
  for (const name of namesOf(from, budget)) {
    const value = from[name] as JsonValue;
    if (Object.hasOwn(into, name)) putField(into, name, value);
    else addField(into, name, value);
  }
}

/** The keys of an object. They are charged, for all are listed however few are looked at. */
function namesOf(object: JsonObject, budget: Budget): string[] {
  const names = Object.keys(object);
  spend(budget, KEY_UNITS * names.length);
  return names;
}

/**
 * A deep copy that JSON text can hold: -0 becomes 0; what JSON has no word for becomes null.
 *
 * `level` is the level the copy will have in the state, whose root is 1. Throws `StateTooLarge`
 * when the copy would nest too deep or the budget is spent.
 */
export function copyValue(
  value: JsonValue | undefined,
  level: number,
  budget: Budget,
): JsonValue {
  switch (typeof value) {
    case "string":
      spend(budget, value.length);
      return value;
    case "number":
      return Number.isFinite(value) ? value + 0 : null;
    case "boolean":
      return value;
    case "object":
      if (value === null) return null;
      return Array.isArray(value)
        ? copyArray(value, level, budget)
        : copyObject(value, level, budget);
    default:
      return null;
  }
}

function copyArray(array: readonly JsonValue[], level: number, budget: Budget): JsonValue[] {
  checkLevel(level);
  spend(budget, CONTAINER_UNITS + SLOT_UNITS * array.length);
  // A slice has just the room it needs; an array that grows by pushing has more.
  const copy = array.slice();
  for (let index = 0; index < copy.length; index++) {
    copy[index] = copyValue(copy[index], level + 1, budget);
  }
  return copy;
}

function copyObject(object: JsonObject, level: number, budget: Budget): JsonObject {
  checkLevel(level);
  const names = Object.keys(object);
  spend(budget, CONTAINER_UNITS + SLOT_UNITS * names.length);
  const copy: JsonObject = {};
  for (const name of names) {
    spend(budget, name.length);
    putField(copy, name, copyValue(object[name], level + 1, budget));
  }
  return copy;
}

/**
 * The value itself, charged and checked as {@link copyValue} would its copy: for what is put into a
 * whole that nobody changes.
 */
export function shareValue(value: JsonValue, level: number, budget: Budget): JsonValue {
  if (typeof value === "string") spend(budget, value.length);
  if (!isContainer(value)) return value;
  checkLevel(level);
  if (Array.isArray(value)) {
    spend(budget, CONTAINER_UNITS + SLOT_UNITS * value.length);
    for (const element of value) shareValue(element, level + 1, budget);
    return value;
  }
  const names = Object.keys(value);
  spend(budget, CONTAINER_UNITS + SLOT_UNITS * names.length);
  for (const name of names) {
    spend(budget, name.length);
    shareValue(value[name] as JsonValue, level + 1, budget);
  }
  return value;
}

/** Charges all of a value, which is to be read or written as a whole. */
export function spendValue(value: JsonValue, budget: Budget): void {
  if (typeof value === "string") return spend(budget, value.length);
  if (!isContainer(value)) return;
  const children = Array.isArray(value) ? value : Object.values(value);
  spend(budget, CONTAINER_UNITS + KEY_UNITS * children.length);
  for (const child of children) spendValue(child, budget);
}

/**
 * Deep equality: arrays by element in order, objects by key whatever the order, scalars by value.
 * Containers nested deeper than a state may be are not equal. What is compared is charged: nodes,
 * characters, and the keys of `left`. Those of `right` are only listed where it has all of these,
 * so `left` is to be the smaller one where that is known.
 */
export function equalValues(
  left: JsonValue,
  right: JsonValue,
  budget: Budget,
  level = 1,
): boolean {
  if (typeof left === "string") {
    return typeof right === "string" && equalTexts(left, right, budget);
  }
  if (left === right) return true;
  if (!isContainer(left) || !isContainer(right)) return false;
  if (level > limits.stateDepthMax) return false;
  if (Array.isArray(left)) {
    return Array.isArray(right) && equalArrays(left, right, budget, level);
  }
  return !Array.isArray(right) && equalObjects(left, right, budget, level);
}

function equalTexts(left: string, right: string, budget: Budget): boolean {
  if (left.length !== right.length) return false;
  spend(budget, comparedUnits(left.length));
  return left === right;
}

/** -1, 0 or 1: by UTF-16 code units. */
export function compareTexts(left: string, right: string, budget: Budget): number {
  // Compared twice: whether they are the same, and which is the first.
  spend(budget, 2 * comparedUnits(Math.min(left.length, right.length)));
  return left === right ? 0 : left < right ? -1 : 1;
}

function equalArrays(
  left: readonly JsonValue[],
  right: readonly JsonValue[],
  budget: Budget,
  level: number,
): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    spend(budget, STEP_UNITS);
    if (!equalValues(left[index] as JsonValue, right[index] as JsonValue, budget, level + 1)) {
      return false;
    }
  }
  return true;
}

function equalObjects(
  left: JsonObject,
  right: JsonObject,
  budget: Budget,
  level: number,
): boolean {
  // Values before counts: two objects that differ mostly differ in their first field.
  const names = namesOf(left, budget);
  for (const name of names) {
    spend(budget, STEP_UNITS);
    if (!Object.hasOwn(right, name)) return false;
    if (!equalValues(left[name] as JsonValue, right[name] as JsonValue, budget, level + 1)) {
      return false;
    }
  }
  return names.length === namesOf(right, budget).length;
}
