/** What differs between two states, and which event made a field what it is. */

import { newBudget } from "../../../src/domain/budget.ts";
import { equalValues } from "../../../src/domain/handler/value.ts";
import type { JsonValue } from "../../../src/domain/json.ts";
import { ownMember } from "./own_member.ts";
import type { Timeline } from "./stream_fold.ts";

export type Path = readonly (string | number)[];

/** One field that differs; `before` or `after` is undefined where there is none. */
export interface Change {
  readonly path: Path;
  readonly before: unknown;
  readonly after: unknown;
}

/** More changes than anybody reads. */
export const CHANGES_MAX = 500;

/** Every field that was added, removed or changed, at most {@link CHANGES_MAX}. */
export function changesBetween(before: unknown, after: unknown): Change[] {
  const changes: Change[] = [];
  collect(before, after, [], changes);
  return changes;
}

/** Containers that are shared between the states are not looked into. */
function collect(before: unknown, after: unknown, path: Path, changes: Change[]): void {
  if (changes.length >= CHANGES_MAX || Object.is(before, after)) return;
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after)) {
    changes.push({ path, before, after });
  } else if (Array.isArray(before)) {
    const list = after as readonly unknown[];
    for (let index = 0; index < Math.max(before.length, list.length); index++) {
      if (Object.is(before[index], list[index])) continue;
      collect(before[index], list[index], [...path, index], changes);
    }
  } else {
    for (const name of Object.keys(before)) {
      collect(ownMember(before, name), ownMember(after, name), [...path, name], changes);
    }
    for (const name of Object.keys(after)) {
      if (Object.hasOwn(before, name)) continue;
      collect(undefined, ownMember(after, name), [...path, name], changes);
    }
  }
}

function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The value at a path; undefined if there is none. */
export function valueAt(state: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => ownMember(value, step), state);
}

/**
 * Finds the event that last changed the value at `path`, among the first `length` events. Gives its
 * index; undefined if the value has always been as it is. Looks at the newest events first, in
 * pieces of a few milliseconds.
 */
export function* lastToChange(
  timeline: Timeline,
  path: Path,
  length: number,
): Generator<void, number | undefined> {
  const now = timeline.stateAt(length);
  for (let to = length; to > 0;) {
    yield;
    const from = timeline.keptBefore(to);
    if (!isUntouched(timeline.stateAt(from), timeline.stateAt(to), path)) {
      let index = from;
      let last: number | undefined;
      for (const state of timeline.statesBetween(from, to)) {
        if (!isSameAt(state, now, path)) last = index;
        index++;
        yield;
      }
      if (last !== undefined) return last;
    }
    to = from;
  }
  return undefined;
}

/** Whether two states share the value, or what holds it: no event between them has changed it. */
function isUntouched(a: unknown, b: unknown, path: Path): boolean {
  let [one, other] = [a, b];
  for (const step of path) {
    if (isBranch(one) && one === other) return true;
    [one, other] = [ownMember(one, step), ownMember(other, step)];
  }
  return isBranch(one) && one === other;
}

function isSameAt(a: unknown, b: unknown, path: Path): boolean {
  return isSame(valueAt(a, path), valueAt(b, path));
}

/** Whether both have the same values; the order of keys is no difference. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === undefined || other === undefined) return one === other;
  return equalValues(one as JsonValue, other as JsonValue, newBudget(Infinity));
}
