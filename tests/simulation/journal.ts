/** What the clients of a world did and what they were told: what was acknowledged must be true. */

import type { JsonObject } from "../../src/domain/json.ts";
import type { SpecNumber } from "./world_spec.ts";

/** `unknown`: nothing was heard, so it may have landed, or still land. */
export type Heard = "acknowledged" | "refused" | "unknown";

export interface JournalEvent {
  readonly key: string;
  readonly type: string;
  /** Its `n` is that of no other event. */
  readonly data: JsonObject;
}

export interface JournalWrite {
  readonly events: readonly JournalEvent[];
  heard: Heard;
  /** Where the reply said each target begins, by its key. */
  places: readonly { readonly key: string; readonly first: number }[];
  /** Undefined where the reply did not tell. */
  impliedCount: number | undefined;
}

export interface JournalDeploy {
  readonly spec: SpecNumber;
  /** It cannot have been current before this version. */
  readonly fromVersion: number;
}

export interface JournalDelete {
  readonly scheduledId: string;
  readonly heard: Heard;
  /** The newest version when it was heard. */
  readonly version: number;
}

/** What a client has read, and the versions between which it asked. */
export interface JournalRead {
  readonly path: string;
  /** The newest version as it began, and as it ended. */
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
  /** Ids of all requests over HTTP. */
  readonly requests: Set<string>;
}

export function openJournal(): Journal {
  return { writes: [], deploys: [], deletes: [], reads: [], requests: new Set() };
}
