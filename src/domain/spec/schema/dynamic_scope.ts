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
import type { Steps } from "../../fairness/pieces.ts";
import type { Place, References } from "./references.ts";
import { TextMap } from "../../lookup/text_map.ts";

/** The resources that give names a meaning. */
export interface DynamicResources {
  readonly roots: readonly Place[];
  /** By the URI of the resource: the schema that each of its names means. */
  readonly anchors: ReadonlyMap<string, ReadonlyMap<string, Place>>;
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
export function* dynamicResources(references: References): Steps<DynamicResources> {
  const anchors = new TextMap<TextMap<Place>>();
  const roots: Place[] = [];
  const seen = new Set<readonly Place[]>();
  for (const place of references.places.values()) {
    const { several } = references.targetsOf(place);
    if (several === undefined || seen.has(several.places)) continue;
    seen.add(several.places);
    for (const target of several.places) {
      yield;
      const named = anchors.get(target.base) ?? new TextMap<Place>();
      anchors.set(target.base, named);
      named.set(several.anchor, target);
    }
  }
  for (const place of references.places.values()) {
    if (!isJsonObject(place.schema) || place.schema.$id === undefined) continue;
    yield;
    if (anchors.has(place.base)) roots.push(place);
  }
  return { roots, anchors };
}

/** `numbers`: the numbers of functions, by their schemas. */
export function* planScope(
  { anchors }: DynamicResources,
  numbers: ReadonlyMap<Place, number>,
): Steps<ScopePlan | undefined> {
  if (anchors.size === 0) return undefined;
  const byResource = new TextMap<Anchors>();
  for (const [base, named] of anchors) {
    yield;
    const numbered = new Map<string, number>();
    for (const [anchor, place] of named) numbered.set(anchor, numbers.get(place)!);
    byResource.set(base, numbered);
  }
  const anchorsOf: (Anchors | undefined)[] = [];
  for (const [place, number] of numbers) {
    yield;
    anchorsOf[number] = byResource.get(place.base);
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
