/**
 * What may be typed at a place of a spec: keys by its structure, names that it declares, and paths
 * by the schema of the event.
 */

import { getLocation, getNodeValue, parseTree } from "jsonc-parser";
import { isJsonObject, type JsonValue } from "../../../src/domain/json.ts";
import { ownMember } from "../shell/own_member.ts";
import { type EventPath, eventPaths } from "./data_paths.ts";
import { MEANINGS, partAt, type Steps } from "./spec_structure.ts";

export interface Completion {
  /** As it is inserted: with its quotes. */
  readonly text: string;
  readonly label: string;
  readonly detail?: string;
  readonly isKey: boolean;
}

export interface Completions {
  /** What is typed so far, which a completion replaces. */
  readonly from: number;
  readonly to: number;
  readonly found: readonly Completion[];
}

/** Longer texts are completed only when asked: each time, the text is read from its beginning. */
export const EAGER_CHARACTERS_MAX = 200_000;

const SCHEMA_TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];

export function completionsAt(text: string, offset: number): Completions | undefined {
  const { path, isAtPropertyKey, previousNode } = getLocation(text, offset);
  const isInside = previousNode !== undefined && previousNode.offset <= offset &&
    offset <= previousNode.offset + previousNode.length;
  const [from, to] = isInside
    ? [previousNode.offset, endOf(text, previousNode, offset)]
    : [offset, offset];
  if (isAtPropertyKey) {
    const keys = partAt(path.slice(0, -1))?.keys ?? [];
    const hasColon = /^\s*:/.test(text.slice(to, to + 20));
    const found = keys.map((key): Completion => ({
      text: hasColon ? JSON.stringify(key) : `${JSON.stringify(key)}: `,
      label: key,
      ...(Object.hasOwn(MEANINGS, key) && { detail: MEANINGS[key] }),
      isKey: true,
    }));
    return { from, to, found };
  }
  const paths = pathsAt(text, path).map(({ path, detail }): Completion => ({
    text: JSON.stringify(path),
    label: path,
    detail,
    isKey: false,
  }));
  const found = valuesAt(text, path).map((value): Completion => ({
    text: JSON.stringify(value),
    label: String(value),
    isKey: false,
  }));
  return { from, to, found: [...found, ...paths] };
}

/** A text whose closing quote is still missing seems to reach to the end of its line. */
function endOf(text: string, { offset, length }: { offset: number; length: number }, at: number) {
  const whole = text.slice(offset, offset + length);
  const isClosed = length > 1 && whole.startsWith('"') && whole.endsWith('"');
  return isClosed ? offset + length : at;
}

function valuesAt(text: string, path: Steps): readonly (string | boolean)[] {
  const names = path.filter((step) => typeof step === "string");
  const key = names.at(-1);
  if (key === "aggregate_type") return Object.keys(typesIn(text));
  if (key === "event_type" || key === "event_types" || key === "failure_types") {
    const events = Object.values(typesIn(text)).flatMap((type) =>
      isJsonObject(type) && isJsonObject(type.events) ? Object.keys(type.events) : []
    );
    return [...new Set(events)];
  }
  if (key === "allow_skip_occ" || key === "enabled") return [true, false];
  const isInSchema = partAt(names.slice(0, -1))?.keys?.includes("additionalProperties");
  if (isInSchema && key === "type") return SCHEMA_TYPES;
  if (isInSchema && key === "additionalProperties") return [true, false];
  return [];
}

/** Their values are no paths of the event. */
const WITHOUT_PATHS = new Set([
  "aggregate_type",
  "event_type",
  "message",
  "target",
  "as",
  "wasm",
]);

/** What handlers and implications read of their event: by its schema, where the place is in one. */
function pathsAt(text: string, path: Steps): readonly EventPath[] {
  const [root, type, events, event, part] = path;
  const isInside = root === "aggregate_types" && events === "events" && path.length > 5 &&
    (part === "handler" || part === "implications" || part === "guards");
  const key = path.findLast((step) => typeof step === "string");
  if (!isInside || WITHOUT_PATHS.has(String(key))) return [];
  const definition = [type, "events", event].reduce<unknown>(
    (value, name) => ownMember(value, name!),
    typesIn(text),
  );
  return eventPaths(ownMember(definition, "schema") as JsonValue | undefined);
}

/** The aggregate types of a text that need not be complete. */
function typesIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const tree = parseTree(text);
    const spec: unknown = tree === undefined ? undefined : getNodeValue(tree);
    return isJsonObject(spec) && isJsonObject(spec.aggregate_types) ? spec.aggregate_types : {};
  } catch {
    return {};
  }
}
