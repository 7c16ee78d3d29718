/** Atomic writes: events of several aggregates, put together into one target for each. */

import type { NewEvent, WrittenAtomic } from "./answers.ts";
import type { ClientTypes } from "./client_types.ts";
import { type PlannedEvent, sendWrite, type WriteOptions } from "./handle.ts";
import type { Refusal } from "./refusal.ts";
import type { Transport } from "./transport.ts";

/**
 * One aggregate of an atomic write.
 *
 * ```ts
 * import { db } from "./db.ts";
 * await db.$atomic([{
 *   aggregate_type: "order",
 *   id: "AAAAAAAA3",
 *   previous_length: 0,
 *   events: [{ type: "was_placed", data: { customer: "Ada" } }],
 * }]).orThrow();
 * ```
 */
export type AtomicTarget<Types extends ClientTypes> = {
  readonly [Name in keyof Types["aggregates"] & string]: {
    readonly aggregate_type: Name;
    readonly id: string;
    readonly events: readonly NewEvent<Types["aggregates"][Name]["events"]>[];
    /** Writes only if the aggregate has exactly so many events. */
    readonly previous_length?: number;
  };
}[keyof Types["aggregates"] & string];

/** What an atomic write is made of. */
export type AtomicPart = PlannedEvent | AtomicTarget<ClientTypes>;

interface Target {
  readonly aggregate_type: string;
  readonly id: string;
  readonly events: { readonly type: string; readonly data?: object }[];
  previous_length?: number;
}

/** Events of one aggregate become one target, in the order in which they were given. */
export async function writeAtomic(
  transport: Transport,
  parts: readonly AtomicPart[],
  options: WriteOptions<ClientTypes>,
): Promise<WrittenAtomic | Refusal> {
  const targets = new Map<string, Target>();
  for (const part of parts) {
    const { aggregate_type, id, previous_length } = part;
    const key = `${aggregate_type}:${id}`;
    const target = targets.get(key) ?? { aggregate_type, id, events: [], previous_length };
    if ((previous_length ?? target.previous_length) !== target.previous_length) {
      const error = `The events of '${key}' do not agree on previous_length`;
      return { ok: false, error_type: "bad_request", error, status: 0 };
    }
    target.events.push(
      ...("events" in part ? part.events : [{ type: part.type, data: part.data }]),
    );
    targets.set(key, target);
  }
  return await sendWrite(transport, "/_atomic-write", { targets: [...targets.values()] }, options);
}
