/**
 * Finds where a request goes: the parts of its address, the environment and perhaps the instance
 * that it is for, and the route of its path.
 *
 * A known path answers 405 with `Allow` to any other method; an unknown path is 404. See
 * docs/reference/basics.md.
 */

import type { Call, EnvironmentSource, PathRoutes, Place, Route } from "./call.ts";
import { PATHS } from "./paths.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import { explainSlug } from "../domain/access/slug.ts";
import type { Environment } from "../domain/tenant.ts";
import { TextMap, type Texts, TextSet } from "../domain/lookup/text_map.ts";

export interface Address {
  /** Host name in lowercase, without port and final dot. */
  readonly host: string;
  /** Decoded path segments; undefined if the percent-encoding is broken. */
  readonly segments: readonly string[] | undefined;
  /** The text after `?`, as sent. */
  readonly query: string;
}

/** Parses an absolute `url`, as `Request.url` returns it. */
export function parseAddress(url: string): Address {
  const hostStart = url.indexOf("://") + 3;
  const hash = url.indexOf("#", hostStart);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf("?", hostStart);
  const pathEnd = mark < 0 || mark > end ? end : mark;
  const slash = url.indexOf("/", hostStart);
  const pathStart = slash < 0 || slash > pathEnd ? pathEnd : slash;
  const path = url.slice(pathStart + 1, pathEnd);
  const authority = url.slice(hostStart, pathStart);
  return {
    host: authority === lastAuthority ? lastHost : hostName(authority),
    segments: path.includes("%") ? decodeSegments(path) : path.split("/"),
    query: pathEnd === end ? "" : url.slice(pathEnd + 1, end),
  };
}

/** Nearly all requests of a process name the same host, so the last one is cached. */
let lastAuthority = "";
let lastHost = "";

function hostName(authority: string): string {
  lastHost = authority.toLowerCase().replace(/:[0-9]*$/, "").replace(/\.$/, "");
  lastAuthority = authority;
  return lastHost;
}

function decodeSegments(path: string): readonly string[] | undefined {
  try {
    return path.split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

const ENDINGS: readonly (readonly [ending: string, environment: Environment])[] = [
  ["-staging", "staging"],
  ["-test", "test"],
];
const OPERATOR_LABEL = "api";
/** The longest DNS host name; more of a longer one is not echoed. */
const HOST_CHARACTERS_SHOWN = 253;

/** Returns the place that a host name stands for; 404 if it is unknown. */
export function createPlaces(source: EnvironmentSource): (host: string) => Outcome<Place> {
  if (source.kind === "listener") {
    const place = accept({ environment: source.environment, servesData: true });
    return () => place;
  }
  const base = source.baseDomain.toLowerCase();
  return (host) => {
    const label = host.endsWith(`.${base}`) ? host.slice(0, -base.length - 1) : "";
    // Operator calls name their environment; if one does not, no real data is touched.
    if (label === OPERATOR_LABEL) return accept({ environment: "test", servesData: false });
    const ending = ENDINGS.find(([text]) => label.endsWith(text));
    const slug = ending === undefined ? label : label.slice(0, -ending[0].length);
    if (explainSlug(slug) !== undefined) return unknownHost(host, base);
    return accept({ environment: ending?.[1] ?? "production", slug, servesData: true });
  };
}

function unknownHost(host: string, base: string) {
  const message = `Unknown host '${host.slice(0, HOST_CHARACTERS_SHOWN)}'. Use <slug>.${base}, ` +
    `<slug>-staging.${base} or <slug>-test.${base} for data, ${OPERATOR_LABEL}.${base} for ` +
    "operator calls";
  return refuse({ kind: "not_found", message });
}

export interface FoundPath {
  readonly path: PathRoutes;
  readonly params: readonly string[];
}

/** Finds the first path, in the given order, that matches the decoded segments. */
export type Router = (segments: readonly string[]) => FoundPath | undefined;

/** First segments that are never an aggregate type. See docs/reference/identifiers.md. */
const RESERVED_TYPES: Texts = new TextSet(["api", "health", "metrics"]);

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
  const byFirst = new TextMap<Matchers>();
  for (const { parts: [first] } of matchers) {
    if (first !== undefined) byFirst.set(first, byLength(matchers.filter(fits(first))));
  }
  const others = byLength(matchers.filter(({ parts }) => parts[0] === undefined));
  return (segments) => {
    const [first = ""] = segments;
    const matchers = byFirst.get(first) ?? (mayBeType(first) ? others : NO_MATCHERS);
    for (const { path, parts, places } of matchers.get(segments.length) ?? []) {
      if (!fitsAll(parts, segments)) continue;
      const params: string[] = [];
      for (const place of places) params.push(segments[place]!);
      return { path, params };
    }
    return undefined;
  };
}

/** Whether a path with this first segment may match. */
function fits(first: string): (matcher: Matcher) => boolean {
  return ({ parts }) => parts[0] === first || (parts[0] === undefined && mayBeType(first));
}

type Matchers = ReadonlyMap<number, readonly Matcher[]>;

const NO_MATCHERS: Matchers = new Map();

function byLength(matchers: readonly Matcher[]): Matchers {
  return Map.groupBy(matchers, ({ parts }) => parts.length);
}

/** Whether the segments match the pattern, given that it has as many and the first one fits. */
function fitsAll(
  parts: readonly (string | undefined)[],
  segments: readonly string[],
): boolean {
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    const segment = segments[index]!;
    if (part === undefined ? segment === "" : part !== segment) return false;
  }
  return true;
}

