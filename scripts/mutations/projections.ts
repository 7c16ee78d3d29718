/** Bugs in projections, rebuilds and SQL, and in the rounds of their workers. */

import { changesOf, type Mutation } from "./mutation.ts";

const ROWS = "tests/store/projections/projection_rows_test.ts";
const QUERIES = "tests/features/projections/sql/query_projections_test.ts";
const COPIES = "tests/features/projections/sql/projection_copies_test.ts";
const LATE = "tests/features/base/late_turns_test.ts";
const OUTLINES = "tests/features/projections/outlines_test.ts";
const LATE_ROWS = "tests/features/projections/late_rows_test.ts";
const UNREAD = "tests/features/projections/unread_log_test.ts";
const LOOKS = "tests/features/base/log_looks_test.ts";

export const PROJECTION_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/store/projections/projection_rows.ts", ROWS, [
    [
      "pieces of a large view row stay when it shrinks",
      "if (before !== undefined && before.bytes > kvLimits.valueBytesMax) {",
      "if (before !== undefined && before.bytes > 1e9) {",
    ],
    [
      "pieces of a large view row stay when it goes",
      "if (row.bytes > kvLimits.valueBytesMax) clearLargeValue(tx, tenant, key);",
      "if (row.bytes > 1e9) clearLargeValue(tx, tenant, key);",
    ],
    [
      "a row stays in the index of a source that it shows no more",
      "for (const stream of old) tx.clear(sourceKey(place, stream, after.key));",
      "",
    ],
  ]),
  ...changesOf("src/features/base/late_turns.ts", LATE, [
    [
      "a round waits for a late turn to its end",
      "if (done !== undefined) return done;",
      "if (done !== undefined || late.size >= 0) return await run;",
    ],
    [
      "an environment has another turn beside its late one",
      "if (late.has(tenant)) return 0;",
      "",
    ],
    [
      "any number of turns go on beside the rounds",
      "if (late.size > LATE_TURNS_MAX) await Promise.race(late.values());",
      "",
    ],
    [
      "the slow environments of a deployment have all places",
      "if (isSlow && late.size >= SLOW_TURNS_MAX) {",
      "if (isSlow && late.size >= LATE_TURNS_MAX) {",
    ],
    [
      "of slow environments the first in order have all turns",
      "const first = passedOver ?? -Infinity;",
      "const first = -Infinity;",
    ],
    [
      "who is passed over for a minute is waited for again",
      "        noteSlow(tenant);\n        return 0;",
      "        return 0;",
    ],
    [
      "an outage in a late turn is told to nobody",
      "const noteFailure = (error: unknown) => void (failure ??= { error });",
      "const noteFailure = (_error: unknown) => {};",
    ],
  ]),
  ...changesOf("src/features/projections/keep_projections.ts", LATE_ROWS, [
    [
      "a row that takes seconds holds up the rows of all environments",
      "done += await late.take(tenant, turn);",
      "done += await turn();",
    ],
  ]),
  ...changesOf("src/features/projections/keep_projections.ts", UNREAD, [
    [
      "the upkeep stands still before much that no projection reads",
      "return streams.length === 0 && isAtEnd && records < SKIPPED_RECORDS_MIN;",
      "return streams.length === 0 && records < SKIPPED_RECORDS_MIN;",
    ],
  ]),
  ...changesOf("src/features/base/log_looks.ts", LOOKS, [
    [
      "what was searched for some types counts for others",
      "if (before?.types !== types || isPositionBefore(cursor, before.from)) return { to: cursor };",
      "if (before === undefined || isPositionBefore(cursor, before.from)) return { to: cursor };",
    ],
    [
      "a find is believed when the cursor has passed it",
      "if (first !== undefined && isPositionBefore(cursor, first)) {",
      "if (first !== undefined) {",
    ],
    [
      "what others have seen of an older log tells of a newer one",
      "return isShown(to, until) ? false : undefined;",
      "return false;",
    ],
  ]),
  ...changesOf("src/features/projections/build_projections.ts", LATE_ROWS, [
    [
      "a row that takes seconds holds up the builds of all environments",
      "done += await late.take(tenant, turn);",
      "done += await turn();",
    ],
  ]),
  ...changesOf("src/features/projections/outlines.ts", OUTLINES, [
    [
      "an environment whose definitions have changed is taken for idle",
      "if (await readProjectionChanges(tx, tenant) !== changes) return false;",
      "",
    ],
    [
      "an environment whose spec has changed is taken for idle",
      "if (hasModules || await readCurrentHash(tx, tenant) !== specHash) return false;",
      "",
    ],
    [
      "a set from before a deploy tells that nothing is due after it",
      "if (!await isCurrentFold(tx, tenant, spec)) return;",
      "",
    ],
  ]),
  ...changesOf(
    "src/store/projections/ready_projections.ts",
    "tests/store/projections/ready_projections_test.ts",
    [[
      "queries go by definitions from before a change",
      "const isKnown = () => all.get(tenant)?.changes === changes;",
      "const isKnown = () => all.has(tenant);",
    ]],
  ),
  ...changesOf(
    "src/domain/fairness/transaction_pieces.ts",
    "tests/domain/fairness/transaction_pieces_test.ts",
    [[
      "each transaction has a slice of its own in each turn",
      "} while (slice.waiting > 0 && turns.monotonicMs() < slice.endMs);",
      "} while (slice.waiting > 0);",
    ]],
  ),
  ...changesOf(
    "src/store/streams/state_parts.ts",
    "tests/store/streams/state_parts_test.ts",
    [[
      "characters at the end of a part are left out of a snapshot",
      "at += read;",
      "at += PART_BYTES;",
    ]],
  ),
  ...changesOf(
    "src/features/states/rebuild_snapshots.ts",
    "tests/features/states/rebuild_snapshots_test.ts",
    [
      [
        "a slow stream holds up the rebuilds of all environments",
        "done += await late.take(work.tenant, () => rebuildOne(lease, work, isStopping));",
        "done += await rebuildOne(lease, work, isStopping);",
      ],
      [
        "types of others wait for a stream that is late",
        "if (done > 0 || isStopping()) return done;",
        "if (waiting.length > 0) return done;",
      ],
    ],
  ),
  ...changesOf("src/features/projections/sql/query_projections.ts", QUERIES, [
    [
      "a stale SQL copy says lag 0",
      "isCurrent ? commits : Math.max(1, commits)",
      "isCurrent ? commits : commits",
    ],
  ]),
  ...changesOf("src/features/projections/sql/projection_copies.ts", COPIES, [
    [
      "a SQL copy that is not current says that it is",
      "tables, isCurrent: false };",
      "tables, isCurrent: true };",
      QUERIES,
    ],
    [
      "who asks during a round has that one, which began before",
      "        copy.next = undefined;\n        return runRound",
      "        return runRound",
    ],
    [
      "changes that are not kept any more are passed over",
      "      await drop(copy, tables, caughtUp.names);\n      return undefined;",
      '      return { kind: "ready", missing: [] };',
    ],
  ]),
  ...changesOf("src/features/projections/sql/catch_up_copy.ts", COPIES, [
    [
      "a SQL copy answers behind its stamp: a change without room is counted as copied",
      "if (room.bytes <= 0) return { ...batch, to,",
      "if (room.bytes <= 0) return { ...batch, to: stamp.toHex(),",
    ],
    [
      "a SQL copy is current after the first batch",
      "isAtEnd: changes.length < limit };",
      "isAtEnd: changes.length >= 0 };",
    ],
    [
      "a SQL copy that is ahead of its store is taken for current",
      "return last === undefined || last.toHex() < from;",
      'return last === undefined && from === "";',
    ],
  ]),
  ...changesOf("src/features/projections/sql/fill_copy.ts", COPIES, []),
  ...changesOf("src/sql/run_query.ts", COPIES, [
    [
      "a query reads a table that is behind the stamp it was promised",
      "if (found < stamp) return",
      "if (found > stamp) return",
      "tests/sql/run_query_test.ts",
    ],
  ]),
];
