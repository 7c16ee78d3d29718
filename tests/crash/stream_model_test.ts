/**
 * The judge of the crash driver: it catches a store that lost, duplicated or changed something.
 */

import assert from "node:assert/strict";
import { type Life, streamsHoldWhatWasSent } from "./checks.ts";
import { createJournal, type Journal, type Operation, type Outcome } from "./journal.ts";
import { createRandom } from "./random.ts";
import {
  absorbEntries,
  chainHash,
  createStreamModel,
  type ListedEntry,
  operationFaults,
  wholeStreamFaults,
} from "./stream_model.ts";

const ID = "5b0e8f6c-3d1a-4c2b-9f7e-0a1b2c3d4e5f";
const KEY = `account:${ID}`;

/** A batch of events with these tokens, sent to one stream. */
function send(
  journal: Journal,
  tokens: readonly string[],
  outcome: Outcome,
  id = ID,
): Operation {
  const events = tokens.map((token) => ({
    type: "was_credited",
    data: { token, amount: 2, note: "" },
  }));
  const operation = journal.record({
    form: "batch",
    targets: [{ aggregateType: "account", id, events }],
  });
  operation.outcome = outcome;
  operation.streamIds = [tokens.map((_, index) => String(index))];
  return operation;
}

/** A stream as a server would list it. */
function listed(events: readonly { token: string; note?: string; key?: string }[]): ListedEntry[] {
  let hash: string | undefined;
  return events.map(({ token, note = "", key = KEY }, index) => {
    const data = { token, amount: 2, note };
    const raw = JSON.stringify({ key, type: "was_credited", data, metadata: {} });
    hash = chainHash(hash, raw);
    return { id: String(index), hash, raw };
  });
}

Deno.test("absorbEntries() and operationFaults() accept a stream of what was sent", () => {
  const journal = createJournal();
  const operation = send(journal, ["a", "b"], "acknowledged");
  const stream = createStreamModel(KEY);
  assert.deepEqual(absorbEntries(stream, listed([{ token: "a" }, { token: "b" }]), journal), []);
  assert.deepEqual(operationFaults(operation, journal), []);
  assert.deepEqual(stream.state, { count: 2, sum: 4, last: "b" });
});

Deno.test("operationFaults() catches an acknowledged write that is lost", () => {
  const journal = createJournal();
  const lost = send(journal, ["a"], "acknowledged");
  assert.match(operationFaults(lost, journal)[0]!, /is lost/);
  assert.deepEqual(operationFaults(send(journal, ["b"], "unknown"), journal), []);
});

Deno.test("streamsHoldWhatWasSent() calls nothing lost of a stream that could not be read", async () => {
  const journal = createJournal();
  const written = [send(journal, ["a"], "acknowledged")];
  const judge = (events: () => Promise<ListedEntry[]>) =>
    streamsHoldWhatWasSent(
      { api: { events }, journal, written, streams: new Map() } as unknown as Life,
    );
  assert.deepEqual(await judge(() => Promise.reject(new Error("timed out"))), [
    `${KEY} could not be read: Error: timed out`,
  ]);
  assert.match((await judge(() => Promise.resolve([])))[0]!, /is lost/);
  assert.deepEqual(await judge(() => Promise.resolve(listed([{ token: "a" }]))), []);
});

Deno.test("streamsHoldWhatWasSent() judges a stream that was read, whatever could not be beside it", async () => {
  const journal = createJournal();
  const unread = "0c2d3e4f-8b1e-4f6a-9d24-5b3e1a7c5a6b";
  const written = [
    send(journal, ["a"], "acknowledged", unread),
    send(journal, ["b"], "acknowledged"),
  ];
  const events = (key: string) =>
    key === KEY ? Promise.resolve([]) : Promise.reject(new Error("timed out"));
  const life = { api: { events }, journal, written, streams: new Map() } as unknown as Life;
  assert.deepEqual(await streamsHoldWhatWasSent(life), [
    `account:${unread} could not be read: Error: timed out`,
    "write 1 (batch, acknowledged) is lost",
  ]);
});