/** Only an aggregate type may be a first parameter; other areas begin with `_` or are reserved. */
function mayBeType(segment: string): boolean {
  return !segment.startsWith("_") && !RESERVED_TYPES.has(segment);
}

/** Finds the path of the API that decoded segments match. */
export const findPath: Router = createRouter(PATHS);

/** Routes about the process itself; they are answered under any load. */
export function isOfProcess({ access }: Route): boolean {
  return access === "health" || access === "metrics";
}

export type FoundRoute = Pick<Call, "params" | "query" | "place" | "route"> & {
  readonly handler: Route;
};

/**
 * Checks path, method and host: 400 for a broken path, 404 for an unknown one, 405 for a wrong
 * method.
 */
export function findRoute(
  request: Request,
  { host, segments, query }: Address,
  found: FoundPath | undefined,
  findPlace: (host: string) => Outcome<Place>,
): Outcome<FoundRoute> {
  if (segments === undefined) {
    return refuse({ kind: "bad_request", message: "Malformed percent-encoding in the path" });
  }
  if (found === undefined) return noSuchPath(segments);
  const { path, params } = found;
  const method = request.method === "HEAD" ? "GET" : request.method;
  const handler = path.methods.get(method);
  if (handler === undefined) return refuse({ kind: "method_not_allowed", allow: path.allow });
  const route = `${method} ${path.pattern}`;
  const place = findPlace(host);
  if (isOfProcess(handler)) {
    const anywhere: Place = { environment: "test", servesData: false };
    return accept({ params, query, route, handler, place: place.ok ? place.value : anywhere });
  }
  if (!place.ok) return place;
  const isData = handler.access === "read" || handler.access === "write";
  if (isData && !place.value.servesData) {
    const message = "This host answers operator calls only; data is under the instance's own host";
    return refuse({ kind: "not_found", message });
  }
  return accept({ params, query, route, handler, place: place.value });
}

function noSuchPath(segments: readonly string[]) {
  const isSlashAway = segments.at(-1) === "" && findPath(segments.slice(0, -1)) !== undefined;
  const hint = isSlashAway ? "The path exists without the slash at its end" : undefined;
  return refuse({ kind: "not_found", message: "No such path", hint });
}
