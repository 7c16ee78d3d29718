/**
 * Compiles `sources` and `include`: the alias under which a row reads each state.
 *
 * The id of a source may be in the state of another source. Sources are therefore arranged in
 * steps, each after the ones it needs.
 */

import { compileDefinition } from "../handler/compile_handler.ts";
import type { RootKind, Scope } from "../handler/evaluation.ts";
import { looksLikePath } from "../handler/path.ts";
import { parseSegments } from "../handler/segments.ts";
import { templateAt } from "../handler/template.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { didYouMean, listNames } from "../nearest_name.ts";
import { type FaultList, joinKey, shorten } from "../spec/fault_list.ts";
import { checkKnownKeys, requireObject } from "../spec/shape.ts";
import { type StreamKey, streamKey } from "../identifier.ts";
import type { CompiledSource, KnownNames, ProjectionOrigin } from "./definition.ts";
import { type Texts, TextSet } from "../lookup/text_map.ts";

export interface CompiledSources {
  /** The roots that paths begin with; the index of a root is its slot. */
  readonly scope: Scope;
  readonly steps: readonly (readonly CompiledSource[])[];
  readonly includes: Texts<StreamKey>;
  readonly types: ReadonlySet<string>;
}

/** The key of the row: `$.key` and `$.id` are the same here. */
const KEY_ROOTS = ["key", "id"];
const ALIAS = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const SOURCES_HINT = 'For example {"order": "$key", "customer": {"type": "customer", ' +
  '"id": "$.order.customer_id"}}.';
const INCLUDE_HINT = 'For example {"settings": "settings:global"}.';

/** A source and the root that its id begins with; undefined if it needs no other source. */
interface Needing {
  readonly alias: string;
  readonly source: CompiledSource;
  readonly needs: string | undefined;
}

export function compileSources(
  document: JsonObject,
  spec: KnownNames,
  origin: ProjectionOrigin,
  faults: FaultList,
): CompiledSources {
  const sources = requireObject(document.sources, "sources", SOURCES_HINT, faults) ?? {};
  const include = document.include === undefined
    ? {}
    : requireObject(document.include, "include", INCLUDE_HINT, faults) ?? {};
  const aliases = [...Object.keys(include), ...Object.keys(sources)];
  if (aliases.length > limits.projectionSourcesMax) {
    const message = `A projection has at most ${limits.projectionSourcesMax} sources; this one ` +
      `has ${aliases.length}.`;
    faults.add("too_many", "sources", message, "Split it into several.");
    const scope = { state: false, names: KEY_ROOTS, roots: KEY_ROOTS };
    return { scope, steps: [], includes: new TextSet(), types: new Set() };
  }
  const roots = [...KEY_ROOTS, ...aliases];
  const kinds = origin === "store" ? undefined : kindsOf(include, sources);
  const scope: Scope = { state: false, names: roots, roots, ...(kinds && { kinds }) };
  checkAliases(include, sources, faults);
  const includes = Object.entries(include).flatMap(([alias, value]) =>
    compileInclude(value, {
      path: joinKey("include", alias),
      slot: roots.indexOf(alias),
      spec,
      faults,
    }) ?? []
  );
  const found = Object.entries(sources).flatMap(([alias, value]) => {
    const place = { alias, path: joinKey("sources", alias), slot: roots.lastIndexOf(alias) };
    return compileSource(value, place, { scope, spec, faults }) ?? [];
  });
  const types = found.flatMap(({ source }) => "type" in source ? [source.type] : []);
  return {
    scope,
    steps: inSteps(includes, found, Object.keys(include), faults),
    includes: new TextSet(includes.map(({ stream }) => stream)),
    types: new Set([...types, ...includes.map(({ stream }) => stream.split(":")[0]!)]),
  };
}

/** The kinds of the roots, in their order; the first roots are `KEY_ROOTS`. */
function kindsOf(include: JsonObject, sources: JsonObject): RootKind[] {
  const kindOf = (source: JsonValue) =>
    isJsonObject(source) && source.mode === "array" ? "list" : "object";
  const kinds: RootKind[] = ["text", "text"];
  // Bounded: `limits.projectionSourcesMax` aliases, as both loops.
  for (const _ of Object.keys(include)) kinds.push("object");
  // Bounded: as above.
  for (const source of Object.values(sources)) kinds.push(kindOf(source));
  return kinds;
}

function checkAliases(include: JsonObject, sources: JsonObject, faults: FaultList): void {
  for (const [part, object] of [["include", include], ["sources", sources]] as const) {
    for (const alias of Object.keys(object)) {
      const path = joinKey(part, alias);
      if (!ALIAS.test(alias)) {
        const message = `"${shorten(alias)}" is not a valid alias.`;
        const hint = "Use 1 to 64 letters, digits and underscores, not starting with a digit.";
        faults.add("invalid_name", path, message, hint);
      } else if (KEY_ROOTS.includes(alias)) {
        const message = `"$.${alias}" is the key of the row.`;
        faults.add("reserved_name", path, message, "Choose another alias.");
      } else if (part === "sources" && Object.hasOwn(include, alias)) {
        const message = `"${alias}" is an alias of include, too.`;
        faults.add("duplicate", path, message, "Choose another alias.");
      }
    }
  }
}

