/**
 * Drops outbox entries whose implied event the current spec no longer implies. One error record
 * for each root and deploy reports it.
 *
 * A deploy may leave thousands of such entries, all of one root, and each would conflict with
 * the others on the root's record. So entries that arrive while a transaction of the same root
 * runs share the next one.
 */

import { countErrors, type Counters } from "../../domain/measures/counters.ts";
import { eventId } from "../../domain/event.ts";
import {
  type EmitEntry,
  entryRoot,
  type OutboxPlace,
  type OutboxWork,
} from "../../domain/reaction/outbox_entry.ts";
import { type Root, rootKey } from "../../domain/reaction/root.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { clearEntry, hasEntry } from "../../store/reactions/outbox.ts";
import { isCurrentSpec } from "../../store/specs.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import { noteDropped } from "../writes/root_claims.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

export interface ImpliedWork {
  readonly work: OutboxWork;
  readonly entry: EmitEntry;
}

export interface Dropper {
  /** Drops the entry under the spec with that hash. It stays if that spec is no longer current. */
  drop(implied: ImpliedWork, specHash: string): Promise<void>;
}

export interface DropperParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: Pick<SpecCache, "forget">;
  readonly counters: Counters;
}

/** What waits for one root under one spec. */
interface Queue {
  readonly tenant: number;
  readonly root: Root;
  readonly specHash: string;
  waiting: Waiting[];
}

interface Waiting {
  readonly implied: ImpliedWork;
  readonly done: PromiseWithResolvers<void>;
}

/** Entries that share one transaction at most. */
const GROUP_MAX = 250;

export function openDropper({ engine, host, specs, counters }: DropperParts): Dropper {
  const queues = new TextMap<Queue>();

  function drop(implied: ImpliedWork, specHash: string): Promise<void> {
    const { place } = implied.work;
    const root = entryRoot(place, implied.entry);
    const name = JSON.stringify([place.tenant, root.of, specHash]);
    const waiting = { implied, done: Promise.withResolvers<void>() };
    const queue = queues.get(name);
    if (queue === undefined) {
      const opened = { tenant: place.tenant, root, specHash, waiting: [waiting] };
      queues.set(name, opened);
      void work(name, opened);
    } else queue.waiting.push(waiting);
    return waiting.done.promise;
  }

  async function work(name: string, queue: Queue): Promise<void> {
    while (queue.waiting.length > 0) {
      const group = queue.waiting.slice(0, GROUP_MAX);
      queue.waiting = queue.waiting.slice(GROUP_MAX);
      await dropGroup(queue, group.map(({ implied }) => implied)).then(
        () => group.forEach(({ done }) => done.resolve()),
        (error: unknown) => group.forEach(({ done }) => done.reject(error)),
      );
    }
    queues.delete(name);
  }

  async function dropGroup(queue: Queue, group: readonly ImpliedWork[]): Promise<void> {
    const { tenant, root, specHash } = queue;
    const record = recordOf(host, root, group[0]!);
    const outcome = await engine.transact(async (tx) => {
      // This process may not know yet of the deploy under which the events were made.
      if (!await isCurrentSpec(tx, tenant, specHash)) return "other_spec";
      if (!await clearAll(tx, group)) return undefined;
      const isNoted = await noteDropped(tx, tenant, root, specHash, host.nowMs(), record);
      return isNoted ? "noted" : undefined;
    }, { owner: tenant });
    if (outcome === "noted") countErrors(counters, [record]);
    else if (outcome === "other_spec") specs.forget(tenant);
  }

  return { drop };
}

/** Clears the entries that nobody has done meanwhile. Returns whether there were any. */
async function clearAll(tx: Transaction, group: readonly ImpliedWork[]): Promise<boolean> {
  const are = await Promise.all(group.map(({ work }) => hasEntry(tx, work.place)));
  const left = group.filter((_, i) => are[i]);
  for (const { work } of left) clearEntry(tx, work);
  return left.length > 0;
}

function recordOf(host: Host, { of }: Root, { work, entry }: ImpliedWork) {
  return makeErrorRecord(host, {
    error_type: "implication_dropped",
    message: "The current spec does not imply this event any more, so it is not written; " +
      `nor is what else was implied like it by the write to ${rootKey(of)}`,
    context: { ...contextOf(work.place, entry), root_key: rootKey(of) },
    request_id: entry.requestId,
  });
}

/** Context for people who look for an event that was not written, and why. */
export function contextOf({ stream, index }: OutboxPlace, entry: OutboxWork["entry"]) {
  const trigger = {
    event_key: stream,
    event_type: entry.eventType,
    stream_id: eventId(index),
  };
  if (entry.kind === "sagas") return { operation: "show_to_sagas", ...trigger };
  const { key, eventType } = entry.emission;
  return { operation: "imply", ...trigger, implied_key: key, implied_event_type: eventType };
}
