/** What a call answers if it does not do what was asked: a union that narrows on `error_type`. */

/**
 * What every refusal has.
 *
 * ```ts
 * import type { RefusalBase } from "@daybook/client";
 * function tell({ error, hint, status }: RefusalBase): string {
 *   return `${status}: ${error}${hint ? `. ${hint}` : ""}`;
 * }
 * console.log(tell.name);
 * ```
 */
export interface RefusalBase {
  readonly ok: false;
  /** What is wrong, for people. */
  readonly error: string;
  /** One sentence that says what to do. */
  readonly hint?: string;
  /** The page that explains its `error_type`, on the server that refused. */
  readonly docs?: string;
  /** Where in the request the fault is. */
  readonly path?: string;
  /** The HTTP status of the answer; 0 if there was none. */
  readonly status: number;
  /** The `x-request-id` of the answer, by which the server's log knows it. */
  readonly request_id?: string;
}

/** Which event of a batch, or which target of an atomic write. */
interface Place {
  readonly event_index?: number;
  readonly target_index?: number;
}

/** A fault of the service, with a record under `db.$errors.get(error_id)`. */
interface Fault {
  readonly error_id?: string;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** A fault of the network, after all tries. */
interface NetworkFault {
  /** The key of the write: sending it again with this key cannot write it twice. */
  readonly idempotency_key?: string;
  /** What the runtime's `fetch` threw, or the reason of the signal. */
  readonly cause?: unknown;
}

interface Violations {
  readonly violations: readonly {
    readonly rule: string;
    readonly path: string;
    readonly message: string;
    readonly hint: string;
  }[];
}

/**
 * The fields of each refusal beside those that all have, by its `error_type`.
 *
 * ```ts
 * import type { RefusalFields } from "@daybook/client";
 * const conflict: RefusalFields["occ_conflict"] = { current_length: 4, expected_length: 3 };
 * console.log(conflict.current_length);
 * ```
 */
export interface RefusalFields {
  readonly aborted: NetworkFault;
  readonly anchor_format_unsupported: unknown;
  readonly anchor_not_found: unknown;
  readonly anchor_stream_mismatch: unknown;
  readonly bad_request: Place;
  readonly beyond_anchor_coverage: {
    readonly reason: "index" | "stream";
    readonly anchor_id: string;
    readonly anchor_created_at: string;
    readonly covered_event_count: number;
  };
  /** The browser does not let this page send what the call needs. */
  readonly cors_refused: NetworkFault;
  readonly cursor_expired: { readonly newest: string };
  readonly fold_budget_exceeded: { readonly bytes: number; readonly limit: number };
  readonly forbidden: unknown;
  /** A guard of the event type does not hold; `error` is its message, `path` its place. */
  readonly guard_failed: Place & { readonly event_type: string };
  /** A WebAssembly handler has refused the event; `error` is its `message`. */
  readonly handler_error: Place & {
    readonly handler_error: {
      readonly type: string;
      readonly message: string;
      readonly code?: string;
      readonly context?: Readonly<Record<string, unknown>>;
    };
  };
  readonly idempotency_in_progress: unknown;
  readonly idempotency_mismatch: unknown;
  readonly identifier_invalid: Place;
  readonly implications_in_multi_write: Place & { readonly message: string };
  readonly import_conflict: { readonly reason: string };
  readonly internal: Fault;
  readonly invalid_index: unknown;
  readonly invalid_output: Fault & Place;
  readonly metadata_invalid: Place;
  readonly method_not_allowed: unknown;
  /** Something answered that is not Daybook: another server, a proxy, a page for people. */
  readonly not_daybook: NetworkFault;
  readonly not_found: Place;
  readonly occ_conflict: {
    /** In atomic writes, the key of the aggregate. */
    readonly key?: string;
    readonly current_length: number;
    readonly expected_length: number;
  };
  readonly payload_too_large: Place & { readonly limit?: number };
  readonly plan_limit: {
    readonly metric: string;
    readonly usage: number;
    readonly limit: number;
    readonly message: string;
  };
  readonly precondition_failed: {
    readonly precondition_index: number;
    readonly key: string;
    readonly current_length: number;
  };
  readonly projection_broken: Fault;
  readonly rate_limited: {
    readonly scope?: "instance" | "ip";
    readonly limit?: number;
    readonly window?: string;
    readonly tier?: string;
  };
  readonly schema_validation: Place & {
    readonly details: readonly { readonly path: string; readonly message: string }[];
  };
  readonly spec_incompatible: Violations;
  readonly spec_invalid: Violations;
  readonly sql_not_allowed: unknown;
  readonly sql_timeout: unknown;
  readonly stream_not_found: unknown;
  /** No answer in time. */
  readonly timed_out: NetworkFault;
  readonly unauthorized: unknown;
  readonly unavailable: Fault;
  /** No connection, or it broke before the answer was whole. */
  readonly unreachable: NetworkFault;
  /** The server does not know the call, or a parameter of it: it is older than this client. */
  readonly unsupported: unknown;
  readonly wasm_memory: Fault & Place;
  readonly wasm_timeout: Fault & Place;
  readonly wasm_trap: Fault & Place;
}

/**
 * Every `error_type` that this client knows. A newer server may send others.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { ErrorType } from "@daybook/client";
 * const worthATry: readonly ErrorType[] = ["unreachable", "timed_out", "unavailable"];
 * const order = await db.order("main").get();
 * if (!order.ok) console.log(worthATry.includes(order.error_type));
 * ```
 */
export type ErrorType = keyof RefusalFields;

/**
 * A call that was turned down, by the server or by the network.
 *
 * ```ts
 * import { db } from "./db.ts";
 *
 * const order = await db.order("7KD2M9QXA").get();
 * if (order.ok) console.log(order.data);
 * else if (order.error_type === "fold_budget_exceeded") console.log(order.bytes);
 * else console.log(order.error, order.hint);
 * ```
 */
export type Refusal<Type extends ErrorType = ErrorType> = {
  readonly [Each in Type]: RefusalBase & { readonly error_type: Each } & RefusalFields[Each];
}[Type];

/**
 * A refusal as an exception: what `orThrow()` and iterators throw.
 *
 * ```ts
 * import { DaybookError } from "@daybook/client";
 * import { db } from "./db.ts";
 *
 * try {
 *   await db.order("7KD2M9QXA").was_placed({ customer: "Ada" }).orThrow();
 * } catch (error) {
 *   if (!(error instanceof DaybookError)) throw error;
 *   console.log(error.refusal.error_type, error.message);
 * }
 * ```
 */
export class DaybookError extends Error {
  override readonly name = "DaybookError";
  /** The refusal that a call without `orThrow()` gives. */
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    const { error, error_type, hint, path } = refusal;
    const place = path === undefined ? "" : ` at ${path}`;
    super(`${error_type}${place}: ${error}${hint === undefined ? "" : `. ${hint}`}`, {
      cause: (refusal as { cause?: unknown }).cause,
    });
    this.refusal = refusal;
  }
}

/**
 * What a call gives: a promise that never rejects for a refusal.
 *
 * ```ts
 * import { db } from "./db.ts";
 *
 * const length = await db.order("7KD2M9QXA").length();
 * if (length.ok) console.log(length.length);
 * ```
 */
export interface Call<Value> extends Promise<Value | Refusal> {
  /** Gives the value of the call, or throws the refusal as a {@link DaybookError}. */
  orThrow(): Promise<Value>;
}

/** Gives a promise its `orThrow`. */
export function callOf<Value extends { readonly ok: true }>(
  answer: Promise<Value | Refusal>,
): Call<Value> {
  return Object.assign(answer, { orThrow: () => answer.then(orThrow) });
}

/** The value, or the refusal as an exception. */
export function orThrow<Value extends { readonly ok: true }>(answer: Value | Refusal): Value {
  if (!answer.ok) throw new DaybookError(answer);
  return answer;
}
