/** What the clients of a world did and what they were answered: acknowledgements must be true. */

import type { JsonObject } from "../../src/domain/json.ts";
import type { SpecNumber } from "./world_spec.ts";

/** `unknown`: there was no reply, so it may have landed, or may still land. */
export type Heard = "acknowledged" | "refused" | "unknown";

export interface JournalEvent {
  readonly key: string;
  readonly type: string;
  /** Its `n` is in no other event. */
  readonly data: JsonObject;
}

export interface JournalWrite {
  readonly events: readonly JournalEvent[];
  heard: Heard;
  /** Where each target begins according to the reply, by the target's key. */
  places: readonly { readonly key: string; readonly first: number }[];
  /** Undefined if the reply did not say. */
  impliedCount: number | undefined;
}

export interface JournalDeploy {
  readonly spec: SpecNumber;
  /** The spec cannot have been current before this version. */
  readonly fromVersion: number;
}

export interface JournalDelete {
  readonly scheduledId: string;
  readonly heard: Heard;
  /** The newest version when the reply arrived. */
  readonly version: number;
}

/** What a client has read, and the versions between which it asked. */
export interface JournalRead {
  readonly path: string;
  /** The newest version when the read began, and when it ended. */
  readonly fromVersion: number;
  readonly toVersion: number;
  readonly status: number;
  readonly body: JsonObject;
}

export interface Journal {
  readonly writes: JournalWrite[];
  readonly deploys: JournalDeploy[];
  readonly deletes: JournalDelete[];
  readonly reads: JournalRead[];
  /** Ids of all HTTP requests. */
  readonly requests: Set<string>;
}

export function openJournal(): Journal {
  return { writes: [], deploys: [], deletes: [], reads: [], requests: new Set() };
}
