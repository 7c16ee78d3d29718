/** A write as asked for, before anything is checked: single, batch and atomic alike. */

import type { ErrorRecord } from "./error_record.ts";
import type { PlanUsage } from "./plan.ts";
import type { OutboxWork } from "./reaction/outbox_entry.ts";

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
  /** As sent; only atomic writes have one per target. */
  readonly previousLength?: unknown;
}

export interface IdempotencyClaim {
  readonly key: string;
  /** SHA-256 (64 hex) of the body with keys sorted at every level. */
  readonly bodyHash: string;
}

export interface WriteRequest {
  readonly form: "single" | "batch" | "atomic";
  readonly targets: readonly RequestedTarget[];
  /** As sent; undefined when the field was absent. */
  readonly metadata: unknown;
  readonly idempotency?: IdempotencyClaim;
  readonly requestId: string;
  /** Events that the environment may store within a month; absent: any number. */
  readonly allocation?: number;
}

/** What a committed write answers. Stream ids are consecutive, so first and count tell them all. */
export interface Written {
  readonly form: "single" | "batch" | "atomic";
  readonly targets: readonly {
    readonly key: string;
    readonly first: number;
    readonly count: number;
  }[];
  readonly impliedCount: number;
  /** True when the ledger answered: nothing was written now. */
  readonly replayed: boolean;
  /** The request id of the write that landed: of this request, or the original when replayed. */
  readonly requestId: string;
  /** What it has left in the outbox, for the process that wrote it; absent where it is nothing. */
  readonly outbox?: readonly OutboxWork[];
  /** How many implied events were written with it; absent where none was. */
  readonly direct?: number;
  /** Error records of roots that have reached their limit with it. */
  readonly rootErrors?: readonly ErrorRecord[];
  /** Whether something that it would have set off was beyond the limit of its root. */
  readonly isRootSpent?: true;
  /** How much of the month's events is used with it; absent where there is no limit. */
  readonly plan?: PlanUsage;
}
