/**
 * Resolves `$ref` and `$dynamicRef` inside one schema: base URIs, anchors and JSON Pointers.
 *
 * Nothing is ever fetched; a reference that leaves the schema has no target. Schemas are
 * identified by their JSON Pointer from the root rather than by object identity, because one
 * object may be in two places.
 */

import { isJsonObject, type JsonValue } from "../../json.ts";
import { runAtOnce, type Steps } from "../../fairness/pieces.ts";
import { escapePointer, type Subschema, subschemasOf, unescapePointer } from "./vocabulary.ts";
import { TextMap, type Texts, TextSet } from "../../lookup/text_map.ts";

/** Base URI of a schema without `$id`. Never fetched and never shown. */
const ROOT_URI = "event-schema:///";

interface Place {
  readonly schema: JsonValue;
  readonly base: string;
}

export interface References {
  /** True if the names of its places exceed {@link LENGTHS}; then not all places are found. */
  readonly isTooLong: boolean;
  /** Every schema within the root by its pointer, the root itself first. */
  readonly places: ReadonlyMap<string, Place>;
  /** By the pointer of the second schema: an `$id` or anchor that occurs twice. */
  readonly duplicates: ReadonlyMap<string, string>;
  /** The pointer that `reference` means in the schema at `from`; undefined if there is none. */
  resolve(reference: string, from: string): string | undefined;
  /** True when `reference` names another document, rather than a missing place in this one. */
  isRemote(reference: string, from: string): boolean;
  /** Present if a `$dynamicRef` may mean several schemas; which one is known only at run time. */
  dynamicTargets(reference: string, from: string): DynamicTargets | undefined;
  /** The pointers of all schemas that have this dynamic anchor. */
  dynamicPlaces(anchor: string): readonly string[];
  /** Everything that the references of the schema at `pointer` may mean. */
  targetsAt(pointer: string): string[];
}

/** The schemas that have the same `$dynamicAnchor`, each in a resource of its own. */
export interface DynamicTargets {
  readonly anchor: string;
  readonly pointers: readonly string[];
}

/** Maximum length of one URI, and of all pointers together; bounds the cost of looking up names. */
const URI_CHARACTERS_MAX = 2_000;
const POINTER_CHARACTERS_MAX = 2_000_000;
export const LENGTHS = `an $id has at most ${URI_CHARACTERS_MAX} characters when it is resolved, ` +
  `and the JSON Pointers of all schemas ${POINTER_CHARACTERS_MAX} together`;

interface Found {
  pointerCharactersLeft: number;
  isTooLong: boolean;
  readonly places: TextMap<Place>;
  /** Absolute URI without fragment, to the pointer of the resource's root. */
  readonly resources: TextMap<string>;
  /** `<uri>#<anchor>` to pointer. */
  readonly anchors: TextMap<string>;
  /** By dynamic anchor: the pointers of the schemas that have it. */
  readonly dynamicAnchors: TextMap<string[]>;
  readonly duplicates: TextMap<string>;
  /** Resolved references by the base they are read from, so that a long URI is parsed only once. */
  readonly known: TextMap<TextMap<string | undefined>>;
}

/** Walks the schema once. */
export function findReferences(root: JsonValue): References {
  return runAtOnce(findReferencesSteps(root));
}

/**
 * The same in time slices, for schemas that may be large. All references are resolved
 * afterwards. The walk ends once it has found more than `placesMax` places.
 */
