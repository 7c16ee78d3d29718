/**
 * Resolves `$ref` and `$dynamicRef` inside one schema: base URIs, anchors and JSON Pointers.
 *
 * Nothing is ever fetched; a reference that leaves the schema has no target. Schemas are
 * identified by their places rather than by object identity, because one object may be in two
 * places. There is one {@link Place} for each JSON Pointer from the root. Code that walks schemas
 * goes from place to place: pointers may be long, and each look-up of a text reads all of it.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { runAtOnce, type Steps } from "../../fairness/pieces.ts";
import { KEYWORDS, type Subschema, subschemasOf, unescapePointer } from "./vocabulary.ts";
import { TextMap } from "../../lookup/text_map.ts";

/** Base URI of a schema without `$id`. Never fetched and never shown. */
const ROOT_URI = "event-schema:///";

/** One schema within the root. */
export interface Place {
  readonly pointer: string;
  /** Its name or index under the keyword that holds it; the keyword itself if that holds one. */
  readonly key: string;
  readonly schema: JsonValue;
  readonly base: string;
  /** By keyword: the places of the schemas that this one holds, in their order. */
  readonly held: ReadonlyMap<string, readonly Place[]>;
}

export interface References {
  /** True if the names of its places exceed {@link LENGTHS}; then not all places are found. */
  readonly isTooLong: boolean;
  /** Every schema within the root by its pointer, the root itself first. */
  readonly places: ReadonlyMap<string, Place>;
  /** By the pointer of the second schema: an `$id` or anchor that occurs twice. */
  readonly duplicates: ReadonlyMap<string, string>;
  /** What the `$ref` and `$dynamicRef` of the schema at `place` mean. */
  targetsOf(place: Place): Targets;
  /** True when `reference` names another document, rather than a missing place in this one. */
  isRemote(reference: string, from: Place): boolean;
}

/** A reference that is missing, or leads to no place, has no target. */
export interface Targets {
  readonly ref?: Place | undefined;
  /** What the `$dynamicRef` means by itself. */
  readonly dynamicRef?: Place | undefined;
  /** Present if the `$dynamicRef` may mean several schemas; which one is known only at run time. */
  readonly several?: DynamicTargets | undefined;
}

/** The schemas that have the same `$dynamicAnchor`, each in a resource of its own. */
export interface DynamicTargets {
  readonly anchor: string;
  readonly places: readonly Place[];
}

/** Maximum length of one URI, and of all pointers together; bounds the cost of looking up names. */
const URI_CHARACTERS_MAX = 2_000;
const POINTER_CHARACTERS_MAX = 2_000_000;
export const LENGTHS = `an $id has at most ${URI_CHARACTERS_MAX} characters when it is resolved, ` +
  `and the JSON Pointers of all schemas ${POINTER_CHARACTERS_MAX} together`;

/** A place while the walk goes on. */
interface OpenPlace extends Place {
  held: Map<string, Place[]>;
}

interface Found {
  pointerCharactersLeft: number;
  isTooLong: boolean;
  readonly places: TextMap<Place>;
  /** Absolute URI without fragment, to the root of the resource. */
  readonly resources: TextMap<Place>;
  /** By `<uri>#<anchor>`. */
  readonly anchors: TextMap<Place>;
  /** By dynamic anchor: the schemas that have it. */
  readonly dynamicAnchors: TextMap<Place[]>;
  readonly duplicates: TextMap<string>;
  /** Resolved references by the base they are read from, so that a long URI is parsed only once. */
  readonly known: TextMap<TextMap<Place | undefined>>;
  readonly targets: Map<Place, Targets>;
  /** By the list of what one keyword holds: the same by their names, for references to them. */
  readonly keys: Map<readonly Place[], TextMap<Place>>;
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
    resources: new TextMap(),
    anchors: new TextMap(),
    dynamicAnchors: new TextMap(),
    duplicates: new TextMap(),
    known: new TextMap(),
    targets: new Map(),
    keys: new Map(),
  };
  yield* findPlaces(root, placesMax, found);
  if (!found.isTooLong && found.places.size <= placesMax) {
    for (const place of found.places.values()) {
      if (targetsOf(place, found) !== NO_TARGETS) yield;
    }
  }
  return {
    isTooLong: found.isTooLong,
    places: found.places,
    duplicates: found.duplicates,
    targetsOf: (place) => targetsOf(place, found),
    isRemote: (reference, from) => {
      const uri = absoluteUri(reference, from.base);
      return uri !== undefined && !found.resources.has(withoutFragment(uri));
    },
  };
}

