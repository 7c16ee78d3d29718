/** Reads bodies of JSON that are checked by the fields of a route's row. */

import type { JsonObject, JsonValue } from "../domain/json.ts";
import { limits } from "../domain/limits.ts";
import { didYouMean } from "../domain/nearest_name.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../domain/refusal.ts";
import { findUnknownKey, readJsonBody, readOptionalJsonBody } from "./decode/body.ts";
import type { Sender } from "./decode/body_bytes.ts";
import { fieldNamesIn } from "../domain/json_text/json_characters.ts";
import type { FieldSchemas, Schema } from "./openapi/schema.ts";

/** Only these types are checked here; what else a schema says is judged by the feature. */
type FieldValue<S> = S extends { type: "string" } ? string
  : S extends { type: "boolean" } ? boolean
  : S extends { type: "integer" | "number" } ? number
  : JsonValue;

/** A body that has passed {@link checkFields} with the fields `F`. */
export type Fields<F extends FieldSchemas> =
  & { readonly [K in keyof F as K extends `${string}?` ? never : K]: FieldValue<F[K]> }
  & { readonly [K in keyof F as K extends `${infer N}?` ? N : never]?: FieldValue<F[K]> };

/** How a body with fields is sent. */
export interface FieldsForm {
  readonly bodyForm?: string;
  /** The most bytes of the body. Default: that of operator calls. */
  readonly bytesMax?: number;
  /** Describes the body if one of its fields is unknown. */
  readonly hint?: string;
}

/** Reads the body as an object with exactly these fields. */
export async function readFields<F extends FieldSchemas>(
  sender: Sender,
  fields: F,
  { bodyForm, bytesMax = limits.operatorBodyBytesMax, hint }: FieldsForm = {},
): Promise<Outcome<Fields<F>>> {
  const read = bodyForm === "optional json" ? readOptionalJsonBody : readJsonBody;
  const types = Object.values(fields).map(typeOf);
  const isFlat = types.every((type) => type !== undefined);
  const check = isFlat ? (text: string) => checkNames(text, fields, hint) : undefined;
  const body = await read(sender, bytesMax, { check });
  return body.ok ? checkFields(body.value, fields, hint) : body;
}

/**
 * Refuses names that are none of a body whose fields hold no objects, as {@link checkFields} does,
 * but before they are parsed.
 */
function checkNames(text: string, fields: FieldSchemas, hint?: string): Outcome<void> {
  const types = new Map(Object.keys(fields).map((name) => [bareName(name), typeOf(fields[name]!)]));
  let own = "";
  for (const { name, depth } of fieldNamesIn(text)) {
    if (depth > 1 && own === "") {
      return refuse({ kind: "bad_request", message: "Request body must be a JSON object" });
    }
    if (depth > 1) return badField(own, `${own} must be a ${types.get(own)}`);
    own = name;
    if (!types.has(name)) return unknownField(name, [...types.keys()], hint);
  }
  return ACCEPTED;
}

function unknownField(name: string, known: readonly string[], hint?: string): Outcome<never> {
  const own = known.length === 0 ? "The body has no fields" : `It has ${known.join(", ")}`;
  return badField(name, `Unknown field: ${name}`, didYouMean(name, known, hint ?? own));
}

/** Accepts `body` if it has only these fields; otherwise 400 with the path. */
export function checkFields<const F extends FieldSchemas>(
  body: JsonObject,
  fields: F,
  hint?: string,
): Outcome<Fields<F>> {
  const names = Object.keys(fields);
  const known = names.map(bareName);
  const unknown = findUnknownKey(body, new Set(known));
  if (unknown !== undefined) return unknownField(unknown, known, hint);
  for (const name of names) {
    const field = bareName(name);
    const value: JsonValue | undefined = body[field];
    const type = typeOf(fields[name]!);
    if (value === undefined) {
      if (!name.endsWith("?")) return badField(field, `${field} is required`);
    } else if (type !== undefined && typeof value !== type) {
      return badField(field, `${field} must be a ${type}`);
    }
  }
  return accept(body as unknown as Fields<F>);
}

/** What `typeof` must say of a value; undefined if anything is accepted here. */
function typeOf({ type }: Schema): "string" | "boolean" | "number" | undefined {
  if (type === "integer" || type === "number") return "number";
  return type === "string" || type === "boolean" ? type : undefined;
}

function bareName(name: string): string {
  return name.replace("?", "");
}

/** Refuses a body for its field at `path`. */
export function badField(path: string, message: string, hint?: string): Outcome<never> {
  return refuse({ kind: "bad_request", path, message, hint });
}
