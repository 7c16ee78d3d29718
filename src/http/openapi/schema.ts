/**
 * Short builders for the schemas of the OpenAPI document, used by the tables beside this file.
 *
 * The schemas are JSON Schema Draft 2020-12, as OpenAPI 3.1 requires.
 */

import type { JsonObject, JsonValue } from "../../domain/json.ts";

export type Schema = JsonObject;

export const TEXT = { type: "string" } as const satisfies Schema;
export const INTEGER = { type: "integer" } as const satisfies Schema;
export const COUNT = { type: "integer", minimum: 0 } as const satisfies Schema;
export const BOOLEAN = { type: "boolean" } as const satisfies Schema;
export const ANYTHING: Schema = {};
/** An object whose fields the spec, a module or a client decides. */
export const FREE_OBJECT: Schema = { type: "object", additionalProperties: true };
export const SECONDS = {
  type: "integer",
  minimum: 0,
  description: "Unix seconds",
} as const satisfies Schema;
export const TIME = {
  type: "string",
  format: "date-time",
  description: "ISO 8601 UTC",
} as const satisfies Schema;
/** Of an imported event: what it was where it comes from. */
export const ORIGIN: Readonly<Record<string, Schema>> = {
  source: TEXT,
  "stream?": TEXT,
  "id?": TEXT,
  "time?": TEXT,
  "position?": TEXT,
  "correlation_id?": TEXT,
  "causation_id?": TEXT,
};
export const HEX_32 = { type: "string", pattern: "^[0-9a-f]{64}$" } as const satisfies Schema;

/** Fields by name; a name that ends in `?` may be left out. */
export type FieldSchemas = Readonly<Record<string, Schema>>;

/** An object with these fields; later versions may add others. */
export function object(fields: FieldSchemas): Schema {
  const names = Object.keys(fields);
  const required = names.filter((name) => !name.endsWith("?"));
  const properties: Record<string, JsonValue> = {};
  for (const name of names) properties[name.replace("?", "")] = fields[name]!;
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

/** A body that a client sends; unknown fields are refused. */
export function input(fields: FieldSchemas): Schema {
  return { ...object(fields), additionalProperties: false };
}

/** A 2xx answer: `ok: true`, then these fields. */
export function answer(fields: FieldSchemas): Schema {
  return object({ ok: { const: true }, ...fields });
}

export function array(items: Schema, bounds: Schema = {}): Schema {
  return { type: "array", items, ...bounds };
}

export function choice(values: readonly string[]): { type: "string"; enum: string[] } {
  return { type: "string", enum: [...values] };
}

/** A reference to a named schema of the document. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The answer of every list that pages with `limit` and `start`. */
export function page(items: Schema): Schema {
  return pageWith(items, {});
}

/** The same with additional fields. */
export function pageWith(items: Schema, more: FieldSchemas): Schema {
  return answer({
    ...more,
    data: array(items),
    limit: COUNT,
    truncated: BOOLEAN,
    "next_start?": { type: "string", description: "Send it back as `start` for the next page" },
    "limit_clamped?": { const: true },
  });
}
