/**
 * Concurrent clients on the whole service, and a judge that knows nothing of it. Whatever they
 * were answered has one order that explains it, with each operation between its request and its
 * answer. `HISTORY_SEED=n` repeats the schedule of one seed; `HISTORIES=n` runs that many for
 * each store, from `HISTORY_FIRST` on. With `TEST_STORE=foundationdb` the store is a cluster.
 */

import assert from "node:assert/strict";
import type { Engine } from "../../src/kv/engine.ts";
import { createRandom, type Random } from "../crash/random.ts";
import { exampleSpec } from "../support/example_spec.ts";
import { type Fault, faultyEngine } from "../support/faulty_engine.ts";
import { chosenNodeStores } from "../support/node_stores.ts";
import { valueOf } from "../support/service_fixture.ts";
import { type TwoNodes, withTwoNodes } from "../support/two_nodes.ts";
import { checkHistory } from "./check_history.ts";
import { JOURNAL, runClients } from "./clients.ts";
import type { FinalStreams, Heard, Operation } from "./history.ts";

const HISTORIES = Number(Deno.env.get("HISTORIES") ?? 12);
const ONLY = Deno.env.get("HISTORY_SEED");
const FIRST = Number(ONLY ?? Deno.env.get("HISTORY_FIRST") ?? 1);
const COUNT = ONLY === undefined ? HISTORIES : 1;
const STREAMS = ["left", "right", "upper", "lower"];
const SPEC = {
  ...exampleSpec,
  singletons: [...(exampleSpec.singletons as string[] ?? []), ...STREAMS],
  aggregate_types: { ...(exampleSpec.aggregate_types as object), journal: JOURNAL },
};

/** Draws the fault of a commit; two of three commits have none. */
function drawFault(random: Random): Fault | undefined {
  const landed = random.chance(0.5);
  const draw = random.next();
  if (draw < 0.1) return { kind: "lose_reply", landed };
  if (draw < 0.2) return { kind: "unavailable", landed };
  if (draw < 0.25) return { kind: "conflict", times: 1 + random.below(3) };
  return draw < 0.33 ? { kind: "delay", milliseconds: random.below(4) } : undefined;
}

async function deploy({ a, b, tenants }: TwoNodes): Promise<void> {
  const request = { spec: SPEC, force: false, dryRun: false };
  for (const { service } of [a, b]) {
    valueOf(await service.specs.deploySpec(tenants.test, request));
  }
}

async function record(
  { a, b, tenants }: TwoNodes,
  seed: number,
): Promise<{ history: readonly Operation[]; streams: FinalStreams }> {
  const tenant = tenants.test;
  const random = createRandom(seed);
  return await runClients({
    nodes: [a, b].map(({ service }) => ({ data: service.data, tenant })),
    random,
    clients: 3 + random.below(8),
    operationsEach: 40,
    streams: STREAMS.slice(0, 1 + random.below(STREAMS.length)),
  });
}

const KINDS: readonly Heard["kind"][] = [
  "written",
  "conflict",
  "judged",
  "refused",
  "unknown",
  "length",
  "values",
];

for (const { name, open } of chosenNodeStores()) {
  Deno.test(`${COUNT} histories of clients on two nodes have one order each: ${name}`, async () => {
    const heard = new Map<string, number>();
    for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
      const random = createRandom(seed).fork(99);
      const wrap = (engine: Engine, number: number) =>
        faultyEngine(engine, () => isRunning ? drawFault(random) : undefined, { number });
      let isRunning = false;
      const faulty = async () => {
        const { engines: [a, b], dispose } = await open();
        return { engines: [wrap(a, 1), wrap(b, 2)] as const, dispose };
      };
      await withTwoNodes(faulty, async (nodes) => {
        await deploy(nodes);
        isRunning = true;
        const { history, streams } = await record(nodes, seed);
        isRunning = false;
        assert.deepEqual(checkHistory(history, streams), [], `HISTORY_SEED=${seed}`);
        for (const { heard: { kind } } of history) heard.set(kind, (heard.get(kind) ?? 0) + 1);
      });
    }
    // If one of the kinds never came, the histories were too tame to prove anything.
    if (COUNT >= 12) assert.deepEqual(KINDS.filter((kind) => !heard.has(kind)), []);
  });
}
