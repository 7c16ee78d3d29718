/**
 * Resolves a `$dynamicRef` when several schemas have its `$dynamicAnchor`.
 *
 * It means the schema in the outermost resource that the validator is in; a resource is a
 * schema with an `$id`, together with what it contains. The validator reports each function
 * that it enters and leaves. The names that each function gives a meaning are planned when the
 * schema is compiled.
 */

import { type Budget, spend } from "../../budget.ts";
import { isJsonObject } from "../../json.ts";
import type { References } from "./references.ts";
import { TextMap, TextSet } from "../../lookup/text_map.ts";

/** The resources that give names a meaning. */
export interface DynamicResources {
  /** The pointers of their roots. */
  readonly roots: readonly string[];
  /** By the URI of the resource: the pointer that each of its names means. */
  readonly anchors: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** The same, by the numbers of functions. */
export interface ScopePlan {
  /** By the number of a function: the anchors of the resource that it belongs to. */
  readonly anchorsOf: readonly (Anchors | undefined)[];
}

/** Anchor to the number of the function it means. There is one such object for each resource. */
type Anchors = ReadonlyMap<string, number>;

export interface DynamicScope {
  /** Starts a new value: only the first function is entered. */
  begin(): void;
  /** Enters the function of that number, or the one that `anchor` now means; returns its number. */
  enter(number: number, anchor: string | null): number;
  leave(number: number): void;
}

/** Units for each name that a resource gives a meaning when it is entered. */
const UNITS_PER_ANCHOR = 32;

/** Considers only names that some reference uses. */
export function dynamicResources(references: References): DynamicResources {
  const anchors = new TextMap<TextMap<string>>();
  const roots: string[] = [];
  const seen = new TextSet();
  for (const [pointer, { schema }] of references.places) {
    if (!isJsonObject(schema) || typeof schema.$dynamicRef !== "string") continue;
    const targets = references.dynamicTargets(schema.$dynamicRef, pointer);
    if (targets === undefined || seen.has(targets.anchor)) continue;
    seen.add(targets.anchor);
    for (const target of targets.pointers) {
      const { base } = references.places.get(target)!;
      const named = anchors.get(base) ?? new TextMap<string>();
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

/** `numbers`: the numbers of functions, by pointer. */
export function planScope(
  { anchors }: DynamicResources,
  references: References,
  numbers: ReadonlyMap<string, number>,
): ScopePlan | undefined {
  if (anchors.size === 0) return undefined;
  const byResource = new TextMap<Anchors>();
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
  /**
   * The resources the validator is in: how many times, and the names that each was first to
   * define.
   */
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
    // The previous run may have stopped halfway.
    meanings.clear();
    entered.clear();
    enter(0, null);
  }

  return { begin, enter, leave };
}