Deno.test("operationFaults() catches a write that is there in part", () => {
  const journal = createJournal();
  const operation = send(journal, ["a", "b"], "unknown");
  absorbEntries(createStreamModel(KEY), listed([{ token: "a" }]), journal);
  assert.match(operationFaults(operation, journal)[0]!, /there in part: 1 of 2/);
});

Deno.test("operationFaults() catches another order, and other ids than answered", () => {
  const journal = createJournal();
  const operation = send(journal, ["a", "b"], "acknowledged");
  absorbEntries(createStreamModel(KEY), listed([{ token: "b" }, { token: "a" }]), journal);
  const faults = operationFaults(operation, journal).join("\n");
  assert.match(faults, /out of order/);
  assert.match(faults, /acknowledged as stream id 0, found at 1/);
});

Deno.test("absorbEntries() catches a second effect, a refused write and a foreign event", () => {
  const journal = createJournal();
  send(journal, ["a"], "acknowledged");
  send(journal, ["b"], "refused");
  const entries = listed([{ token: "a" }, { token: "a" }, { token: "b" }, { token: "c" }]);
  const faults = absorbEntries(createStreamModel(KEY), entries, journal);
  assert.equal(faults.length, 3);
  assert.match(faults[0]!, /event 1: .*second effect/);
  assert.match(faults[1]!, /event 2: .*was refused/);
  assert.match(faults[2]!, /event 3: nobody sent it/);
});

Deno.test("absorbEntries() catches changed data, a wrong stream and a broken chain", () => {
  const journal = createJournal();
  send(journal, ["a", "b"], "acknowledged");
  const changed = listed([{ token: "a", note: "other" }, { token: "b", key: "account:global" }]);
  const faults = absorbEntries(createStreamModel(KEY), changed, journal).join("\n");
  assert.match(faults, /event 0: other data than sent/);
  assert.match(faults, /event 1: it belongs to/);

  const fresh = createJournal();
  send(fresh, ["a", "b"], "acknowledged");
  const broken = listed([{ token: "a" }, { token: "b" }]);
  broken[1] = { ...broken[1]!, hash: "0".repeat(64) };
  assert.match(absorbEntries(createStreamModel(KEY), broken, fresh)[0]!, /event 1: chain hash 0/);
});

Deno.test("wholeStreamFaults() catches an event that is gone or was rewritten", () => {
  const journal = createJournal();
  send(journal, ["a", "b"], "acknowledged");
  const stream = createStreamModel(KEY);
  const entries = listed([{ token: "a" }, { token: "b" }]);
  absorbEntries(stream, entries, journal);
  assert.deepEqual(wholeStreamFaults(stream, entries), []);
  assert.match(wholeStreamFaults(stream, entries.slice(0, 1))[0]!, /1 events, seen before 2/);
  // A rewrite that recomputes the chain is valid in itself, yet differs from what was seen
  // before.
  const rewritten = listed([{ token: "a", note: "new" }, { token: "b" }]);
  assert.match(wholeStreamFaults(stream, rewritten)[0]!, /event 0: not the bytes seen before/);
});

Deno.test("createRandom() gives the same schedule for the same seed, another for each part", () => {
  const draw = (seed: number) => Array.from({ length: 8 }, createRandom(seed).next);
  assert.deepEqual(draw(42), draw(42));
  assert.notDeepEqual(draw(42), draw(43));
  const uuids = new Set<string>();
  for (let round = 0; round < 100; round++) {
    for (let client = 0; client < 100; client++) {
      uuids.add(createRandom(7).fork(round).fork(client).uuid());
    }
  }
  assert.equal(uuids.size, 10_000);
  for (const uuid of uuids) {
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});
