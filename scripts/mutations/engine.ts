/** Bugs in the engines' transactions: conflicts, marks, caches, watches, old formats. */

import { changesOf, type Mutation } from "./mutation.ts";

const CONTRACT = "tests/contract/sqlite_test.ts";
const CONFLICTS = "tests/kv/transaction/conflict_log_test.ts";
const EXACTLY_ONCE = "tests/kv/foundationdb/exactly_once_test.ts";
const BEHIND = "tests/kv/foundationdb/behind_test.ts";
const TURNS = "tests/kv/transaction/turns_test.ts";
const ATTEMPT = "tests/kv/foundationdb/transaction_test.ts";
const ADMISSION = "tests/domain/fairness/admission_test.ts";
const FUTURES = "tests/kv/foundationdb/futures_test.ts";
const LEASES = "tests/features/base/share_work_test.ts";
const RECENT = "tests/kv/sqlite/recent_values_test.ts";
const WATCHES = "tests/kv/watches_test.ts";
const WATCHED_KEYS = "tests/kv/watched_keys_test.ts";
const UPGRADE = "tests/kv/sqlite/upgrade_store_test.ts";
const CHECK_FILE = "tests/kv/sqlite/check_file_test.ts";

export const ENGINE_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/kv/transaction/conflict_log.ts", CONFLICTS, [
    [
      "the commit right after a read is no conflict",
      "if (group.version <= readVersion) return undefined;",
      "if (group.version <= readVersion + 1) return undefined;",
    ],
    [
      "what a transaction has read itself is a conflict",
      "if (group.version <= readVersion) return undefined;",
      "if (group.version < readVersion) return undefined;",
    ],
    [
      "transactions of one group do not conflict",
      "if (pending.members > 0) {",
      "if (pending.members > 1e9) {",
    ],
    [
      "a read of what is not remembered any more is no conflict",
      `if (readVersion < log.floor) return "";`,
      `if (readVersion < log.floor - 1) return "";`,
    ],
    [
      "a key within a range that was cleared is no conflict",
      "keys.has(key, hash) || ranges.some((range) => isWithin(key, range));",
      "keys.has(key, hash);",
    ],
    [
      "ranges that meet ranges that were cleared are no conflict",
      "return a.begin < b.end && b.begin < a.end;",
      "return a.begin < b.end && b.end < a.begin;",
    ],
    [
      "a range that begins where a cleared one ends is a conflict",
      "return a.begin < b.end && b.begin < a.end;",
      "return a.begin < b.end && b.begin <= a.end;",
    ],
    [
      "a key at the end of a range, which is not in it, is a conflict",
      "return first !== undefined && first < end;",
      "return first !== undefined && first <= end;",
    ],
    [
      "only the last member of a group conflicts",
      "if (group.members === 2) group.keys = copyOf(group.keys);",
      "if (group.members === 2) group.keys = new KeyMap();",
    ],
    [
      "noting a second member changes the writes of the first",
      "if (group.members === 2) group.keys = copyOf(group.keys);",
      "",
    ],
    ["what is dropped is still said to be known", "log.floor = oldest.version;\n", ""],
    [
      "what a reader still needs is forgotten",
      "const needed = oldest.version > oldestReadVersion;",
      "const needed = oldest.version > oldestReadVersion + 1;",
    ],
    [
      "keys that were forgotten go on counting",
      "log.keyCount -= oldest.keys.size + oldest.ranges.length;",
      "log.keyCount -= oldest.ranges.length;",
    ],
  ]),
  ...changesOf("src/kv/transaction/buffered_transaction.ts", CONTRACT, [
    [
      "what is left of a body may set a key",
      "set(key: Bytes, value: Bytes): void {\n    this.checkCall(key);",
      "set(key: Bytes, value: Bytes): void {\n    checkKey(key);",
    ],
    [
      "what is left of a body may clear a range",
      "clearRange({ begin, end }: KeyRange): void {\n    this.refuseOver();",
      "clearRange({ begin, end }: KeyRange): void {",
    ],
    [
      "a transaction may be of any size",
      "if (count <= kvLimits.transactionBytesMax) return count;",
      "if (count > 0) return count;",
    ],
    [
      "a transaction whose keys were ordered ahead lacks the stamped ones",
      "for (let place = order.length; place < entries.length; place++) {",
      "for (let place = entries.length; place < entries.length; place++) {",
      "tests/kv/sqlite/commit_group_test.ts",
    ],
    [
      "what is cleared is set to nothing",
      "putWrite(this.buffer, key, undefined);",
      "putWrite(this.buffer, key, new Uint8Array(0));",
    ],
    [
      "a clear is left out",
      "clearWrites(this.buffer, { begin: textOf(begin), end: textOf(end) });",
      "clearWrites(this.buffer, { begin: textOf(begin), end: textOf(begin) });",
    ],
    [
      "a value of any size may be set at a stamp",
      "if (value.length > kvLimits.valueBytesMax) refuseValue(value.length);\n    this.buffer.stamped",
      "this.buffer.stamped",
    ],
  ]),
  ...changesOf("src/kv/foundationdb/engine.ts", BEHIND, [
    [
      "what a body wrote at an old version before it threw is committed",
      'if (tx.behind !== undefined && tx.failure === undefined) return { kind: "behind" };',
      "if (tx.behind !== undefined) { tx.end(); value = undefined!; } else",
    ],
    [
      "a run that wrote nothing at an old version counts",
      'if (tx.behind !== undefined && !tx.isProvenByCommit) return { kind: "behind" };\n',
      "",
    ],
    [
      "a version of any age is read at",
      "return this.#home.nowMs() - atMs < behindMsMax ? version : undefined;",
      "return atMs > 0 - Infinity ? version : undefined;",
    ],
    [
      "every run of a call may read at an old version",
      "      call.mayBeBehind = false;\n",
      "",
    ],
  ]),
  ...changesOf("src/kv/foundationdb/transaction.ts", BEHIND, [
    [
      "a commit proves reads without a guard",
      "return this.hasWrites && !this.#hasReadUnguarded;",
      "return this.hasWrites;",
    ],
    [
      "what the cluster puts off waits for ever",
      "endsWithin(client.readVersion(), standBackMsMax)",
      "endsWithin(client.readVersion(), 1e9 * standBackMsMax)",
    ],
  ]),
  ...changesOf("src/kv/foundationdb/transaction.ts", ATTEMPT, [
    [
      "a large transaction is handed over in one piece",
      "const rest = openSlices(nowMs, nextTurn);",
      "const rest = openSlices(() => -nowMs(), nextTurn);",
    ],
    [
      "a read that is begun anew takes away what was handed over",
      "if (this.#isReleased || this.#isPreparing) return;",
      "if (this.#isReleased) return;",
    ],
  ]),
  ...changesOf("src/kv/transaction/turns.ts", TURNS, [
    [
      "one owner's work goes first until there is none",
      "line.delete(owner);\n    if (waiting.length > 1) line.set(owner, waiting);",
      "if (waiting.length === 1) line.delete(owner);",
    ],
    [
      "large work follows large work at once",
      "else setTimeout(pass, restMs);",
      "else setTimeout(pass, 0 * restMs);",
    ],
    [
      "a body that takes long holds up all others",
      "setTimeout(pass, holdMsMax)",
      "setTimeout(pass, 1e6 * holdMsMax)",
    ],
    ["any failure fails all that wait", "if (isAway(error)) refuseAll", "if (error) refuseAll"],
    ["each that waits finds an outage for itself", "refuseAll(error);", "throw error;"],
    [
      "what waits at the close begins",
      "closed = { reason };\n      refuseAll(reason);",
      "closed = { reason };",
    ],
    [
      "what the cluster refuses at once is asked for at once",
      "end.then(() => resolve(true), () => {});",
      "end.then(() => resolve(true), () => resolve(false));",
    ],
  ]),
  ...changesOf("src/kv/foundationdb/futures.ts", FUTURES, [
    [
      "a thread waits for each turn, however many there are",
      "if (line.lists.size < WAITS_MAX) {",
      "if (line.lists.size < Infinity) {",
    ],
    [
      "a future is destroyed when another of its turn is ready",
      "if (calls.fdb_future_is_ready(pending.future) === 0) list.push(pending);",
      "if (pending === undefined) list.push(pending);",
    ],
    [
      "a read waits for a commit of its turn",
      "const line = lines[kind];",
      'const line = lines[kind && "read"];',
    ],
    ["a future that was read stays in memory", "calls.fdb_future_destroy(future);", ""],
  ]),
  ...changesOf("src/domain/fairness/admission.ts", ADMISSION, [
    [
      "all requests that wait are admitted in one turn",
      "if (endMs !== undefined && clock.nowMs() >= endMs) await turn;",
      "",
    ],
    [
      "nobody looks at what those that were admitted took",
      "await readySteps();",
      "await undefined;",
    ],
    [
      "requests that take long are admitted as many at once as quick ones",
      "isQuick ? Math.min(2 * atOnce, AT_ONCE_MAX) : 1",
      "AT_ONCE_MAX",
    ],
    ["owners of requests do not take turns", "line.push(owner, resolve)", 'line.push("", resolve)'],
    [
      "requests that need not wait are not counted",
      "    left--;\n    return true;",
      "    return true;",
    ],
  ]),
  ...changesOf("src/domain/fairness/pieces.ts", "tests/domain/fairness/pieces_test.ts", [
    [
      "those who share a turn go on in it however long they take",
      "if (turns.monotonicMs() >= endMs) break;",
      "",
    ],
    [
      "any number of those who share a turn go on in it",
      "left > 0 && line.shortWaiting > 0; left--",
      "left > 0 && line.shortWaiting > 0;",
    ],
  ]),
  ...changesOf("src/domain/lookup/text_map.ts", "tests/domain/lookup/text_map_test.ts", [
    [
      "a text with the hash of another is taken for it",
      "entry?.hash === hash && entry.text === text",
      "entry?.hash === hash",
    ],
    ["the first text is where a deleted one was", "this.#first = 0;\n    for", "for"],
    ["what was deleted is counted", "    this.#size--;\n", ""],
  ]),
  ...changesOf("src/domain/lookup/text_map.ts", "tests/domain/lookup/text_hash_test.ts", [
    ["all places have one factor", "factors[i]!, text", "factors[0]!, text"],
    ["the length does not count", "Math.imul(factors[LENGTH]!, length)", "0"],
    ["blocks may change places", "if (from > 0)", "if (from < 0)"],
    [
      "the factors are those that everybody knows",
      "crypto.getRandomValues(new Int32Array(FACTORS))",
      "new Int32Array(FACTORS)",
    ],
  ]),
  ...changesOf("src/domain/fairness/lease.ts", "tests/domain/fairness/lease_test.ts", [
    [
      "time without a look counts as silence of the others",
      "const lookMs = Math.min(passedMs, LOOK_MS_MAX);",
      "const lookMs = passedMs;",
    ],
  ]),
  ...changesOf("src/features/base/share_work.ts", LEASES, [
    [
      "a lease is used for as long as nobody takes it",
      "return !isReleased && host.monotonicMs() < renewedMs + LEASE_LIFETIME_MS;",
      "return !isReleased && renewedMs > -Infinity;",
    ],
    [
      "leases are kept that were read without a guard",
      "const leases = await readLeases(tx, queue);",
      "const leases = await readLeases(tx.unguarded, queue);",
    ],
    [
      "what was announced counts from the commit, not from before it",
      "    renewedMs = beganMs;\n",
      "    renewedMs = host.monotonicMs();\n",
    ],
  ]),
  ...changesOf("src/store/leases.ts", "tests/store/leases_test.ts", [
    [
      "a lease is taken although its owner announces itself meanwhile",
      "await tx.get(deploymentKeys.worker(before.owner));",
      "await tx.unguarded.get(deploymentKeys.worker(before.owner));",
    ],
  ]),
  ...changesOf("src/kv/foundationdb/exactly_once.ts", EXACTLY_ONCE, [
    [
      "a rerun gives what the attempt before would have given, not the one that landed",
      "return values[marker[0]!]!;",
      "return values[number - 1]!;",
      EXACTLY_ONCE,
    ],
    [
      "a transaction that only clears sets no marker",
      "clear: (key) => (mark(), tx.clear(key)),",
      "clear: (key) => tx.clear(key),",
    ],
    [
      "a transaction that only clears a range sets no marker",
      "clearRange: (range) => (mark(), tx.clearRange(range)),",
      "clearRange: (range) => tx.clearRange(range),",
    ],
    [
      "a transaction that only adds sets no marker",
      "add: (key, delta) => (mark(), tx.add(key, delta)),",
      "add: (key, delta) => tx.add(key, delta),",
    ],
    [
      "a transaction that only sets at a stamp sets no marker",
      "setStamped: (prefix, suffix, value) => (mark(), tx.setStamped(prefix, suffix, value)),",
      "setStamped: (prefix, suffix, value) => tx.setStamped(prefix, suffix, value),",
    ],
    [
      "markers are removed that a running call may look for",
      "const before = Math.max(0, nowMs - markerAgeMaxMs);",
      "const before = Math.max(0, nowMs + markerAgeMaxMs);",
    ],
    [
      "any failure is taken for a commit without a reply",
      "if (!(error instanceof CommitUnknown)) throw error;",
      "if (!(error instanceof Error)) throw error;",
    ],
  ]),
  ...changesOf("src/kv/sqlite/recent_values.ts", RECENT, [
    [
      "of two keys with one hash one is taken for the other",
      "for (let i = 0; i < key.length; i++) if (bytes[i] !== key[i]) return undefined;",
      "void bytes;",
    ],
    [
      "what is given out is changed by the next commit",
      "copy.set(slot.bytes.subarray(key.length, key.length + slot.length));\n        return copy;",
      "return slot.bytes.subarray(key.length, key.length + copy.length) as Bytes;",
    ],
    [
      "what was removed is still read",
      "if (value === undefined || !isSmall(key, value)) {",
      "if (value === undefined) return;\n      if (!isSmall(key, value)) {",
    ],
    [
      "what became large is read as it was before",
      "if (value === undefined || !isSmall(key, value)) {",
      "if (value !== undefined && !isSmall(key, value)) return;\n      if (value === undefined) {",
    ],
    [
      "a value that is larger than its slot is kept",
      "value.length <= RECENT_VALUE_BYTES_MAX && key.length + value.length <= RECENT_SLOT_BYTES",
      "value.length <= RECENT_VALUE_BYTES_MAX",
    ],
    ["nothing is forgotten", "forgetAll: () => slots.clear(),", "forgetAll: () => {},"],
    [
      "a slot that is used again keeps the length that it had",
      "slot.bytes.set(value, key.length);\n    slot.length = value.length;",
      "slot.bytes.set(value, key.length);\n    slot.length ||= value.length;",
    ],
  ]),
  ...changesOf("src/kv/sqlite/pairs.ts", "tests/kv/sqlite/pairs_test.ts", [
    ["a row's checksum leaves its key out", "crc32(value, crc32(key))", "crc32(value)"],
  ]),
  ...changesOf("src/kv/sqlite/check_file.ts", CHECK_FILE, [
    [
      "two numbers for the version of a store are no fault",
      "if (version !== version_again) yield",
      "if (version === undefined) yield",
    ],
    [
      "other tables than a store's are no fault",
      "if (JSON.stringify(tables) !== JSON.stringify(expected)) yield",
      "if (tables.length !== expected.length) yield",
    ],
    [
      "a row without a checksum is whole",
      "c === rowChecksum(k as Bytes, v as Bytes);",
      "(c === null || c === rowChecksum(k as Bytes, v as Bytes));",
    ],
    ["pages are not looked at", `if (text !== "ok") yield text;`, `if (text === "") yield text;`],
  ]),
  ...changesOf("src/features/states/log_marks.ts", "tests/features/states/log_marks_test.ts", [
    [
      "a state stands although the store has moved on",
      "follower.hasMoved = version > follower.version;",
      "follower.hasMoved = follower.version === 0n;",
    ],
    [
      "the log is read again although the store has stayed as it was",
      "if (version > follower.version) follower.version = version;",
      "",
    ],
    [
      "a state stands although the log was cleared",
      "if (!isKept || records.length === RECORDS_MAX) return end(follower);",
      "if (records.length === RECORDS_MAX) return end(follower);",
    ],
  ]),
  ...changesOf("src/kv/watches.ts", WATCHES, [
    [
      "one who stops to watch takes the others along",
      "if (joined.ends.delete(resolve) && joined.ends.size === 0) watched.remove(joined);",
      "if (joined.ends.delete(resolve)) watched.remove(joined);",
    ],
    [
      "a watch is resolved as changed when the engine closes",
      "endWatched(one, false);",
      "endWatched(one, true);",
    ],
  ]),
  ...changesOf("src/kv/watched_keys.ts", WATCHED_KEYS, [
    [
      "who watches a key does not hear that a range with it was cleared",
      "ranges.some((range) => isWithin(key, range))",
      "ranges.some((range) => isWithin(key, { ...range, end: range.begin }))",
    ],
    [
      "one who stops to watch late takes away who watches since",
      "filter((one) => one !== entry)",
      "filter((one) => one.hash !== entry.hash)",
    ],
    [
      "a watch hears of keys with the hash of its own",
      "for (const entry of found) if (isSameKey(entry.key, key)) touched.push(entry);",
      "touched.push(...found);",
    ],
  ]),
  ...changesOf("src/kv/sqlite/upgrade_store.ts", UPGRADE, [
    [
      "what a log without a name has is left out",
      "const FORMAT_UNNAMED_LOG = 4;",
      "const FORMAT_UNNAMED_LOG = 3;",
    ],
    [
      "commits are brought back without their version",
      "    setVersion.run(version);\n",
      "    void setVersion;\n",
    ],
    [
      "what a commit cleared is there after an upgrade",
      "for (const key of cleared) clear.run(key);",
      "for (const key of cleared) void [clear, key];",
    ],
    [
      "rows of an upgrade have no checksums",
      "set.run(key, value, rowChecksum(key, value));",
      "set.run(key, value, rowChecksum(value, key));",
    ],
    [
      "the last pair of a record is left out by an upgrade",
      "for (let at = 0; at < pairs.length; at += 2) {",
      "for (let at = 0; at < pairs.length - 2; at += 2) {",
    ],
    [
      "the first commit that only a log without a name has is left out",
      ".filter((record) => record.version > version)",
      ".filter((record) => record.version > version + 1)",
    ],
    [
      "records of a log without a name need no checksum",
      "if (sum !== view.getUint32(at + 4, true)) return;",
      "void sum;",
    ],
    [
      "an upgrade goes on where commits are missing",
      "if (gap < 0) return records;",
      "if (gap < 1e9) return records;",
    ],
    [
      "the oldest format is refused",
      "if (format < FORMAT_MIN) {",
      "if (format <= FORMAT_MIN) {",
      "tests/kv/sqlite/writer_test.ts",
    ],
    [
      "a store of a newer build is opened",
      "if (format > FORMAT) {",
      "if (format > FORMAT + 1e6) {",
      "tests/kv/sqlite/engine_test.ts",
    ],
  ]),
];
