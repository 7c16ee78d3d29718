/** Collects the faults of one document: all of them, up to a limit, each with its path. */

import { limits } from "../limits.ts";
import type { Violation } from "../refusal.ts";
import { parseJson } from "../json_text/parse_json.ts";

/** Collects the faults found while a document is walked. */
export interface FaultList {
  /** What messages call the document as a whole. */
  readonly document: string;
  readonly faults: readonly Violation[];
  add(rule: string, path: string, message: string, hint: string): void;
  addAll(violations: readonly Violation[]): void;
  /** True when further faults would be dropped, so that a walk may end early. */
  isFull(): boolean;
}

/** An empty list that keeps the first `max` faults. */
export function createFaultList(
  max: number = limits.violationsMax,
  document = "the spec",
): FaultList {
  const faults: Violation[] = [];
  const push = (violation: Violation) => {
    if (faults.length < max) faults.push(violation);
  };
  return {
    document,
    faults,
    add: (rule, path, message, hint) => push({ rule, path, message, hint }),
    addAll: (violations) => violations.forEach(push),
    isFull: () => faults.length >= max,
  };
}

const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]*$/;

/**
 * `a.b` for plain keys, `a["odd key"]` for others, `b` if there is no parent. Long keys are
 * shortened, because every fault beneath repeats them.
 */
export function joinKey(path: string, key: string): string {
  const shown = shorten(key);
  if (!PLAIN_KEY.test(shown)) return `${path}[${JSON.stringify(shown)}]`;
  return path === "" ? shown : `${path}.${shown}`;
}

/** `a[0]`. */
export function joinIndex(path: string, index: number): string {
  return `${path}[${index}]`;
}

const STEPS = /([^.[\]]+)|\[(\d+)\]|\[("(?:\\.|[^"\\])*")\]/g;

/** The way back: `a.b[0]["odd key"]` gives a, b, 0, odd key. */
export function stepsOf(path: string): (string | number)[] {
  const steps: (string | number)[] = [];
  for (const [, name, index, quoted] of path.matchAll(STEPS)) {
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(parseJson(quoted));
  }
  return steps;
}

/** Shortens text from outside for a message, to 80 characters at most. */
export function shorten(text: string): string {
  return text.length <= 80 ? text : text.slice(0, 77) + "...";
}
