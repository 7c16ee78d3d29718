/**
 * The context of a compiled expression: `Site` while it is compiled, `Evaluation` while it
 * runs.
 *
 * A site carries the scope of the expression and the faults found so far.
 */

import type { Budget } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import type { Violation } from "../refusal.ts";

/**
 * The roots a path may start with besides `$.` (the event), which is always available.
 *
 * `names` are the names that paths write with a `$`, here without it: `["prev", "steps"]`
 * allows `$prev.data.x` and `$steps.reserve.key`. A later name hides an earlier equal one.
 */
export interface Scope {
  /** Whether paths may read the state with `@`. */
  readonly state: boolean;
  /** The names of the outermost place; their index is their slot. */
  readonly names: readonly string[];
  /** What `withNames` has added since. */
  readonly bound?: BoundNames;
  /**
   * Where there is no event: the roots that paths starting with `$.` may use. They are the
   * first entries of `names`, in the same order.
   */
  readonly roots?: readonly string[];
  /**
   * The kind of each root's value, where it is fixed; a path that can never match it is
   * refused.
   */
  readonly kinds?: readonly RootKind[];
  /** The slot of the value that `$` and `$.` refer to here; it takes precedence over `roots`. */
  readonly element?: number;
  /** Further template operators available here, by their key including the `$`. */
  readonly operators?: ReadonlyMap<string, (definition: JsonObject, site: Site) => Template>;
}

/** The names that one place binds, inside those of the places around it. */
interface BoundNames {
  readonly slots: ReadonlyMap<string, number>;
  /** The slot after the last one. */
  readonly end: number;
  readonly outer: BoundNames | undefined;
}

/** A value of any kind may also be null. */
export type RootKind = "text" | "object" | "list";

/** The scope of a handler: the event, the state, and no names yet. */
export const HANDLER_SCOPE: Scope = { state: true, names: [] };

/**
 * What an expression can read. `bindings[i]` is the value of the name in slot `i` of the scope,
 * undefined if missing.
 */
export interface Evaluation {
  state: JsonObject;
  readonly event: StoredEvent;
  readonly bindings: (JsonValue | undefined)[];
  readonly budget: Budget;
  /** The containers of the state that may be changed; undefined: all of them. See `own.ts`. */
  readonly owned?: WeakSet<object> | undefined;
  /** Whether built values may share parts with the event; true only where nobody changes them. */
  readonly sharesParts?: boolean;
}

/** A node of the definition: its location, the names it may refer to, and where its faults go. */
export interface Site {
  /** Dotted location in the spec. */
  readonly path: string;
  readonly scope: Scope;
  readonly faults: Violation[];
}

const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]*$/;
/** A key in a path; longer ones are shortened, as in the paths of `fault_list.ts`. */
const KEY_CHARACTERS_MAX = 80;

/** The site of a child, with `.key`, `["odd key"]` or `[index]` appended to the path. */
export function childSite(site: Site, step: string | number): Site {
  return { ...site, path: site.path + stepText(step) };
}

function stepText(step: string | number): string {
  if (typeof step === "number") return `[${step}]`;
  // Every fault beneath repeats the key.
  const shown = step.length <= KEY_CHARACTERS_MAX
    ? step
    : `${step.slice(0, KEY_CHARACTERS_MAX - 3)}...`;
  return PLAIN_KEY.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`;
}

/** The same site with more names in scope. The names around it are not copied. */
export function withNames(site: Site, names: readonly string[]): Site {
  const { scope } = site;
  const first = nextSlot(scope);
  const slots = new Map(names.map((name, index) => [name, first + index]));
  const bound = { slots, end: first + names.length, outer: scope.bound };
  return { ...site, scope: { ...scope, bound } };
}

/** The slot that the next bound name gets. */
export function nextSlot({ names, bound }: Scope): number {
  return bound?.end ?? names.length;
}

/** The slot of the innermost such name; -1 if there is none. */
export function slotOf(name: string, { names, bound }: Scope): number {
  // Bounded: the depth of a definition.
  for (let place = bound; place !== undefined; place = place.outer) {
    const slot = place.slots.get(name);
    if (slot !== undefined) return slot;
  }
  return names.lastIndexOf(name);
}

/** All names that are bound here; outer ones come first. */
export function* boundNamesIn({ names, bound }: Scope): Generator<string> {
  yield* names;
  const places: BoundNames[] = [];
  // Bounded: the depth of a definition.
  for (let place = bound; place !== undefined; place = place.outer) places.unshift(place);
  // Bounded: as above; each name is yielded to a caller that may stop.
  for (const { slots } of places) yield* slots.keys();
}

/** True once there are more faults than an answer lists: further ones are dropped. */
export function hasAllFaults({ faults }: Site): boolean {
  return faults.length > limits.violationsMax;
}

/** Records one fault at this site. */
export function addFault(site: Site, rule: string, message: string, hint: string): void {
  if (hasAllFaults(site)) return;
  site.faults.push({ rule, path: site.path, message, hint });
}

/** A compiled template. The result is undefined if an optional path is missing. */
export interface Template {
  /** The value for immediate reading only: it may be part of the state, the event or the spec. */
  readonly view: (evaluation: Evaluation) => JsonValue | undefined;
  /**
   * A fresh copy to store at `level` of the state (the root is level 1); charged. The copy
   * shares nothing with its sources, unless the evaluation allows it. Throws `BudgetSpent` or
   * `StateTooLarge`.
   */
  readonly build: (evaluation: Evaluation, level: number) => JsonValue | undefined;
  /**
   * The value to keep while operations change the state: as `view`, but state values are
   * copied.
   */
  readonly keep: (evaluation: Evaluation) => JsonValue | undefined;
  /** Whether `view` returns a part of the state, which may be large. */
  readonly fromState: boolean;
  /** The value, if it is the same for every event. */
  readonly constant: JsonValue | undefined;
}
