/**
 * The operations of a trace: plain data, so that a trace can be printed, compared and kept.
 * Values known only from an earlier answer (ids, keys, cursors) are written as `{{name}}`.
 * Large values are written in a short form, which {@link expand} expands.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { Environment } from "../../src/domain/tenant.ts";

/** The credential of a request. Operator tokens are signed when the request is made. */
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
  /** The listener it arrives at; if `host` is set instead, the host name decides. */
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
  /** A literal body instead of `json`. */
  readonly text?: string;
}

export interface RequestOperation {
  readonly kind: "request";
  /** The name under which the census counts it. */
  readonly name: string;
  /** Milliseconds that the clock moves before it. */
  readonly advanceMs: number;
  readonly sent: Sent;
  /** From a name to the dotted path of its value in the answer's body. */
  readonly save?: Readonly<Record<string, string>>;
  /** The first transaction of the request fails: the store is away, or something is broken. */
  readonly fault?: "unavailable" | "broken";
  /**
   * Sent while the first request waits before its transaction; it must not wait for the first.
   */
  readonly meanwhile?: Sent;
}

/** Does background work until none is left. */
export interface DrainOperation {
  readonly kind: "drain";
  readonly name: string;
  readonly advanceMs: number;
}

/** Closes and reopens the service and the engine, on subjects that can. */
export interface RestartOperation {
  readonly kind: "restart";
  readonly name: string;
  readonly advanceMs: number;
}

export type Operation = RequestOperation | DrainOperation | RestartOperation;

/**
 * Expands the short forms of a body. `{"$text": n}` is a text of n characters. `{"$times": n,
 * "$item": x}` is a list of n times x, in which the text `$index` is the position.
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

/** Inserts the values of earlier answers; a name without a value becomes empty. */
export function substitute(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values.get(name) ?? "");
}

/** The operation in one line, for people; a long one is cut. */
export function describeOperation(operation: Operation, charactersMax = 2_000): string {
  const text = JSON.stringify(operation);
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}...`;
}
