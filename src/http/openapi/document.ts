/**
 * Builds the OpenAPI 3.1 document from the rows of the routes of `paths.ts`.
 *
 * With a deployed spec, the paths of aggregates and events are those of its types, and bodies
 * of writes have the schemas of its events.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { runAtOnce, type Steps } from "../../domain/fairness/pieces.ts";
import { embedSchema, type Part } from "../../domain/spec/schema/embed.ts";
import type { PathRoutes, Route } from "../call.ts";
import { SCHEMAS, writeMetadata } from "./components.ts";
import { describeRoute } from "./describe_route.ts";
import { ERROR_SCHEMAS } from "./error_schemas.ts";
import { HEADERS } from "./errors.ts";
import type { Operation } from "./operation.ts";
import { type Tag, TAGS } from "./tags.ts";
import { eventsOf, type ShownTypes, showTypes, stateParts, writableEvents } from "./shown_types.ts";
import { array, choice, FREE_OBJECT, input, ref, type Schema, TEXT } from "./schema.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

/**
 * The version of the API, not of the deployed spec. A test keeps it equal to the one in
 * deno.json.
 */
export const API_VERSION = "0.1.0";

const DESCRIPTION = "Immutable events in, folded state out, proof included. " +
  "`HEAD` is answered wherever `GET` is. Before an operation is found, a request may be answered " +
  "400 (a path or host that is none), 404 (no such path, no such host) or 405 (with `Allow`); " +
  "`OPTIONS` is answered 204 on any path.";

const SECURITY_SCHEMES: JsonObject = {
  apiKey: { type: "http", scheme: "bearer", description: "An API key, `dbk_0_...`" },
  operatorToken: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
};

/** The parts of a deployed spec that the document shows. */
export interface DescribedSpec {
  readonly spec: JsonObject;
  readonly spec_hash: string;
  readonly version: number;
}

/** A path of the document, with the row of each method. */
interface Place {
  readonly pattern: string;
  readonly tag: Tag;
  readonly methods: readonly (readonly [method: string, route: Route, operation: Operation])[];
}

/** How much of a deployed spec the document contains; less if it would exceed its limit. */
type Detail = "all" | "without schemas" | "nothing";

const LEFT_OUT: Readonly<Record<Detail, string>> = {
  "all": "",
  "without schemas": " The schemas of this spec's events are left out, for with them",
  "nothing": " The paths of this spec's types are left out, for with them",
};

const TOO_LARGE = ` this document would pass ${limits.openApiCharactersMax} characters.`;

/** The document as JSON. `deployed`: a spec that has passed its deploy. */
export function openApiDocument(
  paths: readonly PathRoutes[],
  deployed?: DescribedSpec,
): JsonObject {
  return parseJson(runAtOnce(openApiSteps(paths, deployed))) as JsonObject;
}

/** The document as text. It contains each event schema once, however many bodies refer to it. */
export function* openApiSteps(
  paths: readonly PathRoutes[],
  deployed?: DescribedSpec,
): Steps<string> {
  const places = paths.filter(isOfApi).map(placeOf);
  for (const detail of ["all", "without schemas"] as const) {
    const text = yield* writeDocument(places, deployed, detail);
    if (text !== undefined) return text;
  }
  return (yield* writeDocument(places, deployed, "nothing"))!;
}

function isOfApi({ methods }: PathRoutes): boolean {
  return [...methods.values()].every(({ operation }) => operation.isPage !== true);
}

