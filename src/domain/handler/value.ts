/**
 * Reading, writing, copying and comparing JSON values inside a fold. Only own properties are ever
 * read or written, so `__proto__`, `constructor` and `toString` are keys like any other. What is
 * written is always a copy: nothing in a state is shared with another place, an event or a spec.
 */

import { type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { charge, checkLevel, CONTAINER_BYTES, SLOT_BYTES, STEP_BYTES } from "./budget.ts";
import type { FoldBudget } from "./handler.ts";

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

/** Sets an own property; `__proto__` too. An existing key keeps its place in the order. */
export function putField(object: JsonObject, name: string, value: JsonValue): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else {
    object[name] = value;
  }
}

/** Moves each field of `from`, which nothing else refers to, into `into`. */
export function moveFields(into: JsonObject, from: JsonObject): void {
  for (const name of Object.keys(from)) putField(into, name, from[name] as JsonValue);
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
  budget: FoldBudget,
): JsonValue {
  switch (typeof value) {
    case "string":
      charge(budget, value.length);
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

function copyArray(array: readonly JsonValue[], level: number, budget: FoldBudget): JsonValue[] {
  checkLevel(level);
  charge(budget, CONTAINER_BYTES + SLOT_BYTES * array.length);
  // A slice has just the room it needs; an array that grows by pushing has more.
  const copy = array.slice();
  for (let index = 0; index < copy.length; index++) {
    copy[index] = copyValue(copy[index], level + 1, budget);
  }
  return copy;
}

function copyObject(object: JsonObject, level: number, budget: FoldBudget): JsonObject {
  checkLevel(level);
  const names = Object.keys(object);
  charge(budget, CONTAINER_BYTES + SLOT_BYTES * names.length);
  const copy: JsonObject = {};
  for (const name of names) {
    charge(budget, name.length);
    putField(copy, name, copyValue(object[name], level + 1, budget));
  }
  return copy;
}

/**
 * Deep equality: arrays by element in order, objects by key whatever the order, scalars by value.
 * Containers nested deeper than a state may be are not equal. Each node compared is charged.
 */
export function equalValues(
  left: JsonValue,
  right: JsonValue,
  budget: FoldBudget,
  level = 1,
): boolean {
  if (left === right) return true;
  if (!isContainer(left) || !isContainer(right)) return false;
  if (level > limits.stateDepthMax) return false;
  if (Array.isArray(left)) {
    return Array.isArray(right) && equalArrays(left, right, budget, level);
  }
  return !Array.isArray(right) && equalObjects(left, right, budget, level);
}

function equalArrays(
  left: readonly JsonValue[],
  right: readonly JsonValue[],
  budget: FoldBudget,
  level: number,
): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    charge(budget, STEP_BYTES);
    if (!equalValues(left[index] as JsonValue, right[index] as JsonValue, budget, level + 1)) {
      return false;
    }
  }
  return true;
}

function equalObjects(
  left: JsonObject,
  right: JsonObject,
  budget: FoldBudget,
  level: number,
): boolean {
  // Values before counts: two objects that differ mostly differ in their first field.
  const names = Object.keys(left);
  for (const name of names) {
    charge(budget, STEP_BYTES);
    if (!Object.hasOwn(right, name)) return false;
    if (!equalValues(left[name] as JsonValue, right[name] as JsonValue, budget, level + 1)) {
      return false;
    }
  }
  return names.length === Object.keys(right).length;
}
