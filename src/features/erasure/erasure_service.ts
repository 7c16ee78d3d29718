/** Everything about the erasure of streams, bound to one engine and one host. */

import { createErasureRunner } from "./erase_due.ts";
import {
  cancelErasure,
  type ErasureRequest,
  requestErasure,
  showTombstone,
  showTombstones,
} from "./tombstones.ts";
import type { WorkShare } from "../base/share_work.ts";
import {
  type Tombstone,
  type TombstonePage,
  type TombstoneView,
  viewTombstone,
} from "../../domain/erasure/tombstone.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { keys } from "../../store/keys.ts";
import { followVersion } from "../base/follow_version.ts";

export interface ErasureService {
  request(tenant: Tenant, request: ErasureRequest): Promise<Outcome<TombstoneView>>;
  /** Possible only before the erasure has begun. */
  cancel(tenant: Tenant, id: string): Promise<Outcome<TombstoneView>>;
  read(tenant: Tenant, id: string): Promise<Outcome<TombstoneView>>;
  list(tenant: Tenant, page: PageRequest): Promise<Outcome<TombstonePage>>;
  /** Runs some steps of each due erasure in this process's share. Returns the number of steps. */
  eraseDue(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Ends the watch on the store. */
  close(): Promise<void>;
}

export interface ErasureParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly share: WorkShare;
  /** Caches of data derived from events. */
  readonly memories: readonly Memory[];
}

export function createErasure(parts: ErasureParts): ErasureService {
  const { engine, host, share, memories } = parts;
  const runner = createErasureRunner(engine, host, share);
  const close = followErasures(engine, host, memories);
  return {
    request: async (tenant, request) => view(await requestErasure(parts, tenant, request)),
    cancel: async (tenant, id) => view(await cancelErasure(parts, tenant, id)),
    read: (tenant, id) => showTombstone(engine, tenant, id),
    list: (tenant, page) => showTombstones(engine, tenant, page),
    eraseDue: runner.drain,
    close,
  };
}

function view(outcome: Outcome<Tombstone>): Outcome<TombstoneView> {
  return outcome.ok ? accept(viewTombstone(outcome.value)) : outcome;
}

/** A cache that may hold data derived from events. */
interface Memory {
  clear(): void;
}

/**
 * Clears the memories of this node when a stream is erased anywhere. They would never show the
 * older generation again, but the erased content would stay in memory. Call the result to stop.
 */
export function followErasures(
  engine: Engine,
  host: Host,
  memories: readonly Memory[],
): () => Promise<void> {
  const follower = followVersion(engine, host, keys.erasureSignal(), () => {
    for (const memory of memories) memory.clear();
  });
  return follower.close;
}
