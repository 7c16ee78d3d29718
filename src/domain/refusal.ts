/**
 * The closed union of all refusals, that is, of every way to turn a request down.
 *
 * A refusal is returned, never thrown. `http/reply.ts` is the one table that maps refusals to
 * status, text and headers.
 */

import type { JsonObject } from "./json.ts";
import type { WasmFailureKind } from "./wasm/failure.ts";
import type { HandlerError } from "./wasm/handler_error.ts";

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal };

/** Where the fault is in a write of several events. */
export interface FaultPlace {
  readonly eventIndex?: number;
  readonly targetIndex?: number;
}

/** One fault of a deployed document: which rule, where, what is wrong, and what to do. */
export interface Violation {
  /** Stable name of the rule, e.g. `unknown_key`. */
  readonly rule: string;
  /** Dotted location, e.g. `aggregate_types.order.events.was_placed.handler[0].target`. */
  readonly path: string;
  readonly message: string;
  readonly hint: string;
}

/** One fault of event data against its schema. */
export interface DataFault {
  /** Dotted location, e.g. `data.lines.0.qty`; `data` for the root. */
  readonly path: string;
  readonly message: string;
}

/** Whether a rate limit counts the requests of an instance or of an IP address. */
export type RateScope = "instance" | "ip";

/** Any refusal may say in one sentence what to do about it. */
export type Refusal = RefusalKind & { readonly hint?: string };

