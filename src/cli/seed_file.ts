/**
 * Reads the events with which a development server begins: lines as imports take them, or a list of
 * JSON. Actor and time may be left out.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../domain/json.ts";
import { reasonOf } from "./terminal/settings.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";

export type ReadSeed =
  | { readonly ok: true; readonly events: readonly JsonObject[] }
  | { readonly ok: false; readonly error: string };

export interface SeedDefaults {
  /** The actor of events without one; undefined if the spec has several types to choose from. */
  readonly actorType: string | undefined;
  readonly nowSeconds: number;
}

export async function readSeedFile(path: string, defaults: SeedDefaults): Promise<ReadSeed> {
  try {
    return parseSeed(path, await Deno.readTextFile(path), defaults);
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound;
    return { ok: false, error: isMissing ? `There is no file ${path}.` : reasonOf(error) };
  }
}

export function parseSeed(path: string, text: string, defaults: SeedDefaults): ReadSeed {
  const values = text.trimStart().startsWith("[") ? parseList(path, text) : parseLines(path, text);
  if (typeof values === "string") return { ok: false, error: values };
  const events: JsonObject[] = [];
  for (const [index, value] of values.entries()) {
    if (!isJsonObject(value)) {
      return { ok: false, error: `${path}: event ${index + 1} is not an object.` };
    }
    const event = complete(value, defaults);
    if (event === undefined) {
      const error = `${path}: event ${index + 1} needs metadata.actor, because the spec has ` +
        "several actor types.";
      return { ok: false, error };
    }
    events.push(event);
  }
  return { ok: true, events };
}

/** The values, or a sentence on why there are none. */
function parseList(path: string, text: string): JsonValue[] | string {
  try {
    return parseJson(text);
  } catch (error) {
    return `${path}: ${reasonOf(error)}`;
  }
}

function parseLines(path: string, text: string): JsonValue[] | string {
  const values: JsonValue[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      values.push(parseJson(line));
    } catch (error) {
      return `${path}:${index + 1}: ${reasonOf(error)}`;
    }
  }
  return values;
}

function complete(
  { metadata, ...event }: JsonObject,
  { actorType, nowSeconds }: SeedDefaults,
): JsonObject | undefined {
  const given = isJsonObject(metadata) ? metadata : {};
  const actor = given.actor ?? (actorType && { type: actorType, id: "global" });
  if (actor === undefined || actor === "") return undefined;
  return { data: {}, ...event, metadata: { timestamp: nowSeconds, ...given, actor } };
}
