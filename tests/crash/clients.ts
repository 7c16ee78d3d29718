/** The load of a crash run: clients that send writes one after another until the server dies. */

import type { Api, WriteReply } from "./api.ts";
import type { Journal, Operation } from "./journal.ts";
import type { Random } from "./random.ts";
import { type ClientContext, eventData, pickWorkload, type Workload } from "./workload.ts";

export interface Load {
  readonly api: Api;
  readonly journal: Journal;
  readonly mix: readonly Workload[];
  readonly pool: readonly string[];
  /** For each client the stream that only it writes to, with the current length. */
  readonly own: readonly { readonly id: string; readonly length: number }[];
  readonly random: Random;
  /** True once the server is about to be killed: from then on an error is no fault. */
  readonly dying: () => boolean;
}

/** Resolves when every client has lost its server. Returns answers that no client should get. */
export async function runClients(load: Load): Promise<string[]> {
  const faults = await Promise.all(
    load.own.map(({ id, length }, index) =>
      runClient(load, clientContext(load.pool, { id, length }, load.random.fork(index)))
    ),
  );
  return faults.flat();
}

export function clientContext(
  pool: readonly string[],
  own: { readonly id: string; length?: number },
  random: Random,
): ClientContext {
  // Tokens must differ between clients and lives, and repeat when the seed is replayed.
  const name = random.uuid();
  let count = 0;
  return {
    random,
    pool,
    own,
    event() {
      const data = eventData(`${name}.${count++}`, random);
      return { type: random.pick(["was_credited", "was_debited"]), data };
    },
    idempotencyKey: () => `${name}/${count}`,
  };
}

async function runClient(load: Load, client: ClientContext): Promise<string[]> {
  const faults: string[] = [];
  while (!load.dying()) {
    const workload = pickWorkload(load.mix, client.random);
    const operation = load.journal.record(workload.write(client));
    faults.push(...await sendWrite(load, client.random, operation));
    follow(client, operation);
    if (faults.length > 0) return faults;
  }
  return faults;
}

/** Sends a write that is in the journal and records the reply. Returns the faults. */
export async function sendWrite(
  { api, dying }: Pick<Load, "api" | "dying">,
  random: Random,
  operation: Operation,
): Promise<string[]> {
  const faults: string[] = [];
  // Occasionally sends a keyed write twice at once, as an impatient client would.
  const isDoubled = operation.idempotencyKey !== undefined && random.chance(0.1);
  const replies = await Promise.allSettled(
    Array.from({ length: isDoubled ? 2 : 1 }, () => api.write(operation)),
  );
  const wasDying = dying();
  for (const reply of replies) {
    if (reply.status === "rejected") {
      if (!wasDying) faults.push(`write ${operation.number}: no answer: ${reply.reason}`);
    } else faults.push(...note(operation, reply.value));
  }
  const fresh = replies.filter((reply) =>
    reply.status === "fulfilled" && reply.value.status === 201 && !reply.value.replayed
  );
  if (fresh.length > 1) faults.push(`write ${operation.number}: two answers claim to be first`);
  return faults;
}

/** Records a reply in the journal. Any reply except 201 and the expected 409 is a fault. */
function note(operation: Operation, reply: WriteReply): string[] {
  if (reply.status === 201) {
    operation.outcome = "acknowledged";
    operation.streamIds = reply.streamIds;
    return [];
  }
  const isInProgress = reply.status === 409 &&
    reply.body.error_type === "idempotency_in_progress";
  if (isInProgress) return [];
  if (reply.status < 500 && operation.outcome === "unknown") operation.outcome = "refused";
  return [`write ${operation.number}: ${reply.status} ${JSON.stringify(reply.body)}`];
}

/** A client knows the length of its own stream as long as it gets the reply to each write. */
function follow({ own }: ClientContext, operation: Operation): void {
  const target = operation.targets[0]!;
  if (target.id !== own.id || own.length === undefined) return;
  own.length = operation.outcome === "acknowledged" ? own.length + target.events.length : undefined;
}
