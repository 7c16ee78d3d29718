/**
 * Brings snapshots up to date in the background, in bounded chunks: streams that have grown, and
 * all streams of a type whose handlers a deploy changed. Spec: "Background rebuilds run in bounded
 * chunks and are not refused".
 */

import { newFoldBudget } from "../domain/handler/budget.ts";
import { fold } from "../domain/handler/fold.ts";
import type { JsonObject } from "../domain/json.ts";
import type { CompiledAggregateType } from "../domain/spec/compiled.ts";
import { splitStreamKey } from "../domain/stream_key.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { encodeState, eventChunks, type FoldedState } from "../queries/fold_stream.ts";
import { listAggregateIds } from "../store/aggregates.ts";
import {
  advanceTypeRebuild,
  listStreamRebuilds,
  nextTypeRebuild,
  settleStreamRebuild,
  type StreamRebuild,
} from "../store/rebuilds.ts";
import { readSnapshot, saveSnapshot } from "../store/snapshots.ts";
import type { SpecCache } from "../queries/current_spec.ts";
import { readHead } from "../store/streams.ts";

/** A rebuild is saved each time it has folded so many stored bytes: a crash loses no more. */
const SAVE_EVERY_BYTES = 16 * 1024 * 1024;
/** Streams below this need no snapshot: folding them is as quick as reading one. */
const STREAM_BYTES_MIN = 64 * 1024;
/** Ids of a type looked at in one step. */
const TYPE_STEP_IDS = 200;

/** Does up to `limit` streams, or one step of a type; gives how many pieces of work it found. */
export async function rebuildSnapshots(
  engine: Engine,
  host: Host,
  specs: SpecCache,
  limit: number,
): Promise<number> {
  const streams = await engine.snapshot((tx) => listStreamRebuilds(tx, limit));
  for (const work of streams) {
    await rebuildStream(engine, host, specs, work);
    await engine.transact((tx) => Promise.resolve(settleStreamRebuild(tx, work)));
  }
  return streams.length > 0 ? streams.length : await stepType(engine);
}

async function stepType(engine: Engine): Promise<number> {
  return await engine.transact(async (tx) => {
    const work = await nextTypeRebuild(tx);
    if (work === undefined) return 0;
    const page = { start: work.done, limit: TYPE_STEP_IDS };
    const ids = await listAggregateIds(tx.unguarded, work.tenant, work.type, page);
    advanceTypeRebuild(tx, work, ids);
    return 1;
  });
}

/** Folds one stream from its newest snapshot to its head. What cannot be folded stays as it is. */
async function rebuildStream(
  engine: Engine,
  host: Host,
  specs: SpecCache,
  { tenant, stream }: StreamRebuild,
): Promise<void> {
  const spec = await specs.current(tenant);
  const type = spec.aggregateTypes.get(splitStreamKey(stream).type);
  if (type === undefined || !type.cached) return;
  const [head, base] = await engine.snapshot(async (tx) => [
    await readHead(tx, tenant, stream),
    await readSnapshot(tx, tenant, stream, type.foldHash),
  ]);
  const usable = base?.generation === head.generation ? base : undefined;
  if (head.bytes - (usable?.bytes ?? 0) < STREAM_BYTES_MIN) return;
  for await (
    const folded of foldInSteps(engine, host, { tenant, stream, type, head, base: usable })
  ) {
    await saveSnapshot(engine, tenant, stream, type.foldHash, folded);
  }
}

type Work = Parameters<typeof eventChunks>[2] & { readonly type: CompiledAggregateType };

/** The state after every {@link SAVE_EVERY_BYTES}, and at the head. */
async function* foldInSteps(engine: Engine, host: Host, work: Work): AsyncGenerator<FoldedState> {
  const { head, base, type } = work;
  let state: JsonObject = base === undefined ? {} : JSON.parse(base.stateJson);
  let length = base?.length ?? 0;
  let bytes = base?.bytes ?? 0;
  let saved = bytes;
  for await (const chunk of eventChunks(engine, host, work)) {
    const folded = fold(type.handlers, state, chunk.events, newFoldBudget());
    if (!folded.ok) return;
    state = folded.value;
    length += chunk.events.length;
    bytes += chunk.bytes;
    if (length < head.length && bytes - saved < SAVE_EVERY_BYTES) continue;
    const stateJson = encodeState(state);
    if (!stateJson.ok) return;
    yield { length, bytes, generation: head.generation, stateJson: stateJson.value };
    saved = bytes;
  }
}
