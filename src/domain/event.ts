/** The stored event: its fields, their order, and the one place where it becomes bytes. */

import type { JsonObject } from "./json.ts";

export interface PartyReference {
  readonly type: string;
  readonly id: string;
}

/** What is stored beside the data. Field order is part of the format: it enters every hash. */
export interface StoredMetadata {
  readonly actor: PartyReference;
  readonly target?: PartyReference;
  readonly previous_length?: number;
  /** Unix seconds; always there. */
  readonly timestamp: number;
  readonly idempotency_key?: string;
}

export interface StoredEvent {
  /** `<aggregate_type>:<aggregate_id>`. */
  readonly key: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: StoredMetadata;
}
