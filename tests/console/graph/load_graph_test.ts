/** Asking for the graph: against a client that answers from memory. */

import assert from "node:assert/strict";
import type { Client, EventEffects } from "@daybook/client";
import { type LoadedGraph, loadGraph } from "../../../console/src/graph/load_graph.ts";

const SIGNAL = new AbortController().signal;

function at(key: string, index: number) {
  return { key, stream_id: String(index).padStart(12, "0") };
}

interface Memory {
  /** The cause of an event, by the key of its stream. */
  readonly causes?: Readonly<Record<string, { readonly key: string; readonly stream_id: string }>>;
  /** What the one event of a stream implies: the keys of other streams. */
  readonly implied?: (key: string) => readonly string[];
  /** The status that the effects of a stream are refused with. */
  readonly refused?: (key: string) => number | undefined;
}

/** Counts its answers, so that a test sees how many were asked for. */
function clientOf({ causes = {}, implied = () => [], refused = () => undefined }: Memory) {
  const asked = { events: 0, effects: 0 };
  const handle = (key: string) => ({
    eventsPage() {
      asked.events++;
      const metadata = { implied_by: causes[key] };
      return { ok: true, data: [{ event: { type: "was_seen", metadata } }] };
    },
    effects() {
      asked.effects++;
      const status = refused(key);
      if (status !== undefined) return { ok: false, status, error: "no", error_type: "no" };
      const data: EventEffects[] = [{
        depth: 0,
        ...at(key, 0),
        event_type: "was_seen",
        implied: implied(key).map((other) => ({ ...at(other, 0), event_type: "was_seen" })),
      }];
      return { ok: true, data, complete: true, truncated: false };
    },
  });
  return { db: { a: (id: string) => handle(`a:${id}`) } as unknown as Client, asked };
}

async function loadOf(db: Client, key: string): Promise<LoadedGraph> {
  const loaded = await loadGraph(db, at(key, 0), SIGNAL);
  assert.ok(loaded.ok);
  return loaded as LoadedGraph;
}

Deno.test("causes that form a circle, which no store can have, end after a few", async () => {
  const { db, asked } = clientOf({ causes: { "a:1": at("a:2", 0), "a:2": at("a:1", 0) } });
  const { graph } = await loadOf(db, "a:1");
  assert.equal(graph.nodes.size, 2);
  assert.ok(asked.events <= 21, `${asked.events} events were asked for`);
});

Deno.test("a chain without an end is loaded in steps, each only when it is wanted", async () => {
  const next = (key: string) => [`a:${Number(key.slice(2)) + 1}`];
  const { db, asked } = clientOf({ implied: next });
  const first = await loadOf(db, "a:1");
  assert.ok(asked.effects <= 24);
  assert.equal(first.graph.unknown.length, 1);
  const before = first.graph.nodes.size;
  const more = await first.loadMore(SIGNAL) as LoadedGraph;
  assert.ok(asked.effects <= 48);
  assert.ok(more.graph.nodes.size > before);
});

Deno.test("an event that is gone is given up, one that was refused can be asked for again", async () => {
  const refusals: Record<string, number | undefined> = { "a:2": 404, "a:3": 429 };
  const { db } = clientOf({
    implied: (key) => key === "a:1" ? ["a:2", "a:3"] : [],
    refused: (key) => refusals[key],
  });
  const loaded = await loadOf(db, "a:1");
  assert.equal(loaded.refusal?.status, 429);
  assert.deepEqual(loaded.graph.unknown, [at("a:3", 0)]);
  refusals["a:3"] = undefined;
  const more = await loaded.loadMore(SIGNAL) as LoadedGraph;
  assert.equal(more.refusal, undefined);
  assert.deepEqual(more.graph.unknown, []);
});

Deno.test("a full graph asks for nothing more", async () => {
  const many = Array.from({ length: 1_200 }, (_, n) => `a:${n + 2}`);
  const { db, asked } = clientOf({ implied: (key) => key === "a:1" ? many : [] });
  const { graph } = await loadOf(db, "a:1");
  assert.equal(graph.isCut, true);
  assert.equal(asked.effects, 1);
});

Deno.test("without the effects of the event itself there is no graph", async () => {
  const { db } = clientOf({ refused: () => 403 });
  const loaded = await loadGraph(db, at("a:1", 0), SIGNAL);
  assert.equal(loaded.ok, false);
});
