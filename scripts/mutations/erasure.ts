/** Bugs in erasure: what outlives it, what it takes along, what it fails to record. */

import { changesOf, type Mutation } from "./mutation.ts";

const ERASE = "tests/features/erasure/erase_due_test.ts";
const COPIES = "tests/features/erasure/copies_test.ts";
const REQUEST = "tests/features/erasure/tombstones_test.ts";
const FAULTS = "tests/features/erasure/erasure_faults_test.ts";

export const ERASURE_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/features/erasure/erase_due.ts", ERASE, [
    [
      "an event that was written during the last step of an erasure is lost",
      "(await readHead(tx, tenant, key)).tip === head.tip",
      "(await readHead(tx.unguarded, tenant, key)).tip === head.tip",
      FAULTS,
    ],
    [
      "an erased stream is found where its point was",
      "movePoint(tx, tenant, stream, { before: head.place, after: undefined });\n",
      "",
      COPIES,
    ],
    ["an anchor does not see an erasure", "markChange(write, head, epoch);\n", ""],
    [
      "a cut that was under way holds although a stream was rewritten",
      "countRewrite(tx, tenant);\n",
      "",
      FAULTS,
    ],
    [
      "other processes go on with what they keep of an erased stream",
      "    await engine.transact((tx) => Promise.resolve(signalErasure(tx)));\n",
      "",
      "tests/features/erasure/erasure_service_test.ts",
    ],
    [
      "markers take the place of the events before they are complete",
      "if (after.length < head.length) {",
      "if (after.length < head.length - 1) {",
    ],
    [
      "markers are numbered from the first of each step",
      "placeSegments({ tx, tenant, stream: key }, before.generation, before.length, markers);",
      "placeSegments({ tx, tenant, stream: key }, before.generation, 0, markers);",
    ],
    [
      "events that an earlier erasure has erased are counted again",
      "if (event.type !== ERASED_TYPE) erased++;",
      "erased++;",
    ],
    [
      "the chain of the markers is that of the events",
      "tip = extendChain(tip, marker.raw);",
      "tip = extendChain(tip, raw);",
    ],
  ]),
  ...changesOf("src/features/erasure/erase_due.ts", ERASE, [
    [
      "what was erased stays in the files of the store",
      "await engine.forget();\n",
      "",
      ERASE,
    ],
    [
      "an erasure that came too early is done at once",
      "if (isEarly) {",
      "if (isEarly && nowMs < 0) {",
      REQUEST,
    ],
    [
      "an erasure that came too early is forgotten",
      "      waitForErasure(tx, tenant, tombstone);\n",
      "",
      REQUEST,
    ],
    ["the grace is over, and nothing happens", "      markErasure(tx, timer);\n", "", REQUEST],
    [
      "copies are not looked for where a rewrite has come to its end",
      "removal: FIRST_COPY, executed_at };",
      "removal: {}, executed_at };",
    ],
    [
      "a stream that cannot be erased keeps others from it",
      "if (!(error instanceof Error) || isOutage(error)) throw error;",
      "if (!(error instanceof Error) || !isOutage(error)) throw error;",
    ],
  ]),
  ...changesOf("src/features/erasure/copies.ts", COPIES, [
    ["errors that tell of an erased stream stay", `  ["errors", removeStreamErrors],\n`, ""],
    [
      "deliveries that are over stay after an erasure",
      `  ["ended_deliveries", removeStreamEnded],\n`,
      "",
    ],
    [
      "deliveries that wait stay after an erasure",
      `  ["deliveries", removeStreamDeliveries],\n`,
      "",
    ],
    ["snapshots of an erased stream stay", `  ["snapshots", removeSnapshots],\n`, "", ERASE],
    ["rows of projections stay after an erasure", `  ["views", eraseFromProjections],\n`, ""],
    ["the events stay behind the markers", `  ["events", removeOldEvents],\n`, "", ERASE],
    [
      "the kind of copy behind a finished one is passed over",
      "const following = COPIES[at + 1];",
      "const following = COPIES[at + 2];",
    ],
    [
      "of each kind of copy only the first page goes",
      "if (next !== undefined) return { copy: name, after: next.toHex() };",
      "",
      ERASE,
    ],
  ]),
  ...changesOf("src/features/erasure/tombstones.ts", REQUEST, [
    [
      "a stream is to be erased twice at once",
      "if (open !== undefined && open !== id) {",
      "if (open !== undefined && open === id) {",
    ],
    [
      "an erasure is taken back that has begun",
      `if (tombstone.state !== "pending") {`,
      `if (tombstone.state === "completed") {`,
    ],
    [
      "an erasure without a grace waits for ever",
      "else markErasure(tx, { tenant: tenant.number, id });",
      "",
    ],
  ]),
];
