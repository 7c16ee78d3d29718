/**
 * The load of an outage run: clients of several nodes that write through outages. They judge
 * every answer. A keyed write is repeated, on any node, until its outcome is known; an unkeyed
 * one is sent once. See docs/reference/writing.md (idempotency) and docs/reference/limits.md
 * (overload).
 */

import type { WriteReply } from "../crash/api.ts";
import { clientContext } from "../crash/clients.ts";
import type { Journal, Operation } from "../crash/journal.ts";
import type { Random } from "../crash/random.ts";
import { type ClientContext, pickWorkload, STANDARD_MIX } from "../crash/workload.ts";
import { type Node, pause } from "./node.ts";

export interface OutageLoad {
  readonly nodes: readonly Node[];
  readonly journal: Journal;
  readonly pool: readonly string[];
  readonly random: Random;
  readonly clients: number;
  readonly isOver: () => boolean;
  /** Whether the store was away at some moment between the two; only then may a node say so. */
  readonly wasAway: (fromMs: number, toMs: number) => boolean;
  readonly tally: Tally;
}

/** What the clients saw. */
export interface Tally {
  /** Acknowledgements by node. */
  readonly acknowledged: Map<Node, number>;
  unavailable: number;
  brokenConnections: number;
  inProgress: number;
  replayed: number;
  readsAfterWrites: number;
  slowestMs: number;
}

/** Five seconds for the answer, plus what the client itself may be late on a busy machine. */
const ANSWER_MS_MAX = 5_000 + 500;
const REPEAT_MS = 100;
/** Even an outage of the long run, with its recovery, ends well before this. */
const GIVE_UP_MS = 90_000;
const DOUBLED = 0.1;
const READ_AFTER_WRITE = 0.2;
const THINK_MS_MAX = 20;

/** One attempt to send a write. */
type Try =
  | {
    readonly kind: "answered";
    readonly reply: WriteReply;
    readonly sentAt: number;
    readonly heardAt: number;
    /** Without the time for which the node was held still. */
    readonly tookMs: number;
  }
  | { readonly kind: "broken"; readonly reason: string; readonly isExcused: boolean };

interface Client {
  readonly context: ClientContext;
  /** A stream that only this client writes to; replaced when its length is no longer known. */
  readonly own: { id: string; length?: number };
  readonly random: Random;
  readonly home: Node;
}

/** Resolves when all clients have stopped, each with its last write settled. Returns faults. */
export async function runOutageClients(load: OutageLoad): Promise<string[]> {
  const faults = await Promise.all(
    Array.from({ length: load.clients }, (_, index) => {
      const random = load.random.fork(index);
      const own = { id: random.uuid(), length: 0 };
      const context = clientContext(load.pool, own, random);
      const home = load.nodes[index % load.nodes.length]!;
      return runClient(load, { context, own, random, home });
    }),
  );
  return faults.flat();
}

async function runClient(load: OutageLoad, client: Client): Promise<string[]> {
  const { own, random } = client;
  while (!load.isOver()) {
    const operation = load.journal.record(pickWorkload(STANDARD_MIX, random).write(client.context));
    const faults = operation.idempotencyKey === undefined
      ? await writeOnce(load, client, operation)
      : await writeUntilKnown(load, client, operation);
    if (operation.targets[0]!.id === own.id) {
      if (operation.outcome === "acknowledged") own.length! += operation.targets[0]!.events.length;
      else Object.assign(own, { id: random.uuid(), length: 0 });
    }
    if (random.chance(READ_AFTER_WRITE)) faults.push(...await readOwn(load, client));
    if (faults.length > 0) return faults;
    await pause(random.below(THINK_MS_MAX));
  }
  return [];
}

async function writeOnce(
  load: OutageLoad,
  { home, random }: Client,
  operation: Operation,
): Promise<string[]> {
  return judge(load, operation, await send(load, upNode(load, home, random), operation), false);
}

/** The first attempt goes to the home node, later ones to any node; some go to two at once. */
async function writeUntilKnown(
  load: OutageLoad,
  { home, random }: Client,
  operation: Operation,
): Promise<string[]> {
  const startedAt = performance.now();
  for (let turn = 0;; turn++) {
    const first = upNode(load, turn === 0 ? home : random.pick(load.nodes), random);
    const isDoubled = random.chance(DOUBLED);
    const nodes = isDoubled ? [first, upNode(load, random.pick(load.nodes), random)] : [first];
    const wasKnown = operation.outcome === "acknowledged";
    const tries = await Promise.all(nodes.map((node) => send(load, node, operation)));
    const faults = tries.flatMap((each) => judge(load, operation, each, isDoubled || turn > 0));
    const fresh = tries.filter((each) =>
      each.kind === "answered" && each.reply.status === 201 && !each.reply.replayed
    );
    if (fresh.length > (wasKnown ? 0 : 1)) {
      faults.push(`write ${operation.number}: more than one answer claims to be the first`);
    }
    if (faults.length > 0 || operation.outcome === "acknowledged") return faults;
    if (performance.now() - startedAt > GIVE_UP_MS) {
      return [`write ${operation.number}: no outcome after ${GIVE_UP_MS / 1000} s`];
    }
    await pause(REPEAT_MS);
  }
}