/** Undefined if the text would become too large. */
function* writeDocument(
  places: readonly Place[],
  deployed: DescribedSpec | undefined,
  detail: Detail,
): Steps<string | undefined> {
  const types = detail === "nothing" ? {} : deployed?.spec.aggregate_types as JsonObject ?? {};
  const shown = showTypes(types, idsOf(places), deployed?.spec);
  const paths = writeMembers(shownPlaces(places, shown));
  const pathTexts = yield* withinLimit(paths, limits.openApiCharactersMax);
  if (pathTexts === undefined) return undefined;
  const named = writeMembers(allSchemas(deployed?.spec, shown, detail));
  const schemaTexts = yield* withinLimit(named, limits.openApiCharactersMax - pathTexts.length);
  if (schemaTexts === undefined) return undefined;
  const head = {
    openapi: "3.1.0",
    info: {
      title: "Daybook",
      version: API_VERSION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description: DESCRIPTION + (detail === "all" ? "" : LEFT_OUT[detail] + TOO_LARGE),
      ...(deployed && { "x-spec-version": deployed.version, "x-spec-hash": deployed.spec_hash }),
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  };
  const rest = { headers: HEADERS as JsonObject, securitySchemes: SECURITY_SCHEMES };
  return `${JSON.stringify(head).slice(0, -1)},"paths":{${pathTexts}},` +
    `"components":{"schemas":{${schemaTexts}},${JSON.stringify(rest).slice(1)}}`;
}

function* writeMembers(members: Iterable<Part | void>): Generator<string | void> {
  for (const member of members) {
    yield member && `${JSON.stringify(member[0])}:${JSON.stringify(member[1])}`;
  }
}

/** The joined texts; undefined if they exceed `max`. */
function* withinLimit(texts: Iterable<string | void>, max: number): Steps<string | undefined> {
  const parts: string[] = [];
  let length = 0;
  for (const text of texts) {
    if (text === undefined) {
      yield;
      continue;
    }
    length += text.length + 1;
    if (length > max) return undefined;
    parts.push(text);
    yield;
  }
  return parts.join(",");
}

function* shownPlaces(
  places: readonly Place[],
  shown: ShownTypes,
): Generator<Part> {
  for (const place of places) {
    if (shown.types.length === 0 || !isOfTypes(place)) yield [place.pattern, pathItem(place)];
    else {
      for (const one of concretePlaces(place, shown)) yield [one.pattern, pathItem(one)];
    }
  }
}

function* allSchemas(
  spec: JsonObject | undefined,
  shown: ShownTypes,
  detail: Detail,
): Generator<Part | void> {
  yield* Object.entries({ ...SCHEMAS, ...ERROR_SCHEMAS, ...partySchemas(spec) });
  for (const { type, definition } of shown.types) {
    const events = eventsOf(definition);
    const state = shown.stateName(type);
    if (detail === "all") yield* stateParts(definition, state, shown.naming);
    else yield [state, { type: "object", ...NOT_SHOWN }];
    for (const event of writableEvents(definition)) {
      const name = shown.schemaName(type, event);
      const { schema = true } = events[event] as JsonObject;
      if (detail === "all") yield* embedSchema(schema, name, shown.naming);
      else yield [name, NOT_SHOWN];
    }
  }
}

const NOT_SHOWN: Schema = { description: "Left out: see the description of this document" };

function placeOf({ pattern, tag, methods }: PathRoutes): Place {
  const all = [...methods].map(([method, route]) => [method, route, route.operation] as const);
  return { pattern, tag, methods: all };
}

function idsOf(places: readonly Place[]): string[] {
  return places.flatMap(({ methods }) => methods.map(([, , { id }]) => id));
}

function pathItem({ pattern, tag, methods }: Place): JsonObject {
  return Object.fromEntries(methods.map(([method, { access }, operation]) => [
    method.toLowerCase(),
    describeRoute(pattern, access, operation, tag),
  ]));
}

function isOfTypes({ pattern }: Place): boolean {
  return pattern.startsWith("/{type}");
}

/** In the document only for types with an event that has a point. */
const NEARBY = "/{type}/nearby";

/** The path for each aggregate type and, if it names an event type, for each event type. */
function* concretePlaces(place: Place, shown: ShownTypes): Generator<Place> {
  const isNearby = place.pattern === NEARBY;
  for (const { type, definition } of shown.types) {
    if (isNearby && !hasPoints(definition)) continue;
    const ofType = place.pattern.replace("{type}", type);
    const events = writableEvents(definition);
    if (!ofType.includes("{event}")) yield concrete(place, ofType, [type], events, shown);
    else {
      for (const event of events) {
        const path = ofType.replace("{event}", event);
        yield concrete(place, path, [type, event], [event], shown);
      }
    }
  }
}

function concrete(
  { tag, methods }: Place,
  pattern: string,
  names: readonly string[],
  events: readonly string[],
  shown: ShownTypes,
): Place {
  const [type, event] = names;
  return {
    pattern,
    tag,
    methods: methods.map(([method, route, general]) => {
      const isOfState = event === undefined && pattern.endsWith("/{id}");
      const operation = isOfState ? withState(general, shown.stateName(type!)) : general;
      const id = shown.operationId([operation.id, ...names].join("."));
      const { body, example: _, ...others } = operation;
      if (body === undefined) return [method, route, { ...operation, id }];
      const example = shown.example(type!, event ?? events[0], event === undefined);
      return [method, route, {
        ...others,
        id,
        body: concreteBody(body, type!, event, events, shown),
        ...(example !== undefined && { example }),
      }];
    }),
  };
}

/** Puts the schemas of the spec's events where the general body accepts any data. */
function concreteBody(
  body: Schema,
  type: string,
  event: string | undefined,
  events: readonly string[],
  { schemaName }: ShownTypes,
): Schema {
  const { data, events: list } = body.properties as Record<string, Schema>;
  if (event !== undefined && data !== undefined) {
    return withProperty(body, "data", ref(schemaName(type, event)));
  }
  if (list === undefined) return body;
  const forms = events.map((name) =>
    input({ type: { const: name }, "data?": ref(schemaName(type, name)) })
  );
  return withProperty(body, "events", { ...list, ...array({ oneOf: forms }) });
}

/** Puts the state of the type where the general answer has any object. */
function withState(operation: Operation, name: string): Operation {
  const answer = operation.answers[200];
  if (!isJsonObject(answer)) return operation;
  const { data } = answer.properties as Record<string, Schema>;
  if (data !== FREE_OBJECT) return operation;
  const ofState = withProperty(answer, "data", ref(name));
  return { ...operation, answers: { ...operation.answers, 200: ofState } };
}

function withProperty(schema: Schema, name: string, value: Schema): Schema {
  return { ...schema, properties: { ...schema.properties as Schema, [name]: value } };
}

function hasPoints(definition: JsonValue): boolean {
  return Object.values(eventsOf(definition)).some((event) =>
    isJsonObject(event) && isJsonObject(event.geo) && Object.keys(event.geo).length > 0
  );
}

/** The spec's rules for actors and targets. */
function partySchemas(spec: JsonObject | undefined): JsonObject {
  if (spec === undefined) return {};
  return {
    WriteMetadata: writeMetadata(
      choice([...spec.agent_types as string[], "system_agent"]),
      Array.isArray(spec.target_types) ? choice(spec.target_types as string[]) : TEXT,
    ),
  };
}
