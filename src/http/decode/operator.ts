/**
 * Decodes bodies and queries of operator calls: known fields with their types, and the
 * environment.
 */

import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { didYouMean } from "../../domain/nearest_name.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type Environment, parseEnvironment } from "../../domain/tenant.ts";
import { type JsonSender, readJsonBody } from "./body.ts";
import { findUnknownKey } from "./write.ts";

type FieldType = "string" | "boolean" | "number" | "any";

/** Name to type; a name ending in `?` may be absent. */
export type FieldTable = Readonly<Record<string, FieldType>>;

type FieldValue<F> = F extends "string" ? string
  : F extends "boolean" ? boolean
  : F extends "number" ? number
  : JsonValue;

/** A body that has passed {@link checkFields} with the table `T`. */
export type Fields<T extends FieldTable> =
  & { readonly [K in keyof T as K extends `${string}?` ? never : K]: FieldValue<T[K]> }
  & { readonly [K in keyof T as K extends `${infer N}?` ? N : never]?: FieldValue<T[K]> };

/** Reads the body as an object with exactly the fields of `table`. */
export async function readFields<const T extends FieldTable>(
  sender: JsonSender,
  table: T,
  bytesMax: number = limits.operatorBodyBytesMax,
  hint?: string,
): Promise<Outcome<Fields<T>>> {
  const body = await readJsonBody(sender, bytesMax);
  return body.ok ? checkFields(body.value, table, hint) : body;
}

/**
 * Accepts `body` if it has only the fields of `table`; otherwise 400 with the path. `hint`
 * describes the body if one of its fields is unknown.
 */
export function checkFields<const T extends FieldTable>(
  body: JsonObject,
  table: T,
  hint?: string,
): Outcome<Fields<T>> {
  const names = Object.keys(table);
  const known = names.map(bareName);
  const unknown = findUnknownKey(body, new Set(known));
  if (unknown !== undefined) {
    const fields = known.length === 0 ? "The body has no fields" : `It has ${known.join(", ")}`;
    const advice = didYouMean(unknown, known, hint ?? fields);
    return badField(unknown, `Unknown field: ${unknown}`, advice);
  }
  for (const name of names) {
    const field = bareName(name);
    const value: JsonValue | undefined = body[field];
    const type = table[name]!;
    if (value === undefined) {
      if (!name.endsWith("?")) return badField(field, `${field} is required`);
    } else if (type !== "any" && typeof value !== type) {
      return badField(field, `${field} must be a ${type}`);
    }
  }
  return accept(body as unknown as Fields<T>);
}

function bareName(name: string): string {
  return name.replace("?", "");
}

function badField(path: string, message: string, hint?: string) {
  return refuse({ kind: "bad_request", path, message, hint });
}

/**
 * The environment that an operator call names in its body or query. `prod` means `production`;
 * if left out, it is `otherwise`. Two different ones are refused, because one must be a
 * mistake.
 */
export function decodeEnvironment(
  query: string,
  bodyEnvironment: string | undefined,
  otherwise: Environment,
): Outcome<Environment> {
  const asked = [new URLSearchParams(query).get("environment"), bodyEnvironment ?? null];
  const found = new Set<Environment>();
  for (const text of asked) {
    if (text === null) continue;
    const environment = parseEnvironment(text);
    if (environment === undefined) {
      return badField("environment", "environment must be production, staging or test");
    }
    found.add(environment);
  }
  if (found.size > 1) {
    return badField("environment", "environment differs between the body and the query");
  }
  const [environment = otherwise] = found;
  return accept(environment);
}