/** A client stops asking a node that it knows to be dead. */
function upNode(load: OutageLoad, wanted: Node, random: Random): Node {
  const up = load.nodes.filter(({ isUp }) => isUp);
  return wanted.isUp || up.length === 0 ? wanted : random.pick(up);
}

async function send(load: OutageLoad, node: Node, operation: Operation): Promise<Try> {
  const { lives, isUp, api } = node;
  const sentAt = performance.now();
  const heldMs = node.heldMs();
  try {
    const reply = await api.write(operation);
    const heardAt = performance.now();
    const tookMs = heardAt - sentAt - (node.heldMs() - heldMs);
    load.tally.slowestMs = Math.max(load.tally.slowestMs, tookMs);
    if (reply.status === 201) {
      load.tally.acknowledged.set(node, (load.tally.acknowledged.get(node) ?? 0) + 1);
    }
    return { kind: "answered", reply, sentAt, heardAt, tookMs };
  } catch (error) {
    load.tally.brokenConnections++;
    const isExcused = !isUp || !node.isUp || node.lives !== lives;
    const ms = Math.round(performance.now() - sentAt);
    return { kind: "broken", reason: `${node.name} after ${ms} ms: ${error}`, isExcused };
  }
}

/** Records the answer in the journal; returns answers that must never occur. */
function judge(
  { tally, wasAway }: OutageLoad,
  operation: Operation,
  tried: Try,
  mayBeInProgress: boolean,
): string[] {
  const name = `write ${operation.number} (${operation.form})`;
  if (tried.kind === "broken") return tried.isExcused ? [] : [`${name}: ${tried.reason}`];
  const { reply, sentAt, heardAt, tookMs } = tried;
  const faults: string[] = [];
  const shown = () => `${name}: ${reply.status} ${JSON.stringify(reply.body)}`;
  if (tookMs > ANSWER_MS_MAX) faults.push(`${shown()} only after ${Math.round(tookMs)} ms`);
  if (reply.status === 201) {
    const ids = JSON.stringify(reply.streamIds);
    if (operation.outcome === "acknowledged" && JSON.stringify(operation.streamIds) !== ids) {
      faults.push(`${name}: acknowledged as ${JSON.stringify(operation.streamIds)}, now ${ids}`);
    }
    if (reply.replayed) tally.replayed++;
    operation.outcome = "acknowledged";
    operation.streamIds = reply.streamIds;
  } else if (reply.status === 503) {
    tally.unavailable++;
    if (!wasAway(sentAt, heardAt)) faults.push(`${shown()} while the store was there`);
    const { headers, body } = reply;
    const isWhole = body.ok === false && body.error_type === "unavailable" &&
      headers.get("retry-after") === "1" && headers.has("x-error-id");
    if (!isWhole) faults.push(`${shown()} lacks what a 503 has`);
  } else if (reply.status === 409 && reply.body.error_type === "idempotency_in_progress") {
    tally.inProgress++;
    if (!mayBeInProgress) faults.push(`${shown()}, but it was sent once`);
    if (reply.headers.get("retry-after") !== "1") faults.push(`${shown()} lacks Retry-After`);
  } else {
    // A guard here names a length that nobody else can have changed, so a conflict is wrong
    // too.
    faults.push(shown());
  }
  return faults;
}

/** A write acknowledged by one node must be visible to a later read on another. */
async function readOwn(load: OutageLoad, { own, random }: Client): Promise<string[]> {
  if (own.length === 0) return [];
  const node = random.pick(load.nodes);
  const { lives, isUp, api } = node;
  const sentAt = performance.now();
  try {
    const length = await api.length(`account:${own.id}`);
    load.tally.readsAfterWrites++;
    if (length === own.length) return [];
    return [`account:${own.id}: length ${length} on ${node.name}, acknowledged ${own.length}`];
  } catch (error) {
    if (!isUp || !node.isUp || node.lives !== lives) return [];
    const heardAt = performance.now();
    const isOutage = String(error).includes(": 503 ") && load.wasAway(sentAt, heardAt);
    if (isOutage && heardAt - sentAt <= ANSWER_MS_MAX) return [];
    return [`read on ${node.name} after ${Math.round(heardAt - sentAt)} ms: ${error}`];
  }
}
