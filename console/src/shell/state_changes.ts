/** What differs between two states, and which event made a field what it is. */

import type { JsonObject } from "../../../src/domain/json.ts";
import { KEPT_EVERY, type Timeline } from "./stream_fold.ts";

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

function collect(before: unknown, after: unknown, path: Path, changes: Change[]): void {
  if (changes.length >= CHANGES_MAX || Object.is(before, after)) return;
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after)) {
    if (!isSame(before, after)) changes.push({ path, before, after });
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const step = Array.isArray(before) ? Number(name) : name;
    collect(ownOf(before, name), ownOf(after, name), [...path, step], changes);
  }
}

function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function ownOf(value: unknown, name: string | number): unknown {
  if (!isBranch(value) || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** The value at a path; undefined if there is none. */
export function valueAt(state: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => ownOf(value, step), state);
}

/**
 * Finds the event that last changed the value at `path`, among the first `length` events. Gives its
 * index; undefined if the value has always been as it is. Looks at the newest events first.
 */
export function lastToChange(
  timeline: Timeline,
  path: Path,
  length: number,
): number | undefined {
  const now = textAt(timeline.stateAt(length), path);
  for (let to = length; to > 0;) {
    const from = Math.floor((to - 1) / KEPT_EVERY) * KEPT_EVERY;
    const texts = timeline.each(from, to, (state) => textAt(state, path));
    const differs = texts.findLastIndex((text) => text !== now);
    if (differs !== -1) return from + differs;
    to = from;
  }
  return undefined;
}

function textAt(state: JsonObject | undefined, path: Path): string | undefined {
  return JSON.stringify(valueAt(state, path));
}
