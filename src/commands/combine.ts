/**
 * Combines concurrent writes to one stream: while one transaction on a stream is under way, the
 * writes that arrive wait, and the next transaction takes them all, each with its own answer. A hot
 * stream then costs one commit for many requests instead of one conflict for each.
 */

import { limits } from "../domain/limits.ts";
import type { Outcome } from "../domain/refusal.ts";
import type { Written } from "../domain/write.ts";
import type { Engine } from "../kv/engine.ts";
import { appendWrites, type PreparedWrite } from "./append_writes.ts";

/** Writes that share one transaction at most. */
const COMBINED_WRITES_MAX = 500;
/** Events' bytes that share one transaction at most; a larger write goes alone. */
const COMBINED_BYTES_MAX = limits.writeStoredBytesMax / 4;

interface Waiting {
  readonly write: PreparedWrite;
  readonly resolve: (outcome: Outcome<Written>) => void;
  readonly reject: (error: unknown) => void;
}

export interface Combiner {
  submit(tenant: number, write: PreparedWrite): Promise<Outcome<Written>>;
}

export function createCombiner(engine: Engine): Combiner {
  /** Streams with a transaction under way, as `<tenant>/<key>`, and who waits for the next. */
  const busy = new Map<string, Waiting[]>();

  function submit(tenant: number, write: PreparedWrite): Promise<Outcome<Written>> {
    if (write.targets.length > 1) return commitAlone(tenant, write);
    const stream = `${tenant}/${write.targets[0]!.key}`;
    return new Promise((resolve, reject) => {
      const waiting = busy.get(stream);
      if (waiting !== undefined) {
        waiting.push({ write, resolve, reject });
        return;
      }
      busy.set(stream, []);
      commitInTurns(stream, tenant, [{ write, resolve, reject }]);
    });
  }

  async function commitAlone(tenant: number, write: PreparedWrite): Promise<Outcome<Written>> {
    const [outcome] = await engine.transact((tx) => appendWrites(tx, tenant, [write]));
    return outcome!;
  }

  async function commitInTurns(stream: string, tenant: number, first: Waiting[]): Promise<void> {
    let group = first;
    while (group.length > 0) {
      await commitGroup(tenant, group);
      group = takeGroup(busy.get(stream)!);
    }
    busy.delete(stream);
  }

  async function commitGroup(tenant: number, group: readonly Waiting[]): Promise<void> {
    const writes = group.map(({ write }) => write);
    try {
      const outcomes = await engine.transact((tx) => appendWrites(tx, tenant, writes));
      for (const [index, { resolve }] of group.entries()) resolve(outcomes[index]!);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  return { submit };
}

/** Takes from the front of `waiting` what fits into one transaction: at least one, if any. */
function takeGroup(waiting: Waiting[]): Waiting[] {
  let count = 0;
  let bytes = 0;
  for (const { write } of waiting) {
    bytes += write.bytes;
    if (count > 0 && (count === COMBINED_WRITES_MAX || bytes > COMBINED_BYTES_MAX)) break;
    count++;
  }
  return waiting.splice(0, count);
}
