/**
 * Computes the rows of projections from scratch, from all events and a definition. It shares
 * nothing with the product but JSON, and knows only what the definitions of the tests use.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";

/** What the oracle needs of an event. */
export interface OracleEvent {
  readonly type: string;
  readonly data: JsonObject;
}

export interface OracleStream {
  readonly events: readonly OracleEvent[];
  /** Unix seconds of the last event. */
  readonly updatedAt: number;
}

export interface OracleRow {
  readonly key: string;
  readonly data: JsonObject;
  readonly position: number;
  readonly updatedAt: number;
}

type Sight = Record<string, JsonValue>;

/** Identifiers, including the singletons that the tests use. */
const ID = /^([0-9a-f-]{36}(:[a-z0-9]{1,10})?|[0-9A-Z]{9}|global|main|[abc]|poisoned)$/;

/** `foldOf` returns the state of an aggregate of this type after these events; null for none. */
export function projectionFromScratch(
  definition: JsonObject,
  streams: ReadonlyMap<string, OracleStream>,
  foldOf: (type: string, events: readonly OracleEvent[]) => JsonValue,
): OracleRow[] {
  const rows: OracleRow[] = [];
  for (const [key, { events }] of streams) {
    const type = key.slice(0, key.indexOf(":"));
    const id = key.slice(key.indexOf(":") + 1);
    if (type !== definition.for_each || events.length === 0) continue;
    if (id.includes(":") && definition.include_substreams !== true) continue;
    const seen = new Set([key]);
    const sight: Sight = { key: id, id };
    const stateOf = (stream: string) => {
      seen.add(stream);
      const found = streams.get(stream)?.events ?? [];
      return foldOf(stream.slice(0, stream.indexOf(":")), found);
    };
    for (const [alias, stream] of Object.entries(definition.include ?? {})) {
      sight[alias] = stateOf(String(stream));
    }
    bindSources(definition.sources as JsonObject, key, sight, stateOf);
    const times = [...seen].map((stream) => streams.get(stream)?.updatedAt ?? 0);
    const data = Object.fromEntries(
      Object.entries(definition.select as JsonObject).map(([name, column]) => [
        name,
        evaluate(column, sight) ?? null,
      ]),
    );
    rows.push({ key: id, data, position: events.length, updatedAt: Math.max(...times) });
  }
  return rows.sort((a, b) => a.key < b.key ? -1 : 1);
}

function bindSources(
  sources: JsonObject,
  own: string,
  sight: Sight,
  stateOf: (stream: string) => JsonValue,
): void {
  const left = new Map(Object.entries(sources));
  while (left.size > 0) {
    for (const [alias, source] of left) {
      if (source === "$key") sight[alias] = stateOf(own);
      else {
        const { type, id, mode } = source as Record<string, string>;
        const root = id!.split(".")[1]!;
        if (!(root in sight)) continue;
        const found = evaluate(id!, sight);
        const one = (each: JsonValue | undefined) =>
          typeof each === "string" && ID.test(each) ? stateOf(`${type}:${each}`) : null;
        if (mode === "array") sight[alias] = Array.isArray(found) ? found.map(one) : [];
        else sight[alias] = one(found);
      }
      left.delete(alias);
    }
  }
}

function evaluate(expression: JsonValue, sight: Sight): JsonValue | undefined {
  if (typeof expression === "string") {
    // In the select of a lookup, `$` is the element.
    if ("$" in sight && /^\$($|\.)/.test(expression)) {
      return follow(sight.$, expression.replaceAll("[*]", ".*").split(".").slice(1));
    }
    return expression.startsWith("$") ? readPath(expression, sight) : expression;
  }
  if (Array.isArray(expression) || expression === null || typeof expression !== "object") {
    return expression;
  }
  const { $map, $lookup, $count, $sum, path } = expression;
  if ($count !== undefined) {
    const list = evaluate($count, sight);
    return Array.isArray(list) ? list.length : 0;
  }
  if ($sum !== undefined) {
    const list = evaluate($sum, sight);
    const numbers = (Array.isArray(list) ? list : [list]).filter((each) =>
      typeof each === "number"
    );
    return (numbers as number[]).reduce((sum, each) => sum + each, 0);
  }
  if ($map !== undefined) {
    const list = evaluate($map, sight);
    if (!Array.isArray(list)) return null;
    const name = String(expression.as ?? "item").replace("$", "");
    return list.map((each) => evaluate(expression.to!, { ...sight, [`$${name}`]: each }) ?? null);
  }
  if ($lookup !== undefined) {
    const list = evaluate($lookup, sight);
    if (!Array.isArray(list)) return null;
    const wanted = Object.entries(expression.where as JsonObject);
    const found = list.find((each) =>
      typeof each === "object" && each !== null && !Array.isArray(each) &&
      wanted.every(([field, value]) =>
        JSON.stringify(each[field] ?? null) === JSON.stringify(evaluate(value, sight) ?? null)
      )
    );
    if (found === undefined) return null;
    return evaluate(expression.select ?? "$item", { ...sight, $item: found, $: found }) ?? null;
  }
  if (path !== undefined) return typed(String(expression.type), evaluate(path, sight));
  return Object.fromEntries(
    Object.entries(expression).map(([name, each]) => [name, evaluate(each, sight) ?? null]),
  );
}

function typed(type: string, value: JsonValue | undefined): JsonValue {
  if (type === "integer") return Number.isSafeInteger(value) ? value! : null;
  if (type === "json") return value ?? null;
  const kind: string = typeof value;
  return kind === type ? value! : null;
}

/** Reads `$.alias.field[*].field` or `$name.field`. */
function readPath(path: string, sight: Sight): JsonValue | undefined {
  const parts = path.replaceAll("[*]", ".*").split(".");
  const root = parts[0] === "$" ? parts[1]! : parts[0]!;
  return follow(sight[root], parts.slice(parts[0] === "$" ? 2 : 1));
}

function follow(value: JsonValue | undefined, steps: readonly string[]): JsonValue | undefined {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (step === "*") {
    return Array.isArray(value) ? value.map((each) => follow(each, rest) ?? null) : undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return follow(Object.hasOwn(value, step) ? value[step] : undefined, rest);
}
