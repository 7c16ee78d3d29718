/**
 * The list of bugs that have really been made, here or elsewhere.
 *
 * Each is a small change to a sound file, with the suite that must find it. `find` must occur
 * exactly once in its file.
 */

import { BACKUP_MUTATIONS } from "./backups.ts";
import { CLIENT_MUTATIONS } from "./client.ts";
import { DISK_MUTATIONS } from "./disk.ts";
import { ENGINE_MUTATIONS } from "./engine.ts";
import { ERASURE_MUTATIONS } from "./erasure.ts";
import { FEED_MUTATIONS } from "./feed.ts";
import { GUARD_MUTATIONS } from "./guards.ts";
import type { Mutation } from "./mutation.ts";
import { PROJECTION_MUTATIONS } from "./projections.ts";
import { REACTION_MUTATIONS } from "./reactions.ts";
import { SDK_MUTATIONS } from "./sdk.ts";
import { WRITE_MUTATIONS } from "./writes.ts";

const HISTORY = "tests/history/history_test.ts";
const SIMULATION = "tests/simulation/simulation_test.ts";
const SHORT = { SIMULATION_SEEDS: "300" };

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "the log is not synced before the answer",
    path: "src/kv/sqlite/writer.ts",
    find: "syncing = joinSyncs(syncing, syncLog(into.file));",
    put: "syncing = Promise.resolve();",
    suite: "tests/crash/fsync_order_test.ts",
  },
  {
    name: "sums of pages are not synced before SQLite may begin its log anew",
    path: "src/kv/sqlite/pages/page_notes.ts",
    find: "await sums.sync();",
    put: "void sums;",
    suite: "tests/power_cut/power_cut_test.ts",
  },
  {
    name: "a rerun does not look for the marker of a commit that nobody heard of",
    path: "src/kv/foundationdb/exactly_once.ts",
    find: "number === 0 ? undefined : await tx.get(key)",
    put: "undefined as Bytes | undefined",
    suite: HISTORY,
  },
  {
    name: "the expected length is not compared",
    path: "src/domain/write/validate_write.ts",
    find: `return expected === "any" || expected === length;`,
    put: "return true;",
    suite: HISTORY,
  },
  {
    name: "the expected length may be passed by one",
    path: "src/domain/write/validate_write.ts",
    find: `expected === length;`,
    put: `expected === length || expected === length - 1;`,
    suite: HISTORY,
  },
  {
    name: "half of an atomic write: the last of several streams is not written",
    path: "src/features/writes/append_writes.ts",
    find: "for (const stream of opened) stream.flush",
    put: "for (const stream of opened.length > 1 ? opened.slice(0, -1) : opened) stream.flush",
    suite: HISTORY,
  },
  {
    name: "the ledger is not written with the events",
    path: "src/features/writes/append_writes.ts",
    find: "recordInLedger(tx, tenant, idempotency, { used, written });",
    put: "void used;",
    suite: HISTORY,
  },
  {
    name: "a reused key with another body is replayed",
    path: "src/store/streams/idempotency.ts",
    find: `if (answer.kind === "mismatch") return refuse({ kind: "idempotency_mismatch" });`,
    put: `if (answer.kind === "mismatch") return undefined;`,
    suite: "tests/end_to_end/idempotency_test.ts",
  },
  {
    name: "a state is kept under another handler than its own",
    path: "src/features/states/state_cache.ts",
    find: "if (slot?.state?.foldHash !== foldHash) return undefined;",
    put: "if (slot?.state === undefined) return undefined;",
    suite: "tests/features/states/read_aggregate_test.ts",
  },
  {
    name: "a state takes the place of one that came after it",
    path: "src/features/states/state_cache.ts",
    find: "slot === undefined || slot.state !== before || !slot.isKept",
    put: "slot === undefined || !slot.isKept",
    suite: "tests/features/states/state_cache_test.ts",
  },
  {
    name: "states that were dropped come back",
    path: "src/features/states/state_cache.ts",
    find: "slot.state !== before || !slot.isKept",
    put: "slot.state !== before",
    suite: "tests/features/states/state_cache_test.ts",
  },
  {
    name: "a stale cache: a kept state is taken for that of the newest event",
    path: "src/features/states/read_aggregate.ts",
    find: "if (base?.length === head.length) return",
    put: "if (base !== undefined && head.length > 0) return",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "off by one in paging: the cursor is shown again",
    path: "src/features/states/read_events.ts",
    find: "nextStart: eventId(edge!.index)",
    put: "nextStart: eventId(edge!.index - 1)",
    suite: "tests/end_to_end/events_test.ts",
  },
  {
    name: "the chain does not hold the hash before",
    path: "src/domain/audit/chain.ts",
    find: "previous === undefined ? raw : previous + raw",
    put: "previous === undefined ? raw : raw",
    suite: "tests/domain/audit/chain_test.ts",
  },
  {
    name: "an odd level of a tree does not double its last node",
    path: "src/domain/audit/merkle.ts",
    find: "below[2 * index + 1] ?? left",
    put: "below[2 * index + 1] ?? below[0]!",
    suite: "tests/domain/audit/merkle_test.ts",
  },
  {
    name: "two fields of the signed payload change places",
    path: "src/domain/audit/anchor.ts",
    find: `"event_count":\${anchor.event_count},"stream_count":\${anchor.stream_count},`,
    put: `"stream_count":\${anchor.stream_count},"event_count":\${anchor.event_count},`,
    suite: "tests/domain/audit/anchor_test.ts",
  },
  {
    name: "a cut does not end the epoch of writes",
    path: "src/features/writes/append_writes.ts",
    find: "for (const stream of opened) stream.flush(epoch);",
    put: "for (const stream of opened) stream.flush(0);",
    suite: "tests/features/audit/audit_service_test.ts",
  },
  {
    name: "a read key may write",
    path: "src/http/middleware/authenticate.ts",
    find: `holder.value.scope === "write"`,
    put: `holder.value.scope.length > 0`,
    suite: "tests/end_to_end/isolation_test.ts",
  },
  {
    name: "a token for one instance operates all",
    path: "src/domain/access/operator.ts",
    find: "operator.instances === undefined || operator.instances.includes(instanceId)",
    put: "instanceId.length > 0 && operator !== undefined",
    suite: "tests/end_to_end/isolation_test.ts",
  },
  {
    name: "an operator token reads instances that it does not cover",
    path: "src/features/access/instances.ts",
    find: "  const found = await findInstance(engine, operator, id);\n" +
      "  if (!found.ok) return found;\n  const record = found.value;",
    put: "  const found = await findInstance(engine, { subject: operator.subject }, id);\n" +
      "  if (!found.ok) return found;\n  const record = found.value;",
    suite: "tests/end_to_end/isolation_test.ts",
  },
  {
    name: "a store whose keys everybody knows starts as any other",
    path: "src/features/access/bootstrap.ts",
    find: "if (!isOn && areOpen)",
    put: "if (!isOn && areOpen && nowMs < 0)",
    suite: "tests/features/access/dev_keys_test.ts",
  },
  {
    name: "a data check folds under the old handlers alone",
    path: "src/features/specs/check_data.ts",
    find: "await foldUnder(checking, now, work)",
    put: "await foldUnder(checking, old, work)",
    suite: "tests/features/specs/check_data_test.ts",
  },
  {
    name: "an implied event is written although its entry is gone",
    path: "src/features/reactions/run_outbox.ts",
    find: "isDue: (tx) => hasEntry(tx, work.place),",
    put: "isDue: () => Promise.resolve(true),",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "cursor before effect: an entry is removed, and then its event is written",
    path: "src/features/reactions/run_outbox.ts",
    find: "      cause: causeOf(work),\n      root: entryRoot(work.place, entry),\n    };\n",
    put:
      "      cause: { ...causeOf(work), isDue: () => Promise.resolve(true), settle: () => {} },\n" +
      "      root: entryRoot(work.place, entry),\n" +
      "    };\n    await engine.transact((tx) => Promise.resolve(clearEntry(tx, work)));\n",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "a scheduled event fires although it was cancelled",
    path: "src/features/work/fire_schedule.ts",
    find: "return now?.tries === record.tries && !cancelled;",
    put: "return now?.tries === record.tries && cancelled !== undefined;",
    suite: "tests/features/work/fire_schedule_test.ts",
  },
  {
    name: "a scheduled event fires twice",
    path: "src/features/work/fire_schedule.ts",
    find: '      removeSchedule(tx, tenant, record, { state: "fired", atMs: nowMs, streamId });\n',
    put: "      void streamId;\n",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "an entry that has failed is not put back",
    path: "src/store/reactions/outbox.ts",
    find: "  putEntry(tx, before.place, encodeEntry(after));",
    put: "  if (after.tries < 1) putEntry(tx, before.place, encodeEntry(after));",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "a delivery is signed over something else than its body",
    path: "src/domain/listener/webhook.ts",
    find: `createHmac("sha256", secret).update(body)`,
    put: `createHmac("sha256", secret).update(body.trim() + " ")`,
    suite: "tests/domain/listener",
  },
  {
    name: "addresses of the inside pass for public ones",
    path: "src/domain/listener/public_address.ts",
    find: `if (address.range() !== "unicast") return false;`,
    put: `if (address.range() === "loopback") return false;`,
    suite: "tests/domain/listener",
  },
  {
    name: "the second pause of a delivery is as short as the first",
    path: "src/domain/listener/delivery.ts",
    find: "[5_000, 25_000, 125_000]",
    put: "[5_000, 5_000, 125_000]",
    suite: "tests/domain/listener",
  },
  {
    name: "a module may have as much memory as it asks for",
    path: "src/domain/wasm/rewrite_module.ts",
    find: "Math.min(maximum ?? limit, limit)",
    put: "maximum ?? limit",
    suite: "tests/domain/wasm",
  },
  {
    name: "UUIDs of every version are identifiers",
    path: "src/domain/identifier.ts",
    find: "return UUID.test(text) ? {",
    put: "return UUID_OF_ANY_VERSION.test(text) ? {",
    suite: "tests/domain/identifier_test.ts",
  },
  {
    name: "timestamps are taken in production",
    path: "src/domain/write/metadata.ts",
    find: `if (environment === "production") {`,
    put: `if (environment === "staging") {`,
    suite: "tests/domain/write/metadata_test.ts",
  },
  {
    name: "one more than the limit passes",
    path: "src/domain/limits/rate.ts",
    find: "if (left < limit) return 0;",
    put: "if (left <= limit) return 0;",
    suite: "tests/domain/limits/rate_test.ts",
  },
  {
    name: "keys that are slow to look up are parsed all the same",
    path: "src/domain/json_text/name_cost.ts",
    find: "if (!hasSlow(names) && !shareBucket(numbers)) return parseJson(unkept);",
    put: "if (!shareBucket(numbers)) return parseJson(unkept);",
    suite: "tests/domain/json_text/name_cost_test.ts",
  },
  {
    name: "a write that was late once, because the machine had other work, is refused",
    path: "src/features/writes/judge_guards.ts",
    find: `if (refusing === "slow" || tries === TRIES_MAX) {`,
    put: "if (tries > 0) {",
    suite: "tests/features/writes/judge_guards_test.ts",
  },
  {
    name: "nobody looks at the clock within an event",
    path: "src/domain/budget.ts",
    find: "if (budget.left < budget.lookBelow) look(budget);",
    put: "if (budget.left < 0) look(budget);",
    suite: "tests/domain/budget_test.ts",
  },
  {
    name: "keys with escapes are left to the runtime, which confuses them",
    path: "src/domain/json_text/parse_json.ts",
    find: "if (isKey(text, close)) return true;",
    put: "if (isKey(text, close)) return false;",
    suite: "tests/domain/json_text/parse_json_test.ts",
  },
  {
    name: "containers that were open before the window moved are looked for where they were",
    path: "src/http/decode/long_window.ts",
    find: "window.openAt[depth] = move(window.openAt[depth]!);",
    put: "window.openAt[depth] = window.openAt[depth]!;",
    suite: "tests/http/decode",
  },
  {
    name: "numbers that a double does not hold are taken",
    path: "src/domain/json.ts",
    find: `if (isSame(sent, kept) || isSmallFraction(sent)) return undefined;`,
    put: `if (sent.digits !== "" || isSmallFraction(kept)) return undefined;`,
    suite: "tests/fuzz/json_fuzz_test.ts",
  },
  {
    name: "a delivery that is to be tried later is put on no timer",
    path: "src/store/listeners/deliveries.ts",
    find: "if (first !== undefined) setTimer(tx,",
    put: "if (first !== undefined && nowMs < 0) setTimer(tx,",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "a delivery that is put into a lane while that is left is not seen",
    path: "src/store/listeners/deliveries.ts",
    find: "const [first] = await listLane(tx, lane, 1);",
    put: "const [first] = await listLane(tx.unguarded, lane, 1);",
    suite: SIMULATION,
    // Only with more seeds does a write fall into the one commit that leaves the lane.
    env: { SIMULATION_SEEDS: "1500" },
  },
  {
    name: "an anchor covers what was written after its cut",
    path: "src/store/streams/audit_cuts.ts",
    find: "if (head.epoch <= cut) return",
    put: "if (head.epoch <= cut + 1) return",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "a stream that has grown since the anchor before is left out",
    path: "src/store/streams/audit_cuts.ts",
    find: "(before.length > 0 && before.epoch >= epoch)",
    put: "before.length > 0",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "one of the rows that show a changed stream is not refreshed",
    path: "src/features/projections/keep_projections.ts",
    find: "else for (const key of shown) keys.add(key);",
    put: "else for (const key of shown.slice(1)) keys.add(key);",
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "a reply tells another place than that of the event",
    path: "src/http/data/write.ts",
    find: `"stream_id":"\${eventId(first.first)}"`,
    put: `"stream_id":"\${eventId(first.first + 1)}"`,
    suite: SIMULATION,
    env: SHORT,
  },
  {
    name: "after a clock was set back, timers are slept for until it is where it was",
    path: "src/features/work/fire_schedule.ts",
    find: "Math.min(nextMs - host.nowMs(), PAUSE_MS_MAX)",
    put: "Math.min(nextMs - host.nowMs(), PAUSE_MS_MAX * 1e6)",
    suite: "tests/crash/clock_jump_test.ts",
  },
  {
    name: "an inner resource says what a dynamic reference means",
    path: "src/domain/spec/schema/dynamic_scope.ts",
    find: "filter((name) => !meanings.has(name))",
    put: "filter(() => true)",
    suite: "tests/domain/spec/json_schema_suite_test.ts",
  },
  {
    name: "what contains finds does not count as evaluated",
    path: "src/domain/spec/schema/evaluated_items.ts",
    find: "if (records.isKept) markFound(cxt);",
    put: "if (records.unitsPerItem < 0) markFound(cxt);",
    suite: "tests/domain/spec/json_schema_suite_test.ts",
  },
  {
    name: "a label in Punycode may have several spellings",
    path: "src/domain/spec/schema/formats/hostname.ts",
    find: "encodePunycode(codePoints) === label.slice(4).toLowerCase()",
    put: "codePoints.length > 0",
    suite: "tests/domain/spec/json_schema_suite_test.ts",
  },
  {
    name: "two schemas of the document have one name",
    path: "src/http/openapi/shown_types.ts",
    find: "if (count === 1) return plain;",
    put: "return plain;",
    suite: "tests/http/openapi/generators_test.ts",
  },
  ...DISK_MUTATIONS,
  ...BACKUP_MUTATIONS,
  ...ENGINE_MUTATIONS,
  ...GUARD_MUTATIONS,
  ...WRITE_MUTATIONS,
  ...PROJECTION_MUTATIONS,
  ...REACTION_MUTATIONS,
  ...ERASURE_MUTATIONS,
  ...FEED_MUTATIONS,
  ...SDK_MUTATIONS,
  ...CLIENT_MUTATIONS,
];
