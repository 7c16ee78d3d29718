/** A write as requested, before any check: single, batch and atomic alike. */

import type { ErrorRecord } from "../error_record.ts";
import type { PlanUsage } from "../limits/plan.ts";
import type { OutboxWork } from "../reaction/outbox_entry.ts";

export interface RequestedEvent {
  readonly type: string;
  /** As sent; undefined when the field was absent. */
  readonly data: unknown;
}

export interface RequestedTarget {
  readonly aggregateType: string;
  /** As sent: only the spec knows which ids are singletons. */
  readonly id: string;
  readonly events: readonly RequestedEvent[];
  /** As sent. Only atomic writes have one for each target. */
  readonly previousLength?: unknown;
}

export interface IdempotencyClaim {
  readonly key: string;
  /** SHA-256 (64 hex characters) of the body with keys sorted at every level. */
  readonly bodyHash: string;
}

export interface WriteRequest {
  readonly form: "single" | "batch" | "atomic";
  readonly targets: readonly RequestedTarget[];
  /** As sent; undefined when the field was absent. */
  readonly metadata: unknown;
  /** As sent; absent if there are none. */
  readonly preconditions?: unknown;
  readonly idempotency?: IdempotencyClaim;
  readonly requestId: string;
  /** Events that the environment may store in a month; absent means no limit. */
  readonly allocation?: number;
}

/**
 * The result of a committed write. Stream ids are consecutive, so `first` and `count` give all
 * of them.
 */
export interface Written {
  readonly form: "single" | "batch" | "atomic";
  readonly targets: readonly {
    readonly key: string;
    readonly first: number;
    readonly count: number;
  }[];
  readonly impliedCount: number;
  /** True when the idempotency ledger answered and nothing was written now. */
  readonly replayed: boolean;
  /**
   * The request id of the write that was stored: of this request, or of the original when
   * replayed.
   */
  readonly requestId: string;
  /** What the write left in the outbox, for the process that wrote it; absent when nothing. */
  readonly outbox?: readonly OutboxWork[];
  /** How many implied events were written in the same transaction; absent when none. */
  readonly direct?: number;
  /** Error records of roots that reached their limit with this write. */
  readonly rootErrors?: readonly ErrorRecord[];
  /** True when the limit of its root cut off something that the write would have caused. */
  readonly isRootSpent?: true;
  /** How much of the month's events is used after this write; absent when there is no limit. */
  readonly plan?: PlanUsage;
}
