/** One difference between two specs, and what it means for those who write and read. */

import { canonicalJson } from "../canonical_json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/**
 * `refused`: the deploy is refused. `narrower`: it is allowed, but something that is accepted
 * today would not be any more. `states`: states are computed anew. `none`: nothing is different
 * for anybody.
 */
export type Effect = "refused" | "narrower" | "states" | "compatible" | "none";

export interface SpecChange {
  readonly kind: "added" | "removed" | "changed";
  /** As violations name places, e.g. `aggregate_types.order.events.was_placed.handler`. */
  readonly path: string;
  readonly before?: JsonValue;
  readonly after?: JsonValue;
  readonly effect: Effect;
  /** One sentence for people. */
  readonly meaning: string;
  /** Of a refused change: the rule that it breaks, and what to do instead. */
  readonly rule?: string;
  readonly hint?: string;
}

/** A change before it is judged; `matches` names the rule that may refuse it at this path. */
export interface FoundChange extends Omit<SpecChange, "rule" | "hint"> {
  readonly matches?: string;
}

/** What there is to say of a change besides its values. */
export type Words = Pick<FoundChange, "effect" | "meaning" | "matches">;

/** The change from one value to another; undefined is none. */
export function specChange(
  path: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  words: Words,
): FoundChange {
  const kind = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return {
    kind,
    path,
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
    ...words,
  };
}

/** Whether both are there with the same content, or both are not. */
export function isSame(before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return canonicalJson(before) === canonicalJson(after);
}

/** Names of both, in the order of the newer document, and then those that it does not have. */
export function namesOf(before: JsonObject, after: JsonObject): string[] {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return [...Object.keys(after), ...gone];
}

/** The object at a key; empty if there is none. */
export function objectIn(value: JsonValue | undefined, key: string): JsonObject {
  const inner = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(inner) ? inner : {};
}

/** The texts in a list; empty if there is none. */
export function namesIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
