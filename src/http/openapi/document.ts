/**
 * The OpenAPI 3.1 document: every route of `paths.ts` with its row in `operations.ts`. With a
 * deployed spec, the paths of aggregates and events are those of its types, and bodies of writes
 * have the schemas of its events.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { embedSchema } from "../../domain/spec/schema/embed.ts";
import type { PathRoutes, Route } from "../route.ts";
import { SCHEMAS, writeMetadata } from "./components.ts";
import { describeRoute, errorSchemaName } from "./describe_route.ts";
import { type ErrorName, ERRORS, HEADERS } from "./errors.ts";
import type { Operation } from "./operation.ts";
import { NEARBY } from "./operations/data.ts";
import { OPERATIONS, TAGS } from "./operations.ts";
import { array, choice, input, ref, type Schema, TEXT } from "./schema.ts";

/** Of the interface, not of the deployed spec. Kept as it is in deno.json by a test. */
export const API_VERSION = "0.1.0";

const DESCRIPTION = "Immutable events in, folded state out, proof included. " +
  "`HEAD` is answered wherever `GET` is. Before an operation is found, a request may be answered " +
  "400 (a path or host that is none), 404 (no such path, no such host) or 405 (with `Allow`); " +
  "`OPTIONS` is answered 204 on any path.";

const SECURITY_SCHEMES: JsonObject = {
  apiKey: { type: "http", scheme: "bearer", description: "An API key, `dbk_0_...`" },
  operatorToken: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
};

/** What of a deployed spec shows in the document. */
export interface DescribedSpec {
  readonly spec: JsonObject;
  readonly spec_hash: string;
  readonly version: number;
}

/** A path that is in the document, with what its row says of each method. */
interface Place {
  readonly pattern: string;
  readonly methods: readonly (readonly [method: string, route: Route, operation: Operation])[];
}

/** The document, as JSON. `deployed`: a spec that has passed its deploy. */
export function openApiDocument(
  paths: readonly PathRoutes[],
  deployed?: DescribedSpec,
): JsonObject {
  const places = paths.map(placeOf);
  const types = Object.entries(deployed?.spec.aggregate_types as JsonObject ?? {});
  const shown = types.length === 0
    ? places
    : places.flatMap((place) => isOfTypes(place) ? concretePlaces(place, types) : [place]);
  return {
    openapi: "3.1.0",
    info: {
      title: "Daybook",
      version: API_VERSION,
      description: DESCRIPTION,
      ...(deployed && { "x-spec-version": deployed.version, "x-spec-hash": deployed.spec_hash }),
    },
    servers: [{ url: "/" }],
    tags: TAGS.map(([name]) => ({ name })),
    paths: Object.fromEntries(shown.map((place) => [place.pattern, pathItem(place)])),
    components: {
      schemas: { ...SCHEMAS, ...errorSchemas(), ...specSchemas(deployed?.spec, types) },
      headers: HEADERS as JsonObject,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** @throws {Error} for a route without a row; a test asks for each. */
function placeOf({ pattern, methods }: PathRoutes): Place {
  return {
    pattern,
    methods: [...methods].map(([method, route]) => {
      const operation = OPERATIONS[`${method} ${pattern}`];
      if (operation === undefined) throw new Error(`${method} ${pattern} has no row`);
      return [method, route, operation];
    }),
  };
}

function pathItem({ pattern, methods }: Place): JsonObject {
  return Object.fromEntries(methods.map(([method, { access }, operation]) => [
    method.toLowerCase(),
    describeRoute(pattern, access, operation, tagOf(operation)),
  ]));
}

function tagOf({ id }: Operation): string {
  const base = id.split(".")[0];
  const found = TAGS.find(([, group]) => Object.values(group).some((row) => row.id === base));
  return found![0];
}

function errorSchemas(): JsonObject {
  const names = Object.keys(ERRORS) as ErrorName[];
  return Object.fromEntries(names.map((name) => [errorSchemaName(name), ERRORS[name].schema]));
}

type NamedType = readonly [name: string, definition: JsonValue];

function isOfTypes({ pattern }: Place): boolean {
  return pattern.startsWith("/{type}");
}

/** The same path for each aggregate type, and where it names an event type, for each of these. */
function concretePlaces(place: Place, types: readonly NamedType[]): Place[] {
  const isNearby = NEARBY.endsWith(` ${place.pattern}`);
  return types.flatMap(([type, definition]) => {
    if (isNearby && !hasPoints(definition)) return [];
    const ofType = place.pattern.replace("{type}", type);
    const events = writableEvents(definition);
    if (!ofType.includes("{event}")) return [concrete(place, ofType, [type], events)];
    return events.map((event) =>
      concrete(place, ofType.replace("{event}", event), [type, event], [event])
    );
  });
}

function concrete(
  { methods }: Place,
  pattern: string,
  names: readonly string[],
  events: readonly string[],
): Place {
  const [type, event] = names;
  return {
    pattern,
    methods: methods.map(([method, route, operation]) => {
      const id = [operation.id, ...names].join(".");
      const body = operation.body && concreteBody(operation.body, type!, event, events);
      return [method, route, { ...operation, id, ...(body && { body }) }];
    }),
  };
}

/** Puts the schemas of the spec's events where the general body takes any data. */
function concreteBody(
  body: Schema,
  type: string,
  event: string | undefined,
  events: readonly string[],
): Schema {
  const { data, events: list } = body.properties as Record<string, Schema>;
  if (event !== undefined && data !== undefined) {
    return withProperty(body, "data", ref(`${type}.${event}`));
  }
  if (list === undefined) return body;
  const forms = events.map((name) =>
    input({ type: { const: name }, "data?": ref(`${type}.${name}`) })
  );
  return withProperty(body, "events", { ...list, ...array({ oneOf: forms }) });
}

function withProperty(schema: Schema, name: string, value: Schema): Schema {
  return { ...schema, properties: { ...schema.properties as Schema, [name]: value } };
}

/** Event types of the platform have no schema and cannot be written. */
function writableEvents(definition: JsonValue): string[] {
  return Object.keys(eventsOf(definition)).filter((name) => !name.startsWith("_"));
}

function eventsOf(definition: JsonValue): JsonObject {
  const events = isJsonObject(definition) ? definition.events : undefined;
  return isJsonObject(events) ? events : {};
}

function hasPoints(definition: JsonValue): boolean {
  return Object.values(eventsOf(definition)).some((event) =>
    isJsonObject(event) && isJsonObject(event.geo) && Object.keys(event.geo).length > 0
  );
}

function specSchemas(spec: JsonObject | undefined, types: readonly NamedType[]): JsonObject {
  if (spec === undefined) return {};
  const schemas: JsonObject = {
    WriteMetadata: writeMetadata(
      choice([...spec.agent_types as string[], "system_agent"]),
      Array.isArray(spec.target_types) ? choice(spec.target_types as string[]) : TEXT,
    ),
  };
  for (const [type, definition] of types) {
    const events = eventsOf(definition);
    for (const event of writableEvents(definition)) {
      const name = `${type}.${event}`;
      const { schema = true } = events[event] as JsonObject;
      schemas[name] = embedSchema(schema, ref(name).$ref as string);
    }
  }
  return schemas;
}
