/**
 * Saves states that reads have folded anyway, so that the next cold read starts from them.
 * Waiting states are in memory only: losing one costs a fold, never an answer.
 */

import { LRUCache } from "lru-cache";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { isCurrentFold, type SpecCache } from "../base/current_spec.ts";
import type { FoldedState } from "./folded_state.ts";
import { readSnapshotHeader, saveSnapshot } from "../../store/streams/snapshots.ts";

/** States that wait to be saved, and their total characters; beyond that the oldest are dropped. */
const WAITING_MAX = 256;
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
/** A larger state is left to the background rebuild of growing streams. */
const STATE_CHARACTERS_MAX = 1024 * 1024;

interface DueSnapshot {
  readonly tenant: number;
  readonly stream: StreamKey;
  readonly foldHash: string;
  readonly state: FoldedState;
}

export interface SnapshotKeeper {
  add(tenant: number, stream: StreamKey, foldHash: string, state: FoldedState): void;
  /** Saves up to `limit` waiting states, fewer once `isStopping` returns true. Returns how many. */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Drops all waiting states, because some may come from events that were erased. */
  clear(): void;
}

export function createSnapshotKeeper(
  engine: Engine,
  host: Host,
  specs: SpecCache,
): SnapshotKeeper {
  const waiting = new LRUCache<string, DueSnapshot>({
    max: WAITING_MAX,
    maxSize: WAITING_CHARACTERS_MAX,
    sizeCalculation: ({ state }) => state.stateJson.length,
  });

  function add(tenant: number, stream: StreamKey, foldHash: string, state: FoldedState): void {
    if (state.stateJson.length > STATE_CHARACTERS_MAX) return;
    waiting.set(`${tenant}/${stream}`, { tenant, stream, foldHash, state });
  }

  async function drain(limit: number, isStopping = () => false): Promise<number> {
    let done = 0;
    for (; done < limit && !isStopping(); done++) {
      const oldest = waiting.pop();
      if (oldest === undefined) break;
      await save(oldest);
      await host.yieldTurn();
    }
    return done;
  }

  async function save({ tenant, stream, foldHash, state }: DueSnapshot): Promise<void> {
    // A state folded before a deploy must not replace one folded after it.
    const spec = await specs.current(tenant);
    if (spec.aggregateTypes.get(splitStreamKey(stream).type)?.foldHash !== foldHash) return;
    const kept = await engine.snapshot((tx) => readSnapshotHeader(tx, tenant, stream, foldHash));
    const newer = kept?.generation === state.generation && kept.length >= state.length;
    if (newer) return;
    const { length, bytes, generation, stateJson } = state;
    const position = { length, bytes, generation };
    await saveSnapshot(
      engine,
      { tenant, stream, foldHash },
      { ...position, state: stateJson },
      { rest: openPieces(host).rest, isWanted: (tx) => isCurrentFold(tx, tenant, spec) },
    );
  }

  return { add, drain, clear: () => waiting.clear() };
}