const NO_TARGETS: Targets = {};

/** The references of each schema are resolved once, however many others lead to it. */
function targetsOf(place: Place, found: Found): Targets {
  const { schema } = place;
  if (!isJsonObject(schema)) return NO_TARGETS;
  const { $ref, $dynamicRef } = schema;
  if (typeof $ref !== "string" && typeof $dynamicRef !== "string") return NO_TARGETS;
  let targets = found.targets.get(place);
  if (targets === undefined) {
    const dynamicRef = resolve($dynamicRef, place, found);
    targets = {
      ref: resolve($ref, place, found),
      dynamicRef,
      several: dynamicTargets($dynamicRef, dynamicRef, found),
    };
    found.targets.set(place, targets);
  }
  return targets;
}

/** Everything that the references of the schema at `place` may mean. */
export function allTargets(place: Place, references: References): readonly Place[] {
  const { ref, dynamicRef, several } = references.targetsOf(place);
  return [...(ref ? [ref] : []), ...(several?.places ?? (dynamicRef ? [dynamicRef] : []))];
}

/**
 * All schemas that some reference means. Every `$dynamicRef` to one anchor may mean the same
 * schemas, so they are added once for each anchor.
 */
export function* findTargets(references: References): Steps<ReadonlySet<Place>> {
  const targets = new Set<Place>();
  const anchors = new Set<readonly Place[]>();
  for (const place of references.places.values()) {
    yield;
    const { ref, dynamicRef, several } = references.targetsOf(place);
    if (ref !== undefined) targets.add(ref);
    if (several === undefined) {
      if (dynamicRef !== undefined) targets.add(dynamicRef);
    } else if (!anchors.has(several.places)) {
      anchors.add(several.places);
      for (const target of several.places) targets.add(target);
    }
  }
  return targets;
}

/** The first of the schemas that `place` holds under `keyword`: the only one of most keywords. */
export function heldAt(place: Place, keyword: string): Place | undefined {
  return place.held.get(keyword)?.[0];
}

/** A schema to be visited, and the base of the enclosing one. */
interface Visited {
  readonly pointer: string;
  readonly key: string;
  readonly schema: JsonValue;
  readonly base: string;
  /** Undefined for the root. */
  readonly holder: { readonly place: OpenPlace; readonly keyword: string } | undefined;
}

/** A schema whose nested schemas are taken one by one: a list may have hundreds of thousands. */
interface OpenSchema {
  readonly place: OpenPlace;
  readonly children: Iterator<Subschema>;
}

/** Each schema comes before those within it, and these come in their order. */
function* findPlaces(root: JsonValue, placesMax: number, found: Found): Steps<void> {
  // Bounded: as deep as the schema.
  const open: OpenSchema[] = [];
  let next: Visited | undefined = {
    pointer: "",
    key: "",
    schema: root,
    base: ROOT_URI,
    holder: undefined,
  };
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
      pointer: top.place.pointer + child.pointer,
      key: child.key,
      schema: child.schema,
      base: top.place.base,
      holder: { place: top.place, keyword: child.keyword },
    };
  }
}

