/**
 * What a `$dynamicRef` means where several schemas have its `$dynamicAnchor`: the one in the
 * outermost resource that the validator is in. A resource is a schema with an `$id`, and what is in
 * it. The validator tells which function it enters and leaves; which names that gives a meaning is
 * planned when the schema is compiled.
 */

import { type Budget, spend } from "../../budget.ts";
import { isJsonObject } from "../../json.ts";
import type { References } from "./references.ts";

/** The resources that give meanings to names. */
export interface DynamicResources {
  /** Pointers of their roots. */
  readonly roots: readonly string[];
  /** By the resource's URI: each name that it gives a meaning, and the pointer that it means. */
  readonly anchors: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** The same by the numbers of functions. */
export interface ScopePlan {
  /** By number of the function: the anchors of the resource that it belongs to. */
  readonly anchorsOf: readonly (Anchors | undefined)[];
}

/** Anchor to the number of the function that it means. The same object for the same resource. */
type Anchors = ReadonlyMap<string, number>;

export interface DynamicScope {
  /** Begins with a value: only the first function is entered. */
  begin(): void;
  /** Enters the function of that number, or the one that `anchor` means by now; tells which. */
  enter(number: number, anchor: string | null): number;
  leave(number: number): void;
}

/** Of each name that a resource gives a meaning, when it is entered. */
const UNITS_PER_ANCHOR = 32;

/** Only the names that some reference waits for. */
export function dynamicResources(references: References): DynamicResources {
  const anchors = new Map<string, Map<string, string>>();
  const roots: string[] = [];
  const seen = new Set<string>();
  for (const [pointer, { schema }] of references.places) {
    if (!isJsonObject(schema) || typeof schema.$dynamicRef !== "string") continue;
    const targets = references.dynamicTargets(schema.$dynamicRef, pointer);
    if (targets === undefined || seen.has(targets.anchor)) continue;
    seen.add(targets.anchor);
    for (const target of targets.pointers) {
      const { base } = references.places.get(target)!;
      const named = anchors.get(base) ?? new Map<string, string>();
      anchors.set(base, named);
      named.set(targets.anchor, target);
    }
  }
  for (const [pointer, { schema, base }] of references.places) {
    const isRoot = isJsonObject(schema) && schema.$id !== undefined;
    if (isRoot && anchors.has(base)) roots.push(pointer);
  }
  return { roots, anchors };
}

/** `numbers`: of functions, by pointer. */
export function planScope(
  { anchors }: DynamicResources,
  references: References,
  numbers: ReadonlyMap<string, number>,
): ScopePlan | undefined {
  if (anchors.size === 0) return undefined;
  const byResource = new Map<string, Anchors>();
  for (const [base, named] of anchors) {
    const numbered = new Map<string, number>();
    for (const [anchor, pointer] of named) numbered.set(anchor, numbers.get(pointer)!);
    byResource.set(base, numbered);
  }
  const anchorsOf: (Anchors | undefined)[] = [];
  for (const [pointer, number] of numbers) {
    anchorsOf[number] = byResource.get(references.places.get(pointer)!.base);
  }
  return { anchorsOf };
}

export function createDynamicScope({ anchorsOf }: ScopePlan, budget: Budget): DynamicScope {
  const meanings = new Map<string, number>();
  /** The resources that the validator is in: how often, and the names that each was first with. */
  const entered = new Map<Anchors, { times: number; readonly names: string[] }>();

  function enter(number: number, anchor: string | null): number {
    const called = anchor === null ? number : meanings.get(anchor) ?? number;
    const anchors = anchorsOf[called];
    if (anchors === undefined) return called;
    const already = entered.get(anchors);
    if (already !== undefined) {
      already.times++;
      return called;
    }
    spend(budget, UNITS_PER_ANCHOR * anchors.size);
    const names = [...anchors.keys()].filter((name) => !meanings.has(name));
    for (const name of names) meanings.set(name, anchors.get(name)!);
    entered.set(anchors, { times: 1, names });
    return called;
  }

  function leave(number: number): void {
    const anchors = anchorsOf[number];
    const state = anchors && entered.get(anchors);
    if (state === undefined || --state.times > 0) return;
    for (const name of state.names) meanings.delete(name);
    entered.delete(anchors!);
  }

  function begin(): void {
    // What ran before may have ended in the middle of it.
    meanings.clear();
    entered.clear();
    enter(0, null);
  }

  return { begin, enter, leave };
}
