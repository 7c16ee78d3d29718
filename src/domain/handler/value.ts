/**
 * Reads, writes, copies and compares JSON values inside a fold.
 *
 * Only own properties are read or written, so `__proto__`, `constructor` and `toString` are
 * ordinary keys. A written value is always a copy: a state shares nothing with another place,
 * an event or a spec.
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

/** True for `{...}` only; `undefined` stands for a missing value. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isContainer(value: JsonValue | undefined): value is Container {
  return typeof value === "object" && value !== null;
}

/** The own property of that name; undefined if there is none. */
export function ownField(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * Sets an own property, `__proto__` included. An existing key keeps its position. Use it for
 * objects under construction and for existing keys; for other keys use {@link addField}.
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
 * Adds a key to an object from which keys may have been removed. It works like
 * {@link putField}, but takes the engine's path that reuses the slots of removed keys. On the
 * fast path each removal leaves a slot that every later lookup of that key must step over, up
 * to the whole table.
 */
export function addField(object: JsonObject, name: string, value: JsonValue): void {
  if (name === "__proto__") return putField(object, name, value);
  if (isLargeIndex(name) && !Object.hasOwn(object, Number(name) - 1)) keepSparse(object);
  Reflect.set(object, name, value);
}

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
/**
 * From this number on, an array up to the number costs more memory than a hash table. The engine
 * itself would make an array for up to a thousand free places: 12 KB for the one key "999".
 */
const LARGE_INDEX = /^(?:1[6-9]|[2-9][0-9]|[1-9][0-9]{2,9})$/;

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
/** The largest number that the engine treats as an index; the key is deleted again at once. */
const LAST_INDEX = 2 ** 32 - 2;

/**
 * Makes the engine keep numeric keys of an object in a hash table for good. By default the
 * engine switches from an array to a table whenever a number is far from the others, and back
 * when the next one is close. Each switch copies all keys, though the caller pays for only one.
 * A non-enumerable property prevents the switch back, even after it has been deleted.
 */
function keepSparse(object: JsonObject): void {
  if (sparse.has(object) || Object.hasOwn(object, LAST_INDEX)) return;
  sparse.add(object);
  Object.defineProperty(object, LAST_INDEX, { value: 0, enumerable: false, configurable: true });
  delete object[LAST_INDEX];
}

/** Moves each field of `from`, which nothing else references, into `into`. */
export function moveFields(into: JsonObject, from: JsonObject, budget: Budget): void {
  // Bounded: `namesOf` has charged each field.
  for (const name of namesOf(from, budget)) {
    const value = from[name] as JsonValue;
    if (Object.hasOwn(into, name)) putField(into, name, value);
    else addField(into, name, value);
  }
}

/** Lists the keys of an object. All are charged, however few the caller examines. */
function namesOf(object: JsonObject, budget: Budget): string[] {
  const names = Object.keys(object);
  spend(budget, KEY_UNITS * names.length);
  return names;
}

/**
 * Makes a deep copy that JSON text can represent: -0 becomes 0, and a value JSON cannot
 * represent becomes null.
 *
 * `level` is the level of the copy in the state, whose root is 1. Throws `StateTooLarge` when
 * the copy would nest too deep, and `BudgetSpent` when the budget is spent.
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
  // A slice allocates exactly the space it needs; an array grown by pushing has spare capacity.
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
 * Returns the value itself, charged and checked like a copy by {@link copyValue}. For values
 * that become part of a whole nobody changes.
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

/** Charges for a whole value that is about to be read or written. */
export function spendValue(value: JsonValue, budget: Budget): void {
  if (typeof value === "string") return spend(budget, value.length);
  if (!isContainer(value)) return;
  const children = Array.isArray(value) ? value : Object.values(value);
  spend(budget, CONTAINER_UNITS + KEY_UNITS * children.length);
  for (const child of children) spendValue(child, budget);
}

/**
 * Deep equality: arrays by element in order, objects by key in any order, scalars by value.
 * Containers nested deeper than a state may be are never equal. The comparison is charged for
 * nodes, characters and the keys of `left`. The keys of `right` are listed only if it has all
 * of these, so pass the smaller value as `left` where that is known.
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

/** -1, 0 or 1, by UTF-16 code units. */
export function compareTexts(left: string, right: string, budget: Budget): number {
  // The strings are compared twice: for equality, then for order.
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
  // Compare values before counts: objects that differ usually differ in their first field.
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
