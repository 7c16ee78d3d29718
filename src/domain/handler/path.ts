/**
 * Value paths: strings that read from the event, the state or a bound name.
 *
 * See docs/reference/expressions.md.
 *
 * - `$.data...`, `$.metadata...`, `$.key`, `$.id`, `$.type` read the event; `$.id` is the part
 *   of the key after the first `:`. `@` is the whole state, `@.x` and `@["x"]` are parts of it.
 *   `$name` reads a bound name.
 * - **Which strings are paths.** Every string that starts with `$` or `@` is taken for a path.
 *   If it is not a valid one (`"$5.00"`, `"$total"` with no such name, `"@home"`), the deploy
 *   is refused with the hint to write `{"$literal": ...}`, so that a misspelt path never
 *   silently becomes text.
 * - **Missing** means there is nothing to read: no such own property, no such element, or a
 *   step into a scalar. An explicit null is a value: `exists` finds it, and a trailing `?` does
 *   not skip it.
 * - `[*]` returns the list of all elements, as one flat list however often it occurs in a path.
 *   A value missing inside an element becomes null in its place. If `[*]` finds no array, the
 *   path is missing (inside another `[*]`, that element contributes nothing).
 */

import { spend } from "../budget.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { SLOT_UNITS, STEP_UNITS } from "./budget.ts";
import { didYouMean, listNames } from "../nearest_name.ts";
import {
  addFault,
  boundNamesIn,
  type Evaluation,
  hasAllFaults,
  type RootKind,
  type Scope,
  type Site,
  slotOf,
} from "./evaluation.ts";
import { parseSegments, type Segment } from "./segments.ts";
import { isContainer, ownField } from "./value.ts";

/** Returns the value itself, not a copy; undefined if it is missing. */
export type Reader = (evaluation: Evaluation) => JsonValue | undefined;

export interface ValuePath {
  readonly read: Reader;
  /** A trailing `?`: a missing value skips the operation instead of reading as null. */
  readonly optional: boolean;
  /** Whether it reads the state, which operations change in place. */
  readonly fromState: boolean;
}