export function* findReferencesSteps(
  root: JsonValue,
  placesMax = Infinity,
): Steps<References> {
  const found: Found = {
    pointerCharactersLeft: POINTER_CHARACTERS_MAX,
    isTooLong: false,
    places: new TextMap(),
    resources: new TextMap([[ROOT_URI, ""]]),
    anchors: new TextMap(),
    dynamicAnchors: new TextMap(),
    duplicates: new TextMap(),
    known: new TextMap(),
  };
  yield* findPlaces(root, placesMax, found);
  if (!found.isTooLong && found.places.size <= placesMax) {
    for (const [pointer, { schema }] of found.places) {
      for (const reference of referencesIn(schema)) {
        resolve(reference, pointer, found);
        yield;
      }
    }
  }
  return {
    isTooLong: found.isTooLong,
    places: found.places,
    duplicates: found.duplicates,
    resolve: (reference, from) => resolve(reference, from, found),
    isRemote: (reference, from) => {
      const uri = absoluteUri(reference, found.places.get(from)?.base ?? ROOT_URI);
      return uri !== undefined && !found.resources.has(withoutFragment(uri));
    },
    dynamicTargets: (reference, from) => dynamicTargets(reference, from, found),
    dynamicPlaces: (anchor) => found.dynamicAnchors.get(anchor) ?? [],
    targetsAt: (pointer) => targetsAt(pointer, found),
  };
}

function targetsAt(pointer: string, found: Found): string[] {
  const schema = found.places.get(pointer)?.schema;
  if (schema === undefined || !isJsonObject(schema)) return [];
  const { $ref, $dynamicRef } = schema;
  const targets: string[] = [];
  const add = (target: string | undefined) => void (target !== undefined && targets.push(target));
  if (typeof $ref === "string") add(resolve($ref, pointer, found));
  if (typeof $dynamicRef === "string") {
    const several = dynamicTargets($dynamicRef, pointer, found);
    if (several === undefined) add(resolve($dynamicRef, pointer, found));
    else targets.push(...several.pointers);
  }
  return targets;
}

/**
 * The pointers of all schemas that some reference means. Every `$dynamicRef` to one anchor may
 * mean the same schemas, so they are added once for each anchor.
 */
export function findTargets(references: References): Texts {
  const targets = new TextSet();
  const anchors = new TextSet();
  for (const [pointer, { schema }] of references.places) {
    const several = isJsonObject(schema) && typeof schema.$dynamicRef === "string"
      ? references.dynamicTargets(schema.$dynamicRef, pointer)
      : undefined;
    if (several !== undefined && anchors.has(several.anchor)) {
      const target = referenceTarget(schema, pointer, references);
      if (target !== undefined) targets.add(target);
      continue;
    }
    if (several !== undefined) anchors.add(several.anchor);
    for (const target of references.targetsAt(pointer)) targets.add(target);
  }
  return targets;
}

/** What the `$ref` of a schema means. */
function referenceTarget(
  schema: JsonValue,
  pointer: string,
  references: References,
): string | undefined {
  const $ref = isJsonObject(schema) ? schema.$ref : undefined;
  return typeof $ref === "string" ? references.resolve($ref, pointer) : undefined;
}

/** The `$ref` and `$dynamicRef` of one schema, without those of nested schemas. */
export function referencesIn(schema: JsonValue): string[] {
  if (!isJsonObject(schema)) return [];
  return [schema.$ref, schema.$dynamicRef].filter((reference) => typeof reference === "string");
}

/** A schema to be visited, and the base of the enclosing one. */
interface Visited extends Place {
  readonly pointer: string;
}

/** A schema whose nested schemas are taken one by one: a list may have hundreds of thousands. */
interface OpenSchema {
  readonly pointer: string;
  readonly base: string;
  readonly children: Iterator<Subschema>;
}

/** Each schema comes before those within it, and these come in their order. */
function* findPlaces(root: JsonValue, placesMax: number, found: Found): Steps<void> {
  // Bounded: as deep as the schema.
  const open: OpenSchema[] = [];
  let next: Visited | undefined = { schema: root, pointer: "", base: ROOT_URI };
  for (;;) {
    if (next !== undefined) {
      const opened = visit(next, found);
      if (found.isTooLong || found.places.size > placesMax) return;
      if (opened !== undefined) open.push(opened);
    }
    yield;
    const top = open.at(-1);
    if (top === undefined) return;
    const { value: child } = top.children.next() as IteratorResult<Subschema, undefined>;
    if (child === undefined) open.pop();
    next = child && {
      schema: child.schema,
      pointer: top.pointer + child.pointer,
      base: top.base,
    };
  }
}

