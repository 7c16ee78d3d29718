/**
 * Concurrent clients of a service, made from a seed. They send single, batch and atomic writes,
 * with and without an expected length, repeat keyed writes of others, and read in every way.
 * What each of them was answered is the history.
 */

import type { ReadEventsRequest } from "../../src/domain/reading.ts";
import type { Outcome } from "../../src/domain/refusal.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { WriteRequest, Written } from "../../src/domain/write/write.ts";
import type { DataService } from "../../src/features/service.ts";
import type { Random } from "../crash/random.ts";
import type { Bound, FinalStreams, Heard, Operation, Part, Write } from "./history.ts";
import { parsedState } from "../support/parsed_state.ts";
import type { AggregateView } from "../../src/domain/reading.ts";

const NOTED = [
  { append: { target: "values", value: "$.data.value" } },
  { increment: { target: "count" } },
];

/** The type of all streams; its state lists its values, and counts them for guards. */
export const JOURNAL = {
  events: {
    was_noted: { schema: true, handler: NOTED },
    was_guarded: {
      schema: true,
      handler: NOTED,
      guards: [
        { require: { not: { gt: ["@.count", "$.data.own"] } }, message: "own" },
        {
          with: { other: { type: "journal", id: "$.data.other" } },
          require: { not: { gt: ["$.with.other.count", "$.data.most"] } },
          message: "other",
        },
      ],
    },
  },
};

export interface Scene {
  /** Each client draws one of them for each operation. */
  readonly nodes: readonly { readonly data: DataService; readonly tenant: Tenant }[];
  readonly random: Random;
  readonly clients: number;
  readonly operationsEach: number;
  /** Ids of aggregates of the type `journal`. */
  readonly streams: readonly string[];
}

interface Client {
  readonly scene: Scene;
  readonly number: number;
  readonly random: Random;
  /** The lengths that this client has seen, from which it guesses expected lengths. */
  readonly lengths: Map<string, number>;
}

interface Shared {
  readonly history: Operation[];
  /** Keyed writes that others may repeat. */
  readonly keyed: Write[];
  moment: number;
  values: number;
}

const PAUSES_MS_MAX = 3;
const REPEATS_MAX = 3;

/** Runs all clients to their ends; then reads every stream once more. */
export async function runClients(
  scene: Scene,
): Promise<{ history: readonly Operation[]; streams: FinalStreams }> {
  const shared: Shared = { history: [], keyed: [], moment: 0, values: 0 };
  const clients = Array.from({ length: scene.clients }, (_, number) => {
    const client = { scene, number, random: scene.random.fork(number), lengths: new Map() };
    return runClient(client, shared);
  });
  await Promise.all(clients);
  const [node] = scene.nodes;
  const streams = new Map<string, string[]>();
  for (const stream of scene.streams) streams.set(stream, await readAll(node!, stream));
  return { history: shared.history, streams };
}

async function runClient(client: Client, shared: Shared): Promise<void> {
  const { random, scene } = client;
  for (let done = 0; done < scene.operationsEach; done++) {
    const pause = random.below(PAUSES_MS_MAX + 1);
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause - 1));
    const dice = random.next();
    if (dice < 0.3) await readOne(client, shared);
    else if (dice < 0.4 && shared.keyed.length > 0) {
      await send(client, shared, random.pick(shared.keyed));
    } else await writeOne(client, shared);
  }
}

async function writeOne(client: Client, shared: Shared): Promise<void> {
  const write = newWrite(client, shared);
  let heard = await send(client, shared, write);
  // A client without an answer asks again under the same key.
  for (let tries = 0; write.isKeyed && heard.kind === "unknown" && tries < REPEATS_MAX; tries++) {
    heard = await send(client, shared, write);
  }
}

function newWrite({ random, scene, lengths }: Client, shared: Shared): Write {
  const count = random.chance(0.4) ? 1 + random.below(Math.min(3, scene.streams.length)) : 1;
  const left = [...scene.streams];
  const parts: Part[] = Array.from({ length: count }, () => {
    const [stream] = left.splice(random.below(left.length), 1);
    const size = random.chance(0.3) ? 2 + random.below(4) : 1;
    const values = Array.from({ length: size }, () => `v${shared.values++}`);
    const known = lengths.get(stream!);
    const isGuarded = random.chance(0.5);
    const expectedLength = isGuarded ? known ?? random.below(3) : undefined;
    return { stream: stream!, values, expectedLength };
  });
  const isKeyed = random.chance(0.5);
  const bound = (stream: string) => ({
    stream,
    atMost: Math.max(0, (lengths.get(stream) ?? 0) + random.below(6) - 2),
  });
  const guarded = parts.map((part): Part => {
    if (!random.chance(0.4)) return part;
    const other = left.length > 0 ? random.pick(left) : undefined;
    const guards = other === undefined ? [bound(part.stream)] : [bound(part.stream), bound(other)];
    return { ...part, guards };
  });
  const preconditions = left.length > 0 && random.chance(0.2) ? [bound(random.pick(left))] : [];
  const name = parts[0]!.values[0]!;
  const write = { kind: "write", write: name, isKeyed, parts: guarded, preconditions } as const;
  if (isKeyed) shared.keyed.push(write);
  return write;
}

async function send(client: Client, shared: Shared, write: Write): Promise<Heard> {
  const node = client.random.pick(client.scene.nodes);
  const invokedAt = shared.moment++;
  const heard = await ask(
    () => node.data.writeEvents(node.tenant, requestOf(write)),
    (outcome) => writeHeard(write, outcome),
  );
  const answeredAt = heard.kind === "unknown" ? Infinity : shared.moment++;
  shared.history.push({ client: client.number, asked: write, heard, invokedAt, answeredAt });
  learn(client.lengths, write, heard);
  return heard;
}

