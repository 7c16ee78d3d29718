/**
 * Routes as data: a path pattern, its methods, and who may call each.
 *
 * A known path answers 405 with `Allow` to any other method; an unknown path is 404. See
 * docs/reference/basics.md.
 */

import type { PathRoutes, Route } from "./call.ts";
import type { Tag } from "./openapi/tags.ts";

/**
 * The paths of one group of the OpenAPI document. A pattern consists of fixed segments and
 * parameters in braces, e.g. `/{type}/{id}/length`.
 */
export function paths(
  tag: Tag,
  rows: Readonly<Record<string, Readonly<Record<string, Route>>>>,
): PathRoutes[] {
  return Object.entries(rows).map(([pattern, methods]) => ({
    pattern,
    tag,
    methods: new Map(Object.entries(methods)),
    allow: Object.keys(methods).join(", "),
  }));
}

export interface FoundPath {
  readonly path: PathRoutes;
  readonly params: readonly string[];
}

/** Finds the first path, in the given order, that matches the decoded segments. */
export type Router = (segments: readonly string[]) => FoundPath | undefined;

/** First segments that are never an aggregate type. See docs/reference/identifiers.md. */
const RESERVED_TYPES: ReadonlySet<string> = new Set(["api", "health", "metrics"]);

interface Matcher {
  readonly path: PathRoutes;
  /** A fixed segment, or undefined for a parameter. */
  readonly parts: readonly (string | undefined)[];
  /** The positions of the parameters. */
  readonly places: readonly number[];
}

function newMatcher(path: PathRoutes): Matcher {
  const parts = path.pattern.slice(1).split("/")
    .map((part) => part.startsWith("{") ? undefined : part);
  const places = [...parts.keys()].filter((index) => parts[index] === undefined);
  return { path, parts, places };
}

export function createRouter(paths: readonly PathRoutes[]): Router {
  const matchers = paths.map(newMatcher);
  // Few paths share a first segment, so only few are compared.
  const firsts = [undefined, ...new Set(matchers.map(({ parts }) => parts[0]))];
  const byFirst = new Map(firsts.map((first) => [first, byLength(matchers.filter(fits(first)))]));
  const others = byFirst.get(undefined)!;
  return (segments) => {
    const matchers = (byFirst.get(segments[0]) ?? others).get(segments.length) ?? [];
    for (const { path, parts, places } of matchers) {
      if (!fitsAll(parts, segments)) continue;
      return { path, params: places.map((index) => segments[index]!) };
    }
    return undefined;
  };
}

/** Whether a path with this first segment may match; undefined: one that no pattern names. */
function fits(first: string | undefined): (matcher: Matcher) => boolean {
  return ({ parts }) => parts[0] === undefined || parts[0] === first;
}

function byLength(matchers: readonly Matcher[]): ReadonlyMap<number, readonly Matcher[]> {
  return Map.groupBy(matchers, ({ parts }) => parts.length);
}

/** Whether the segments match the pattern, given that it has as many. */
function fitsAll(
  parts: readonly (string | undefined)[],
  segments: readonly string[],
): boolean {
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    const segment = segments[index]!;
    if (part !== undefined) {
      if (part !== segment) return false;
    } else if (segment === "" || (index === 0 && !mayBeType(segment))) return false;
  }
  return true;
}

/** Only an aggregate type may be a first parameter; other areas begin with `_` or are reserved. */
function mayBeType(segment: string): boolean {
  return !segment.startsWith("_") && !RESERVED_TYPES.has(segment);
}