/** What it holds is still to be visited; undefined if it can hold nothing. */
function visit(visited: Visited, found: Found): OpenSchema | undefined {
  const { pointer, key, schema, base: outerBase, holder } = visited;
  found.pointerCharactersLeft -= pointer.length;
  if (found.pointerCharactersLeft < 0) found.isTooLong = true;
  if (found.isTooLong) return undefined;
  const { $id, $anchor, $dynamicAnchor } = isJsonObject(schema) ? schema : {};
  const uri = typeof $id === "string" ? absoluteUri($id, outerBase) : undefined;
  const isLongUri = uri !== undefined && uri.length > URI_CHARACTERS_MAX;
  if (isLongUri) found.isTooLong = true;
  const base = uri === undefined || isLongUri ? outerBase : withoutFragment(uri);
  const place: OpenPlace = { pointer, key, schema, base, held: NOTHING_HELD };
  if (holder === undefined) found.resources.set(ROOT_URI, place);
  else hold(holder.place, holder.keyword, place);
  found.places.set(pointer, place);
  if (!isJsonObject(schema)) return undefined;
  if (uri !== undefined && !isLongUri) claim(found.resources, base, place, found);
  if (typeof $anchor === "string") claim(found.anchors, `${base}#${$anchor}`, place, found);
  if (typeof $dynamicAnchor === "string") {
    claim(found.anchors, `${base}#${$dynamicAnchor}`, place, found);
    const places = found.dynamicAnchors.get($dynamicAnchor) ?? [];
    found.dynamicAnchors.set($dynamicAnchor, places);
    places.push(place);
  }
  return { place, children: subschemasOf(schema) };
}

/** Most schemas hold no others; they share this one. */
const NOTHING_HELD: Map<string, Place[]> = new Map();

function hold(holder: OpenPlace, keyword: string, place: Place): void {
  if (holder.held === NOTHING_HELD) holder.held = new Map();
  const places = holder.held.get(keyword);
  if (places === undefined) holder.held.set(keyword, [place]);
  else places.push(place);
}

function claim(names: TextMap<Place>, name: string, place: Place, found: Found): void {
  const owner = names.get(name);
  if (owner !== undefined && owner !== place) found.duplicates.set(place.pointer, name);
  else names.set(name, place);
}

function resolve(
  reference: JsonValue | undefined,
  { base }: Place,
  found: Found,
): Place | undefined {
  if (typeof reference !== "string") return undefined;
  const known = found.known.get(base) ?? new TextMap<Place | undefined>();
  found.known.set(base, known);
  if (!known.has(reference)) known.set(reference, resolveFrom(base, reference, found));
  return known.get(reference);
}

function resolveFrom(base: string, reference: string, found: Found): Place | undefined {
  const uri = absoluteUri(reference, base);
  if (uri === undefined) return undefined;
  const resource = found.resources.get(withoutFragment(uri));
  if (resource === undefined) return undefined;
  const fragment = decodeFragment(uri);
  if (fragment === undefined) return undefined;
  if (fragment === "") return resource;
  if (!fragment.startsWith("/")) return found.anchors.get(`${withoutFragment(uri)}#${fragment}`);
  return placeWithin(resource, fragment.slice(1).split("/").map(unescapePointer), found);
}

/** The resource's own pointer may be long, so it is not looked up again for each reference. */
function placeWithin(
  resource: Place,
  segments: readonly string[],
  found: Found,
): Place | undefined {
  let place: Place | undefined = resource;
  for (let next = 0; place !== undefined && next < segments.length;) {
    const keyword = segments[next++]!;
    const held: readonly Place[] | undefined = place.held.get(keyword);
    if (held === undefined) return undefined;
    if (KEYWORDS.get(keyword)?.holds === "schema") place = held[0];
    else if (next === segments.length) return undefined;
    else place = byKey(held, found).get(segments[next++]!);
  }
  return place;
}

function byKey(held: readonly Place[], { keys }: Found): TextMap<Place> {
  let known = keys.get(held);
  if (known === undefined) {
    known = new TextMap(held.map((place) => [place.key, place]));
    keys.set(held, known);
  }
  return known;
}

/** An ordinary `$ref` if `first`, to which it resolves, has no dynamic anchor of that name. */
function dynamicTargets(
  reference: JsonValue | undefined,
  first: Place | undefined,
  found: Found,
): DynamicTargets | undefined {
  if (typeof reference !== "string" || !isJsonObject(first?.schema ?? null)) return undefined;
  const { $dynamicAnchor: anchor } = first!.schema as JsonObject;
  if (typeof anchor !== "string" || decodeFragment(reference) !== anchor) return undefined;
  const places = found.dynamicAnchors.get(anchor)!;
  return places.length > 1 ? { anchor, places } : undefined;
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