function learn(lengths: Map<string, number>, { parts }: Write, heard: Heard): void {
  if (heard.kind === "conflict") lengths.set(heard.stream, heard.length);
  if (heard.kind !== "written") return;
  for (const [index, { stream, values }] of parts.entries()) {
    lengths.set(stream, heard.first[index]! + values.length);
  }
}

function requestOf({ write, isKeyed, parts, preconditions = [] }: Write): WriteRequest {
  const isAtomic = parts.length > 1;
  const targets = parts.map(({ stream, values, expectedLength, guards }) => ({
    aggregateType: "journal",
    id: stream,
    events: values.map((value, index) => (
      guards !== undefined && index === 0
        ? { type: "was_guarded", data: { value, ...guardData(stream, guards) } }
        : { type: "was_noted", data: { value } }
    )),
    previousLength: isAtomic ? expectedLength : undefined,
  }));
  const guard = isAtomic ? {} : { previous_length: parts[0]!.expectedLength };
  return {
    form: isAtomic ? "atomic" : parts[0]!.values.length === 1 ? "single" : "batch",
    targets,
    metadata: JSON.parse(JSON.stringify({ actor: { type: "user", id: "global" }, ...guard })),
    idempotency: isKeyed ? { key: write, bodyHash: "0".repeat(64) } : undefined,
    requestId: `request-${write}`,
    ...(preconditions.length > 0 && {
      preconditions: preconditions.map(({ stream, atMost }) => (
        { key: `journal:${stream}`, require: { not: { gt: ["@.count", atMost] } } }
      )),
    }),
  };
}

/** What the two guards of an event compare with; without another stream, the second is its own. */
function guardData(stream: string, [own, other]: readonly Bound[]) {
  return { own: own!.atMost, other: other?.stream ?? stream, most: other?.atMost ?? 1e9 };
}

/** A service that throws has not said what happened to the write. */
async function ask<T>(
  call: () => Promise<Outcome<T>>,
  hear: (outcome: Outcome<T>) => Heard,
): Promise<Heard> {
  try {
    return hear(await call());
  } catch (error) {
    if (error instanceof Error && error.name === "EngineUnavailable") return { kind: "unknown" };
    throw error;
  }
}

function writeHeard({ parts, preconditions = [] }: Write, outcome: Outcome<Written>): Heard {
  if (outcome.ok) {
    const placed = outcome.value.targets;
    const first = parts.map(({ stream }) =>
      placed.find(({ key }) => key === `journal:${stream}`)!.first
    );
    return { kind: "written", first };
  }
  const { refusal } = outcome;
  if (refusal.kind === "occ_conflict") {
    return { kind: "conflict", stream: parts[0]!.stream, length: refusal.length };
  }
  if (refusal.kind === "occ_conflict_atomic") {
    return { kind: "conflict", stream: refusal.key.split(":")[1]!, length: refusal.length };
  }
  if (refusal.kind === "idempotency_in_progress") return { kind: "refused" };
  if (refusal.kind === "precondition_failed") return { kind: "judged", failed: refusal.index };
  if (refusal.kind === "guard_failed") {
    const before = parts.slice(0, refusal.targetIndex ?? 0)
      .reduce((sum, { guards = [] }) => sum + guards.length, 0);
    return { kind: "judged", failed: preconditions.length + before + refusal.guard };
  }
  throw new Error(`a refusal that no client asked for: ${JSON.stringify(refusal)}`);
}

async function readOne(client: Client, shared: Shared): Promise<void> {
  const { random, scene } = client;
  const { data, tenant } = random.pick(scene.nodes);
  const stream = random.pick(scene.streams);
  const synchronous = random.chance(0.3);
  const way = random.below(3);
  const invokedAt = shared.moment++;
  const request = { aggregateType: "journal", id: stream, synchronous };
  const heard = way === 0
    ? await ask(() => data.readLength(tenant, "journal", stream), lengthHeard)
    : way === 1
    ? await ask(() => data.readAggregate(tenant, request), stateHeard)
    : await ask(() => data.readEvents(tenant, allOf(stream)), (outcome) => {
      if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
      return { kind: "values", values: valuesOf(outcome.value.entries) };
    });
  const answeredAt = heard.kind === "unknown" ? Infinity : shared.moment++;
  const asked = { kind: "read", stream } as const;
  shared.history.push({ client: client.number, asked, heard, invokedAt, answeredAt });
  if (heard.kind === "length") client.lengths.set(stream, heard.length);
}

function lengthHeard(outcome: Outcome<number>): Heard {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return { kind: "length", length: outcome.value };
}

function stateHeard(
  outcome: Outcome<Pick<AggregateView, "dataJson" | "length">>,
): Heard {
  if (!outcome.ok) {
    if (outcome.refusal.kind === "aggregate_missing") return { kind: "values", values: [] };
    throw new Error(JSON.stringify(outcome.refusal));
  }
  const { values = [] } = parsedState(outcome.value);
  if (values.length !== outcome.value.length) throw new Error("a state of another length");
  return { kind: "values", values };
}

function allOf(stream: string): ReadEventsRequest {
  return { aggregateType: "journal", id: stream, count: 5_000, direction: "forwards" };
}

function valuesOf(entries: readonly { readonly raw: string }[]): string[] {
  return entries.map(({ raw }) => JSON.parse(raw).data.value);
}

async function readAll({ data, tenant }: Scene["nodes"][number], stream: string) {
  const outcome = await data.readEvents(tenant, allOf(stream));
  if (!outcome.ok || outcome.value.truncated) throw new Error(`cannot read all of ${stream}`);
  return valuesOf(outcome.value.entries);
}