interface IncludeSite {
  readonly path: string;
  readonly slot: number;
  readonly spec: KnownNames;
  readonly faults: FaultList;
}

function compileInclude(
  value: JsonValue,
  { path, slot, spec, faults }: IncludeSite,
): (CompiledSource & { readonly kind: "include" }) | undefined {
  const [type = "", id = "", ...rest] = typeof value === "string" ? value.split(":") : [];
  if (typeof value !== "string" || id === "" || rest.length > 0) {
    const message = 'An include is "<aggregate type>:<singleton>".';
    faults.add("wrong_type", path, message, INCLUDE_HINT);
    return undefined;
  }
  if (!spec.aggregateTypes.has(type)) addUnknownType(type, path, spec, faults);
  if (!spec.singletons.has(id)) {
    const message = `"${shorten(id)}" is not a declared singleton.`;
    const hint = 'Declare it under "singletons" of the spec, or write "global".';
    faults.add("singleton_unknown", path, message, hint);
  }
  return { kind: "include", slot, stream: streamKey(type, id) };
}

interface SourcePlace {
  readonly alias: string;
  readonly path: string;
  readonly slot: number;
}

interface SourceSite {
  readonly scope: Scope;
  readonly spec: KnownNames;
  readonly faults: FaultList;
}

function compileSource(
  value: JsonValue,
  { alias, path, slot }: SourcePlace,
  { scope, spec, faults }: SourceSite,
): Needing | undefined {
  if (value === "$key") return { alias, source: { kind: "key", slot }, needs: undefined };
  if (!isJsonObject(value)) {
    const message = 'A source is "$key" or {"type", "id", "mode"}.';
    faults.add("wrong_type", path, message, SOURCES_HINT);
    return undefined;
  }
  checkKnownKeys(value, ["type", "id", "mode"], path, faults);
  const { type, id, mode = "one" } = value;
  if (typeof type !== "string") {
    faults.add("missing_key", `${path}.type`, "A source needs an aggregate type.", SOURCES_HINT);
  } else if (!spec.aggregateTypes.has(type)) addUnknownType(type, `${path}.type`, spec, faults);
  if (mode !== "one" && mode !== "array") {
    const hint = 'With "array" the id is a list of ids, and so is what is found.';
    faults.add("wrong_type", `${path}.mode`, 'mode is "one" or "array".', hint);
  }
  if (typeof id !== "string" || !looksLikePath(id)) {
    const message = "The id of a source is a path.";
    const hint = 'For example "$.order.customer_id"; one fixed aggregate goes into "include".';
    faults.add(id === undefined ? "missing_key" : "wrong_type", `${path}.id`, message, hint);
    return undefined;
  }
  const compiled = compileDefinition(id, `${path}.id`, scope, templateAt);
  if (!compiled.ok) {
    faults.addAll(compiled.violations);
    return undefined;
  }
  const kind = mode === "array" ? "array" : "one";
  const readIds = compiled.value.view;
  return { alias, source: { kind, slot, type: String(type), readIds }, needs: rootOf(id) };
}

/** The alias that a path such as `$.order.customer_id` begins with; the path has been compiled. */
function rootOf(path: string): string | undefined {
  const parsed = parseSegments(path.slice(1));
  const root = parsed.ok ? parsed.segments[0]?.name : undefined;
  return root !== undefined && KEY_ROOTS.includes(root) ? undefined : root;
}

function inSteps(
  includes: readonly CompiledSource[],
  found: readonly Needing[],
  known: readonly string[],
  faults: FaultList,
): CompiledSource[][] {
  const done = new Set(known);
  let left = found.filter(({ needs }) => needs !== undefined);
  const first = found.filter(({ needs }) => needs === undefined);
  for (const { alias } of first) done.add(alias);
  const steps = [[...includes, ...first.map(({ source }) => source)]];
  while (left.length > 0) {
    const next = left.filter(({ needs }) => done.has(needs!));
    if (next.length === 0) {
      reportCircle(left, faults);
      break;
    }
    for (const { alias } of next) done.add(alias);
    steps.push(next.map(({ source }) => source));
    left = left.filter((each) => !next.includes(each));
  }
  return steps;
}

function reportCircle(left: readonly Needing[], faults: FaultList): void {
  // If a source failed to compile, do not also report the sources that need it.
  if (faults.faults.length > 0) return;
  for (const { alias, needs } of left) {
    const path = `${joinKey("sources", alias)}.id`;
    const message = `"${alias}" needs "${needs}", which needs "${alias}" in turn.`;
    faults.add("source_circle", path, message, 'Begin with a source that is "$key".');
  }
}

/** A deploy that names an aggregate type absent from the spec is refused. */
export function addUnknownType(
  type: string,
  path: string,
  spec: KnownNames,
  faults: FaultList,
): void {
  const message = `Aggregate type '${shorten(type)}' not found in spec.`;
  const hint = didYouMean(type, spec.aggregateTypes.keys(), describeTypes(spec));
  faults.add("aggregate_type_unknown", path, message, hint);
}

export function describeTypes({ aggregateTypes }: KnownNames): string {
  if (aggregateTypes.size === 0) return "No spec is deployed yet: deploy one first.";
  return `The spec has ${shorten(listNames(aggregateTypes.keys()))}.`;
}
