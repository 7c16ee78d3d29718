/**
 * The two halves of running a compiled expression: what is known while it is compiled (`Site`
 * with its `Scope` and the faults found so far) and what it sees while it runs (`Evaluation`).
 */

import type { Budget } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { Violation } from "../refusal.ts";
import type { Template } from "./template.ts";

/**
 * Which roots a path may start with, beside `$.` (the event), which is always there.
 *
 * `names` are the names written with a `$` before them, here without it: `["prev", "steps"]`
 * allows `$prev.data.x` and `$steps.reserve.key`. A later name hides an earlier one that is equal.
 */
export interface Scope {
  /** Whether `@` is there. */
  readonly state: boolean;
  readonly names: readonly string[];
  /**
   * What paths with `$.` begin with, where there is no event: the first of `names`, in their order.
   */
  readonly roots?: readonly string[];
  /** What the values of `roots` always are; a path that finds nothing in one is refused. */
  readonly kinds?: readonly RootKind[];
  /** The slot of the value that `$` and `$.` mean here, whatever `roots` there are. */
  readonly element?: number;
  /** What templates have here beside their own operators, by their key with its `$`. */
  readonly operators?: ReadonlyMap<string, (definition: JsonObject, site: Site) => Template>;
}

/** Null counts as each of them. */
export type RootKind = "text" | "object" | "list";

/** The scope of a handler: the event, the state, and no names yet. */
export const HANDLER_SCOPE: Scope = { state: true, names: [] };

/** What an expression sees. `bindings[i]` is the value of `scope.names[i]`; undefined: missing. */
export interface Evaluation {
  state: JsonObject;
  readonly event: StoredEvent;
  readonly bindings: (JsonValue | undefined)[];
  readonly budget: Budget;
  /** Whether what is built may have parts of the event in it, for nobody changes it. */
  readonly sharesParts?: boolean;
}

/** A node of the definition: where it is, what it may refer to, and where its faults go. */
export interface Site {
  /** Dotted location in the spec. */
  readonly path: string;
  readonly scope: Scope;
  readonly faults: Violation[];
}

const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]*$/;

/** The site of a child: `.key`, `["odd key"]` or `[index]` further. */
export function childSite(site: Site, step: string | number): Site {
  return { ...site, path: site.path + stepText(step) };
}

function stepText(step: string | number): string {
  if (typeof step === "number") return `[${step}]`;
  return PLAIN_KEY.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}

/** The same site with further names known. */
export function withNames(site: Site, names: readonly string[]): Site {
  return { ...site, scope: { ...site.scope, names: [...site.scope.names, ...names] } };
}

/** Records one fault at this site. */
export function addFault(site: Site, rule: string, message: string, hint: string): void {
  site.faults.push({ rule, path: site.path, message, hint });
}