/** What it holds is still to be visited; undefined if it can hold nothing. */
function visit(
  { schema, pointer, base: outerBase }: Visited,
  found: Found,
): OpenSchema | undefined {
  found.pointerCharactersLeft -= pointer.length;
  if (found.pointerCharactersLeft < 0) found.isTooLong = true;
  if (found.isTooLong) return undefined;
  if (!isJsonObject(schema)) {
    found.places.set(pointer, { schema, base: outerBase });
    return undefined;
  }
  let base = outerBase;
  if (typeof schema.$id === "string") {
    const uri = absoluteUri(schema.$id, outerBase);
    if (uri !== undefined && uri.length > URI_CHARACTERS_MAX) found.isTooLong = true;
    else if (uri !== undefined) {
      base = withoutFragment(uri);
      claim(found.resources, base, pointer, found);
    }
  }
  found.places.set(pointer, { schema, base });
  const { $anchor, $dynamicAnchor } = schema;
  if (typeof $anchor === "string") claim(found.anchors, `${base}#${$anchor}`, pointer, found);
  if (typeof $dynamicAnchor === "string") {
    claim(found.anchors, `${base}#${$dynamicAnchor}`, pointer, found);
    const pointers = found.dynamicAnchors.get($dynamicAnchor) ?? [];
    found.dynamicAnchors.set($dynamicAnchor, pointers);
    pointers.push(pointer);
  }
  return { pointer, base, children: subschemasOf(schema) };
}

function claim(names: TextMap<string>, name: string, pointer: string, found: Found): void {
  const owner = names.get(name);
  if (owner !== undefined && owner !== pointer) found.duplicates.set(pointer, name);
  else names.set(name, pointer);
}

function resolve(reference: string, from: string, found: Found): string | undefined {
  const base = found.places.get(from)?.base ?? ROOT_URI;
  const known = found.known.get(base) ?? new TextMap<string | undefined>();
  found.known.set(base, known);
  if (!known.has(reference)) known.set(reference, resolveFrom(base, reference, found));
  return known.get(reference);
}

function resolveFrom(base: string, reference: string, found: Found): string | undefined {
  const uri = absoluteUri(reference, base);
  if (uri === undefined) return undefined;
  const resource = found.resources.get(withoutFragment(uri));
  if (resource === undefined) return undefined;
  const fragment = decodeFragment(uri);
  if (fragment === undefined) return undefined;
  if (fragment === "") return resource;
  if (!fragment.startsWith("/")) return found.anchors.get(`${withoutFragment(uri)}#${fragment}`);
  // Escaped like our own pointers, however the reference was escaped.
  const segments = fragment.slice(1).split("/").map((part) => escapePointer(unescapePointer(part)));
  const pointer = resource + "/" + segments.join("/");
  return found.places.has(pointer) ? pointer : undefined;
}

/** If the schema it resolves to has no dynamic anchor of that name, it is an ordinary `$ref`. */
function dynamicTargets(reference: string, from: string, found: Found): DynamicTargets | undefined {
  const first = resolve(reference, from, found);
  const schema = first === undefined ? undefined : found.places.get(first)?.schema;
  if (schema === undefined || !isJsonObject(schema)) return undefined;
  const anchor = schema.$dynamicAnchor;
  if (typeof anchor !== "string" || decodeFragment(reference) !== anchor) return undefined;
  const pointers = found.dynamicAnchors.get(anchor)!;
  return pointers.length > 1 ? { anchor, pointers } : undefined;
}

function absoluteUri(reference: string, base: string): string | undefined {
  return URL.parse(reference, base)?.href;
}

function withoutFragment(uri: string): string {
  const hash = uri.indexOf("#");
  return hash === -1 ? uri : uri.slice(0, hash);
}

function decodeFragment(uri: string): string | undefined {
  const hash = uri.indexOf("#");
  if (hash === -1) return "";
  try {
    return decodeURIComponent(uri.slice(hash + 1));
  } catch {
    return undefined;
  }
}