type RefusalKind =
  | (
    & { readonly kind: "bad_request"; readonly message: string; readonly path?: string }
    & FaultPlace
  )
  | { readonly kind: "unauthorized"; readonly message: string }
  | { readonly kind: "forbidden"; readonly message: string }
  | { readonly kind: "not_found"; readonly message: string }
  | ({
    readonly kind: "aggregate_type_unknown";
    readonly aggregateType: string;
    /** True when the environment has no spec yet. */
    readonly beforeFirstSpec?: true;
  } & FaultPlace)
  | ({
    readonly kind: "event_type_unknown";
    readonly aggregateType: string;
    readonly eventType: string;
  } & FaultPlace)
  | ({ readonly kind: "event_type_reserved" } & FaultPlace)
  | { readonly kind: "aggregate_missing" }
  /** 422: a state was asked for that lies beyond the events of the aggregate. */
  | { readonly kind: "beyond_length"; readonly length: number; readonly asked: number }
  | { readonly kind: "method_not_allowed"; readonly allow: string }
  | (
    & { readonly kind: "identifier_invalid"; readonly path: string; readonly message: string }
    & FaultPlace
  )
  | (
    & { readonly kind: "metadata_invalid"; readonly path: string; readonly message: string }
    & FaultPlace
  )
  /** 422: the shape of an atomic write's targets, or the size of a batch. */
  | (
    & { readonly kind: "write_invalid"; readonly path: string; readonly message: string }
    & FaultPlace
  )
  | ({ readonly kind: "schema_validation"; readonly faults: readonly DataFault[] } & FaultPlace)
  | { readonly kind: "occ_conflict"; readonly length: number; readonly expected: number }
  | {
    readonly kind: "occ_conflict_atomic";
    readonly key: string;
    readonly length: number;
    readonly expected: number;
  }
  /** 422: a guard of an event does not hold. */
  | ({
    readonly kind: "guard_failed";
    readonly message: string;
    readonly guard: number;
    readonly eventType: string;
  } & FaultPlace)
  /** 409: something that the writer expects of an aggregate is not so. */
  | {
    readonly kind: "precondition_failed";
    readonly index: number;
    readonly key: string;
    readonly length: number;
    readonly message: string;
  }
  | { readonly kind: "implications_in_multi_write"; readonly targetIndex: number }
  | { readonly kind: "idempotency_key_invalid"; readonly message: string }
  | { readonly kind: "idempotency_mismatch" }
  | { readonly kind: "idempotency_in_progress" }
  | ({
    readonly kind: "payload_too_large";
    readonly message: string;
    readonly limit: number;
    readonly path?: string;
  } & FaultPlace)
  | {
    readonly kind: "fold_budget_exceeded";
    readonly message: string;
    readonly bytes: number;
    readonly limit: number;
    /**
     * Set when the computation ran out of time, which depends on load: the same read may
     * succeed later.
     */
    readonly isOfTheMoment?: true;
  }
  /** 422 with the handler's own error object: the handler refused the event. */
  | ({ readonly kind: "handler_error"; readonly error: HandlerError } & FaultPlace)
  /** 500: a module did not do what it must. */
  | ({
    readonly kind: "module_failed";
    readonly failure: WasmFailureKind;
    readonly message: string;
    /** For the error record: which module, and in which phase. */
    readonly context: JsonObject;
  } & FaultPlace)
  /** 503: modules or other processes could not run, for a reason that does not lie in them. */
  | {
    readonly kind: "modules_unavailable";
    readonly message: string;
    readonly retryAfterMs: number;
  }
  /** 503: this process is stopping. Another one, or the next one, will answer. */
  | { readonly kind: "server_stopping" }
  /** 503: other requests hold the memory that this one needs, for a moment. */
  | { readonly kind: "no_room"; readonly message: string }
  | { readonly kind: "module_invalid"; readonly violation: Violation }
  | { readonly kind: "spec_invalid"; readonly violations: readonly Violation[] }
  | { readonly kind: "spec_incompatible"; readonly violations: readonly Violation[] }
  | { readonly kind: "projection_invalid"; readonly violations: readonly Violation[] }
  /** 422 with the reason: a query did what it may not do, or what SQLite cannot do. */
  | { readonly kind: "sql_not_allowed"; readonly message: string }
  | { readonly kind: "sql_timeout"; readonly message: string }
  /** 503: a projection that does not fit the spec, so its rows are not kept up to date. */
  | { readonly kind: "projection_broken"; readonly name: string; readonly reason: string }
  /** 503: queries cannot run now, for a reason that does not lie in them. */
  | { readonly kind: "sql_unavailable"; readonly message: string; readonly retryAfterMs: number }
  /** A new version of a blob that the current spec could not call. */
  | { readonly kind: "blob_incompatible"; readonly violations: readonly Violation[] }
  | { readonly kind: "operator_input_invalid"; readonly path: string; readonly message: string }
  | { readonly kind: "already_exists"; readonly path: string; readonly message: string }
  /** 408: the body did not arrive in time. */
  | { readonly kind: "body_late"; readonly seconds: number }
  /** 410: the cursor is from beyond the moment to which the store was restored. */
  | { readonly kind: "cursor_expired"; readonly newest: string }
  /** An import that cannot go on under its id or into this environment. */
  | {
    readonly kind: "import_conflict";
    readonly reason: "other_file" | "other_form" | "taken_over" | "not_empty";
    readonly message: string;
  }
  /** Imports cannot run now: too many are under way, or the server is stopping. */
  | {
    readonly kind: "import_unavailable";
    readonly message: string;
    readonly retryAfterSeconds: number;
  }
  /** 429: too many requests of one instance or from one IP address. */
  | {
    readonly kind: "rate_limited";
    readonly scope: RateScope;
    readonly limit: number;
    /** Undefined when the caller's instance is unknown. */
    readonly tier?: string;
    readonly retryAfterMs: number;
  }
  /** 429: the month's events are used up, or too few are left for this write. */
  | {
    readonly kind: "plan_limit";
    readonly usage: number;
    readonly limit: number;
    /** Events of the refused write. */
    readonly events: number;
    /** When the count starts again, as an ISO 8601 UTC time. */
    readonly resetsAt: string;
  }
  | { readonly kind: "login_locked"; readonly retryAfterSeconds: number }
  /** The erasure has begun, or is over, and can no longer be cancelled. */
  | { readonly kind: "erasure_begun"; readonly state: string }
  | { readonly kind: "anchor_not_found" }
  | { readonly kind: "stream_not_found" }
  /** The index of an event in its stream must be a whole number from 0 on. */
  | { readonly kind: "invalid_index" }
  | {
    readonly kind: "beyond_anchor_coverage";
    /** What the anchor is older than: this event, or the whole stream. */
    readonly reason: "index" | "stream";
    readonly anchorId: string;
    readonly anchorCreatedAt: string;
    readonly coveredEventCount: number;
  }
  | { readonly kind: "anchor_format_unsupported"; readonly anchorId: string }
  | { readonly kind: "anchor_stream_mismatch"; readonly anchorId: string };

export function accept<T>(value: T): Outcome<T> {
  return { ok: true, value };
}

/** The outcome of a check that gives no value. */
export const ACCEPTED = { ok: true, value: undefined } as const;

export function refuse(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}
