/**
 * Which projections a deploy rebuilds: those that show a type which the new spec folds otherwise,
 * and all of them where it declares other singletons. The server says so only once it has begun.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/domain/json.ts";
import { isSame } from "../../../src/domain/spec/spec_change.ts";
import { ownMember } from "../shell/own_member.ts";

/** A projection as it is deployed. */
export interface DeployedProjection {
  readonly name: string;
  readonly projection: Readonly<Record<string, unknown>>;
}

/**
 * Their names, in the given order. A projection of a type that the new spec does not have is broken
 * and not rebuilt; the server warns of it.
 */
export function rebuiltProjections(
  before: JsonObject,
  after: JsonObject,
  projections: readonly DeployedProjection[],
): readonly string[] {
  const hasOtherSingletons = !isSame(singletonsOf(before), singletonsOf(after));
  return projections.filter(({ projection }) => {
    const folds = typesShown(projection).map((type) => [handlersOf(before, type), type] as const);
    const isBroken = folds.some(([, type]) => handlersOf(after, type) === undefined);
    if (isBroken) return false;
    return hasOtherSingletons || folds.some(([was, type]) => !isSame(was, handlersOf(after, type)));
  }).map(({ name }) => name);
}

/** Of its rows, of its sources, and of what it includes in every row. */
function typesShown({ for_each, sources, include }: Readonly<Record<string, unknown>>): string[] {
  const found = [
    for_each,
    ...Object.values(sources ?? {}).map((source) => ownMember(source, "type")),
    ...Object.values(include ?? {}).map((stream) => String(stream).split(":")[0]),
  ];
  return found.filter((type) => typeof type === "string");
}

/** By event type; undefined if the spec has no such aggregate type. */
function handlersOf(spec: JsonObject, type: string): JsonObject | undefined {
  const events = ["aggregate_types", type, "events"].reduce<unknown>(ownMember, spec);
  if (typeof events !== "object" || events === null || !isJsonObject(events as JsonValue)) {
    return undefined;
  }
  const handlers = Object.entries(events as JsonObject)
    .map(([event, definition]) => [event, ownMember(definition, "handler")] as const)
    .filter(([, handler]) => handler !== undefined);
  return Object.fromEntries(handlers) as JsonObject;
}

function singletonsOf({ singletons }: JsonObject): JsonValue {
  return Array.isArray(singletons) ? [...new Set(singletons)].sort() : [];
}