const EVENT_ROOTS = ["data", "metadata", "key", "id", "type"] as const;
/** `$` alone, or followed by a step. */
const ELEMENT_ROOT = /^\$(?=[.[?]|$)/;
const NAME_ROOT = /^\$([A-Za-z_][A-Za-z0-9_]*)/;
const LITERAL_HINT = 'For the text itself write {"$literal": "..."}';

/** True for strings that must be paths: those that start with `$` or `@`. */
export function looksLikePath(text: string): boolean {
  return text.startsWith("$") || text.startsWith("@");
}

/** Compiles one path. If it is invalid, records a fault and returns undefined. */
export function valuePathAt(text: string, site: Site): ValuePath | undefined {
  if (hasAllFaults(site)) return undefined;
  if (text.startsWith("@")) return statePath(text, site);
  const { element } = site.scope;
  if (element !== undefined && ELEMENT_ROOT.test(text)) return elementPath(text, element, site);
  if (text.startsWith("$.")) return eventPath(text, site);
  const name = NAME_ROOT.exec(text)?.[1];
  if (name !== undefined) return namePath(text, name, site);
  addFault(
    site,
    "path_invalid",
    `"${excerpt(text)}" is not a path`,
    `Paths start with "$.data", "$.metadata", "$.key", "$.id", "$.type", "@" or a bound "$name". ${LITERAL_HINT}`,
  );
  return undefined;
}

function statePath(text: string, site: Site): ValuePath | undefined {
  if (!site.scope.state) {
    addFault(
      site,
      "path_root_unknown",
      `"${excerpt(text)}" reads the state, which is not there in this place`,
      `Only handlers have a state. ${LITERAL_HINT}`,
    );
    return undefined;
  }
  const parsed = stepsAt(text, 1, site);
  if (parsed === undefined) return undefined;
  const { segments, optional } = parsed;
  return readerOf(segments, (evaluation) => evaluation.state, optional, true);
}

function elementPath(text: string, slot: number, site: Site): ValuePath | undefined {
  const parsed = stepsAt(text, 1, site);
  if (parsed === undefined) return undefined;
  return readerOf(parsed.segments, ({ bindings }) => bindings[slot], parsed.optional);
}

function eventPath(text: string, site: Site): ValuePath | undefined {
  const parsed = stepsAt(text, 1, site);
  if (parsed === undefined) return undefined;
  if (site.scope.roots !== undefined) return rootPath(text, parsed, site.scope.roots, site);
  if (parsed.segments[0]?.name === "with" && site.scope.names.some(isOther)) {
    return otherPath(text, parsed, site);
  }
  const root = EVENT_ROOTS.find((each) => each === parsed.segments[0]?.name);
  if (root === undefined) {
    addFault(
      site,
      "path_root_unknown",
      `"${excerpt(text)}" reads a part that no event has`,
      parsed.segments[0]?.name === "with"
        ? 'Only the "require" of a guard reads other aggregates, which its "with" names'
        : `An event has $.data, $.metadata, $.key, $.id and $.type. ${LITERAL_HINT}`,
    );
    return undefined;
  }
  return readerOf(parsed.segments.slice(1), EVENT_READERS[root], parsed.optional);
}

/** The name that the state of another aggregate has in a scope: no path with a `$` spells it. */
export function otherName(alias: string): string {
  return `with.${alias}`;
}

function isOther(name: string): boolean {
  return name.startsWith("with.");
}

/** `$.with.<alias>`: the state of another aggregate, in guards. */
function otherPath(text: string, parsed: ParsedPath, site: Site): ValuePath | undefined {
  // Guards bind their aggregates outermost.
  const { names } = site.scope;
  const alias = parsed.segments[1]?.name;
  const slot = alias === undefined ? -1 : names.indexOf(otherName(alias));
  if (slot === -1) {
    const known = names.filter(isOther);
    addFault(
      site,
      "path_root_unknown",
      `"${excerpt(text)}" reads an aggregate that "with" does not name`,
      didYouMean(`with.${alias ?? ""}`, known, `Known here: ${known.map(rootText).join(", ")}.`),
    );
    return undefined;
  }
  return readerOf(parsed.segments.slice(2), ({ bindings }) => bindings[slot], parsed.optional);
}

/** Handles scopes without an event: their roots are the first of the scope's names. */
function rootPath(
  text: string,
  { segments, optional }: ParsedPath,
  roots: readonly string[],
  site: Site,
): ValuePath | undefined {
  const name = segments[0]?.name;
  const slot = name === undefined ? -1 : roots.indexOf(name);
  if (slot === -1) {
    addFault(
      site,
      "path_root_unknown",
      `"${excerpt(text)}" begins with nothing that is known here`,
      roots.length === 0
        ? `Paths here read the state, as in "@.status". ${LITERAL_HINT}`
        : didYouMean(name ?? "", roots, `Paths here begin with ${roots.map(rootText).join(", ")}.`),
    );
    return undefined;
  }
  const miss = explainMiss(site.scope.kinds?.[slot], segments[1]);
  if (miss !== undefined) {
    const hint = 'A list has [0] and [*], as in "$.products[*].name"; an object has .field.';
    addFault(
      site,
      "path_finds_nothing",
      `"${excerpt(text)}" finds nothing: $.${name} ${miss}`,
      hint,
    );
    return undefined;
  }
  return readerOf(segments.slice(1), ({ bindings }) => bindings[slot], optional);
}

/** Explains why this step into a value of this kind can never find anything; else undefined. */
function explainMiss(kind: RootKind | undefined, step: Segment | undefined): string | undefined {
  if (kind === undefined || step === undefined) return undefined;
  if (kind === "text") return "is a text";
  const isOfList = step.every || step.name === undefined;
  if (kind === "object") return isOfList ? "is no list" : undefined;
  return step.every || step.index !== -1 ? undefined : "is a list";
}

function rootText(root: string): string {
  return `$.${root}`;
}

/** One reader for all paths of a root: a spec may have hundreds of thousands of paths. */
const EVENT_READERS: Readonly<Record<typeof EVENT_ROOTS[number], Reader>> = {
  data: ({ event }) => event.data,
  // Stored metadata is plain JSON; only its TypeScript type is narrower.
  metadata: ({ event }) => event.metadata as unknown as JsonObject,
  key: ({ event }) => event.key,
  type: ({ event }) => event.type,
  id: ({ event }) => event.key.slice(event.key.indexOf(":") + 1),
};

function namePath(text: string, name: string, site: Site): ValuePath | undefined {
  const { roots = [] } = site.scope;
  const slot = slotOf(name, site.scope);
  // Roots are written with a dot (`$.order`), so `$order` is not one.
  if (slot === -1 || slot < roots.length) {
    const known = listNames(boundNames(site.scope), "$");
    addFault(
      site,
      "name_unknown",
      `"${excerpt(text)}" is not a path: nothing binds $${excerpt(name)} here`,
      `${known === "" ? "No names are bound here" : `Bound here: ${known}`}. ${LITERAL_HINT}`,
    );
    return undefined;
  }
  const parsed = stepsAt(text, 1 + name.length, site);
  if (parsed === undefined) return undefined;
  return readerOf(parsed.segments, ({ bindings }) => bindings[slot], parsed.optional);
}

/** The names that paths here write with a `$`. */
function* boundNames(scope: Scope): Generator<string> {
  let rootsLeft = scope.roots?.length ?? 0;
  // Bounded: a hint takes the first few.
  for (const name of boundNamesIn(scope)) {
    if (rootsLeft-- > 0 || isOther(name)) continue;
    yield name;
  }
}

function readerOf(
  segments: readonly Segment[],
  rootOf: Reader,
  optional: boolean,
  fromState = false,
): ValuePath {
  const walk = walker(segments);
  const units = STEP_UNITS * segments.length;
  function read(evaluation: Evaluation): JsonValue | undefined {
    spend(evaluation.budget, units);
    return walk(rootOf(evaluation), evaluation);
  }
  return { read, optional, fromState };
}

interface ParsedPath {
  readonly segments: readonly Segment[];
  readonly optional: boolean;
}

function stepsAt(text: string, from: number, site: Site): ParsedPath | undefined {
  const parsed = parseSegments(text.slice(from));
  if (parsed.ok) return parsed;
  addFault(
    site,
    "path_invalid",
    `"${excerpt(text)}" is not a path: ${parsed.message}`,
    `Steps are .field, ["odd key"], [0] and [*]. ${LITERAL_HINT}`,
  );
  return undefined;
}

/** The first characters of a string, for messages. */
export function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

type Walk = (from: JsonValue | undefined, evaluation: Evaluation) => JsonValue | undefined;

/** Compiles the steps after a root. The caller charges the steps; `[*]` charges what it walks. */
export function walker(segments: readonly Segment[]): Walk {
  // Bounded: the segments of one path in a definition.
  const every = segments.findIndex((segment) => segment.every);
  if (every !== -1) return everyWalker(segments, every);
  const [first, second] = segments;
  if (first === undefined) return (from) => from;
  if (second === undefined) return (from) => readStep(from, first);
  if (segments.length === 2) return (from) => readStep(readStep(from, first), second);
  return (from) => {
    let value = from;
    // Bounded: the segments of one path in a definition.
    for (const segment of segments) value = readStep(value, segment);
    return value;
  };
}

/** Takes one step into a value: an own property of an object or an element of an array. */
export function readStep(value: JsonValue | undefined, segment: Segment): JsonValue | undefined {
  if (!isContainer(value)) return undefined;
  if (Array.isArray(value)) return segment.index === -1 ? undefined : value[segment.index];
  if (segment.name === undefined) return undefined;
  return segment.inherited ? ownField(value, segment.name) : value[segment.name];
}

function everyWalker(segments: readonly Segment[], every: number): Walk {
  const before = walker(segments.slice(0, every));
  const rest = segments.slice(every + 1);
  // Bounded: the segments of one path in a definition.
  const nested = rest.some((segment) => segment.every);
  const after = walker(rest);
  const units = SLOT_UNITS + STEP_UNITS * rest.length;
  return (from, evaluation) => {
    const list = before(from, evaluation);
    if (!Array.isArray(list)) return undefined;
    const found: JsonValue[] = [];
    for (const element of list) {
      spend(evaluation.budget, units);
      const value = after(element, evaluation);
      // With another [*] inside, each element returns a list of its own.
      if (!nested) found.push(value ?? null);
      else if (Array.isArray(value)) {
        spend(evaluation.budget, STEP_UNITS * value.length);
        // Bounded: charged on the line above.
        for (const each of value) found.push(each);
      }
    }
    return found;
  };
}
