/**
 * The operations of a trace: plain data, so that a trace can be printed, compared and kept. What is
 * known only from an earlier answer (ids, keys, cursors) stands as `{{name}}`; what would be large
 * stands as a short form that {@link expand} writes out.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { Environment } from "../../src/domain/tenant.ts";

/** Which credential a request carries. Tokens of operators are signed when the request is made. */
export type Credential =
  | "none"
  | "operator"
  | "operator_of_bakery"
  | "operator_expired"
  | "operator_without_role"
  | "operator_forged"
  /** The whole header, e.g. `Bearer {{shop_test_write}}`. */
  | { readonly header: string };

export interface Sent {
  /** The listener it arrives at; with `host` instead, the host name decides. */
  readonly environment?: Environment;
  /** The part before `.example.com`. */
  readonly host?: string;
  readonly as: Credential;
  readonly method: string;
  readonly path: string;
  /** null leaves out a header that every request has: content type, request id. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** A JSON body in the form that {@link expand} takes. */
  readonly json?: JsonValue;
  /** A body as it is, instead of `json`. */
  readonly text?: string;
}

export interface RequestOperation {
  readonly kind: "request";
  /** What the census counts it as. */
  readonly name: string;
  /** Milliseconds that the clock moves before it. */
  readonly advanceMs: number;
  readonly sent: Sent;
  /** Name to the dotted place in the answer's body that it is taken from. */
  readonly save?: Readonly<Record<string, string>>;
  /** The first transaction of the request fails: the store is away, or something is broken. */
  readonly fault?: "unavailable" | "broken";
  /** Sent while the first one waits in front of its transaction; must not wait for it. */
  readonly meanwhile?: Sent;
}

/** Background work until there is none left. */
export interface DrainOperation {
  readonly kind: "drain";
  readonly name: string;
  readonly advanceMs: number;
}

/** The service and the engine are closed and opened again, by those who can. */
export interface RestartOperation {
  readonly kind: "restart";
  readonly name: string;
  readonly advanceMs: number;
}

export type Operation = RequestOperation | DrainOperation | RestartOperation;

/**
 * Writes out the short forms of a body: `{"$text": n}` is a text of n characters, and
 * `{"$times": n, "$item": x}` is a list of n times x, in which the text `$index` is the place.
 */
export function expand(value: JsonValue, index = 0): JsonValue {
  if (value === "$index") return index;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => expand(item, index));
  const { $text: text, $times: times, $item: item } = value;
  if (typeof text === "number") return "abcdefgh".repeat(text / 8 + 1).slice(0, text);
  if (typeof times === "number") return Array.from({ length: times }, (_, at) => expand(item!, at));
  // Entries, not assignment: `__proto__` is an ordinary key of a body.
  const entries = Object.entries(value).map(([key, inner]) => [key, expand(inner, index)] as const);
  return Object.fromEntries(entries) as JsonObject;
}

/** Puts the values of earlier answers in; a name that none has given becomes empty. */
export function substitute(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values.get(name) ?? "");
}

/** The operation in one line, for people; a long one is cut. */
export function describeOperation(operation: Operation, charactersMax = 2_000): string {
  const text = JSON.stringify(operation);
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}...`;
}
