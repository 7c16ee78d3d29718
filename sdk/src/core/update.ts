/**
 * Reads, decides, writes; and again if somebody else has written meanwhile. The length that was
 * read guards the write, so a decision is stored only on the state that it was made from.
 */

import type { NewEvent, StateAnswer, WrittenBatch } from "./answers.ts";
import type { Refusal } from "./refusal.ts";
import { sleep, type World } from "./world.ts";

/**
 * What a decision gives: events to write, or nothing if there is nothing to do.
 *
 * ```ts
 * import type { Decision } from "@daybook/client";
 * interface StockEvents {
 *   readonly was_stocked: { readonly by: number };
 * }
 * function restock(onHand: number): Decision<StockEvents> {
 *   return onHand < 10 ? { type: "was_stocked", data: { by: 100 } } : undefined;
 * }
 * console.log(restock(3));
 * ```
 */
export type Decision<Events> = readonly NewEvent<Events>[] | NewEvent<Events> | undefined | void;

/**
 * Decides from a state, which is `{}` before the first event, what is to be written.
 *
 * ```ts
 * import type { Decide } from "@daybook/client";
 * import { db } from "./db.ts";
 * import type { Shop } from "./shop.ts";
 * type Stock = Shop["aggregates"]["inventory"];
 * const restock: Decide<Stock["state"], Stock["events"]> = ({ on_hand = 0 }) =>
 *   on_hand < 10 ? { type: "was_stocked", data: { by: 100 } } : undefined;
 * await db.inventory("main").update(restock);
 * ```
 */
export type Decide<State, Events> = (
  state: State,
  known: { readonly length: number },
) => Decision<Events> | Promise<Decision<Events>>;

/** How an update reads and writes. */
export interface UpdateSteps<State, Events> {
  readonly world: World;
  readonly decide: Decide<State, Events>;
  /** How often it decides again after a conflict. */
  readonly retries: number;
  readonly signal?: AbortSignal;
  read(): Promise<StateAnswer<State> | Refusal>;
  /** Writes under a new idempotency key, which it keeps when an answer is lost. */
  write(events: readonly NewEvent<Events>[], length: number): Promise<WrittenBatch | Refusal>;
}

const FIRST_PAUSE_MS = 10;
const PAUSE_MS_MAX = 1_000;

export async function updateState<State, Events>(
  { world, decide, retries, signal, read, write }: UpdateSteps<State, Events>,
): Promise<WrittenBatch | Refusal> {
  for (let tries = 0;; tries++) {
    const found = await read();
    const isNew = !found.ok && found.error === "Aggregate not found";
    if (!found.ok && !isNew) return found;
    const length = found.ok ? found.metadata.length : 0;
    const decided = await decide(found.ok ? found.data : {} as State, { length });
    const events = [decided ?? []].flat() as readonly NewEvent<Events>[];
    if (events.length === 0) return { ok: true, stream_ids: [], count: 0 };
    const written = await write(events, length);
    if (written.ok || written.error_type !== "occ_conflict" || tries >= retries) return written;
    const spreadMs = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** tries);
    // If the signal ends the pause, the next read says so.
    await sleep(world, world.random() * spreadMs, signal);
  }
}
