/**
 * Saves states that reads have folded anyway, so that the next cold read starts there. Waiting
 * states are kept in memory only: losing one costs a fold, never an answer.
 */

import type { StreamKey } from "../domain/stream_key.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import type { FoldedState } from "../queries/fold_stream.ts";
import { readSnapshotHeader, saveSnapshot } from "../store/snapshots.ts";

/** States that wait to be saved; one more pushes out the oldest. */
const WAITING_MAX = 256;
/** A larger state is left to the rebuild of growing streams. */
const STATE_CHARACTERS_MAX = 1024 * 1024;

interface DueSnapshot {
  readonly tenant: number;
  readonly stream: StreamKey;
  readonly foldHash: string;
  readonly state: FoldedState;
}

export interface SnapshotKeeper {
  add(tenant: number, stream: StreamKey, foldHash: string, state: FoldedState): void;
  /** Saves up to `limit` of the waiting states; gives how many there were. */
  drain(limit: number): Promise<number>;
}

export function createSnapshotKeeper(engine: Engine, host: Host): SnapshotKeeper {
  const waiting = new Map<string, DueSnapshot>();

  function add(tenant: number, stream: StreamKey, foldHash: string, state: FoldedState): void {
    if (state.stateJson.length > STATE_CHARACTERS_MAX) return;
    waiting.set(`${tenant}/${stream}`, { tenant, stream, foldHash, state });
    if (waiting.size > WAITING_MAX) waiting.delete(waiting.keys().next().value!);
  }

  async function drain(limit: number): Promise<number> {
    let done = 0;
    for (const [name, due] of waiting) {
      if (done === limit) break;
      waiting.delete(name);
      done++;
      await save(due);
      await host.yieldTurn();
    }
    return done;
  }

  async function save({ tenant, stream, foldHash, state }: DueSnapshot): Promise<void> {
    const kept = await engine.snapshot((tx) => readSnapshotHeader(tx, tenant, stream, foldHash));
    const newer = kept?.generation === state.generation && kept.length >= state.length;
    if (!newer) await saveSnapshot(engine, tenant, stream, foldHash, state);
  }

  return { add, drain };
}
