/** Bugs of the commit log and the feed. */

import { changesOf, type Mutation } from "./mutation.ts";

const LOG = "tests/store/feed/commit_log_test.ts";
const PAGES = "tests/features/feed/read_feed_test.ts";
const FILL = "tests/features/feed/fill_feed_test.ts";
const FOLLOW = "tests/features/feed/follow_commits_test.ts";
const SHARED = "tests/features/feed/shared_pages_test.ts";
const EXPORT = "tests/features/transfer/export_beside_writers_test.ts";
const LIVE = "tests/http/feed/live_feed_test.ts";
const STREAM = "tests/http/data/live_stream_test.ts";
const TRANSFERRED = "tests/http/feed/transferred_feed_test.ts";

export const FEED_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/features/writes/append_writes.ts", PAGES, [
    [
      "implied events are not in the log",
      "if (appended.direct > 0) addGrown(log, implied, loggedLengths);",
      "",
    ],
    [
      "a write does not note where the log begins while it is filled in",
      "if (isFilling) await noteLogStarts(tx, tenant, log);",
      "",
      FILL,
    ],
  ]),
  ...changesOf("src/features/imports/store_window.ts", PAGES, [
    [
      "imported events are not in the log",
      "if (log.length > 0) await logEntries(tx, tenant, log, watched);",
      "",
      "tests/features/imports/import_effects_test.ts",
    ],
  ]),
  ...changesOf("src/http/feed/live_answer.ts", TRANSFERRED, [
    [
      "who follows an empty environment does not hear of a transfer into it",
      "if (payer!.tenant.number !== call.tenant?.number) return close();",
      "",
    ],
  ]),
  ...changesOf("src/features/transfer/publish_transfer.ts", TRANSFERRED, [
    [
      "a transfer gives the environment another feed",
      "if (id !== undefined) setFeedId(tx, to, id);",
      "",
    ],
  ]),
  ...changesOf("src/http/data/live_stream.ts", STREAM, [
    [
      "a tail from behind an event that is gone passes over others",
      "if (isBeyond) return",
      "if (isBeyond && start === undefined) return",
    ],
  ]),
  ...changesOf("src/http/data/live_state.ts", "tests/http/data/live_state_test.ts", [
    [
      "who was away during an erasure keeps the state from before it",
      "length === first.value.length ? NEVER_ERASED : first.value.generation",
      "first.value.generation",
    ],
  ]),
  ...changesOf("src/store/feed/commit_log.ts", PAGES, [
    [
      "the type of an entry is that of the one before, whatever it is",
      "encodeEntry(entry, type === typeBefore ? undefined : type, id)",
      "encodeEntry(entry, typeBefore === undefined ? type : undefined, id)",
      LOG,
    ],
  ]),
  ...changesOf("src/store/feed/commit_log.ts", PAGES, [
    [
      "a transaction that logs twice keeps the second part alone",
      "partsOf.set(tx, part);",
      "",
      LOG,
    ],
    [
      "what is filled in comes behind all commits",
      "export const FILLED_EPOCH = 0;",
      "export const FILLED_EPOCH = 2;",
      LOG,
    ],
    [
      "a page begins with the record at its place",
      "const begin = keyAfter(keyOf(tenant, after));",
      "const begin = keyOf(tenant, after);",
      LOG,
    ],
  ]),
  ...changesOf("src/features/feed/read_feed.ts", PAGES, [
    [
      "the event of the cursor is given again",
      "const done = place === after.place ? after.offset + 1 : 0;",
      "const done = place === after.place ? after.offset : 0;",
    ],
    [
      "a page that is full amid a record goes on behind that record",
      "const at = { ...position, offset: position.offset + number };",
      "const at = { ...position, offset: WHOLE_RECORD };",
    ],
    [
      "what a filter leaves out does not move the cursor",
      'if (end < offset || items.length === 0) {\n    items.push({ kind: "passed"',
      'if (end < offset && items.length > 0) {\n    items.push({ kind: "passed"',
    ],
    [
      "a page goes beyond where it was to end",
      "      until: page.until,\n",
      "",
    ],
    [
      "a page says that it is up to date when another record was read with it",
      "draft.at.place >= lastRead && await isLast(reading)",
      "draft.at.place >= lastRead || await isLast(reading)",
    ],
    [
      "a page has no limit in bytes",
      "if (isWanted && isBeyond) {",
      "if (isWanted && isBeyond && draft.bytes < 0) {",
    ],
  ]),
  ...changesOf("src/features/feed/fill_feed.ts", PAGES, [
    [
      "the filling ignores where the log begins",
      "count: start ?? head.length };",
      "count: head.length };",
      FILL,
    ],
    [
      "the filling begins anew with each step",
      "else setFill(tx, tenant, { records, after: page.last });",
      "else setFill(tx, tenant, { records: 0, after: page.last });",
      FILL,
    ],
    [
      "what projections had still to show is forgotten",
      "while (await engine.transact((tx) => moveShardedLog(tx, tenant, MOVED_AT_A_TIME)) > 0);",
      "",
      FILL,
    ],
  ]),
  ...changesOf("src/features/feed/follow_commits.ts", PAGES, [
    [
      "a wake while nobody waits is lost",
      "if (waiter.wake === undefined) waiter.isChanged = true;",
      "if (waiter.wake === undefined) continue;",
      FOLLOW,
    ],
    [
      "who began before the first look is not woken by it",
      "    wakeAll(one);\n    return;",
      "    return;",
      FOLLOW,
    ],
  ]),
  ...changesOf("src/features/feed/shared_pages.ts", SHARED, [
    [
      "a page is shared across changes",
      "if (one?.changes !== changes) {",
      "if (one === undefined) {",
    ],
    [
      "a shared page ends where the store ends when it is read",
      "const page = read(place);",
      "const page = read(undefined);",
    ],
  ]),
  ...changesOf("src/features/feed/shared_tails.ts", "tests/features/feed/shared_tails_test.ts", [
    [
      "a shared tail may be older than what its reader has heard of",
      "return page.ok && isBefore(page.value, heard) ? await read() : page;",
      "return page;",
    ],
    [
      "a shared tail may be from before an erasure of which its reader has heard",
      "return page.generation < heard.generation || page.length < heard.length;",
      "return page.length < heard.length;",
    ],
  ]),
  ...changesOf("src/features/feed/feed_service.ts", PAGES, [
    [
      "a cursor from beyond the end is taken",
      "if (isLost) {",
      "if (isLost && limits.feedPageMax < 0) {",
    ],
  ]),
  ...changesOf("src/http/feed/live_answer.ts", PAGES, [
    [
      "all live answers without room read again when there is room for one",
      "if (!hold(needed)) {",
      "if (needed > 0 && !liveRoom.hasRoom(owner, needed)) {",
      LIVE,
    ],
    [
      "a live answer outlives its key",
      "if (refused !== undefined) return closeWith(refused);",
      "",
      LIVE,
    ],
    [
      "a live answer keeps its follower when its client goes",
      "    cancel: () => finish(false),",
      "    cancel: () => {},",
      LIVE,
    ],
  ]),
  ...changesOf("src/http/data/live_stream.ts", "tests/http/data/live_stream_test.ts", [
    [
      "a tail does not tell of an erasure",
      "const isErased = page.value.generation !== generation;",
      "const isErased = false;",
    ],
    [
      "a tail begins anew after a reconnect",
      "const start = lastEventId(call) ?? asked;",
      "const start = asked;",
    ],
  ]),
  ...changesOf("src/http/data/live_state.ts", "tests/http/data/live_state_test.ts", [
    [
      "a live state is sent to who has it",
      "if (generation === sent.generation && length <= sent.length) {",
      "if (generation === sent.generation && length < sent.length) {",
    ],
    [
      "an erasure changes no live state",
      "if (generation === sent.generation && length <= sent.length) {",
      "if (length <= sent.length) {",
    ],
  ]),
  ...changesOf("src/http/feed/long_poll.ts", "tests/http/feed/feed_test.ts", [
    [
      "all long polls that a commit wakes go on in one turn",
      "await gateOf(edge.service, call.host).enter(call.owner);",
      "",
    ],
  ]),
  ...changesOf("src/http/feed/frames.ts", "tests/http/feed/feed_test.ts", [
    [
      "each long poll makes the body of a shared page anew",
      "if (known !== undefined) return known;",
      "",
    ],
  ]),
  ...changesOf("src/http/data/events.ts", "tests/http/data/live_stream_test.ts", [
    [
      "a long poll of a stream does not wait",
      "=> !isUpToDate || isBeyond;",
      "=> isUpToDate || !isBeyond;",
    ],
  ]),
  ...changesOf("src/http/data/aggregate.ts", "tests/http/data/live_state_test.ts", [
    [
      "a long poll of a state ends with what its client has",
      "const isReady = ({ length }: TailPage) => length > afterLength;",
      "const isReady = ({ length }: TailPage) => length >= afterLength;",
    ],
  ]),
  ...changesOf("src/features/transfer/read_changes.ts", EXPORT, [
    [
      "an export takes what its first round has seen from the log again",
      "(!isSeenByNone && place <= seenAt(seen, stream))",
      "false",
    ],
    [
      "an export ends before the end of the log",
      "const rest = place < end ? undefined : {",
      "const rest = {",
    ],
    [
      "an export takes events behind the place that it has read",
      "head: heads[at]!, ...span }));",
      "head: heads[at]!, from: span.from, to: heads[at]!.length }));",
    ],
    [
      "an export does not notice that a stream was erased",
      "if (span?.from !== 0) throw rewritten(stream);",
      "",
      "tests/features/transfer/export_environment_test.ts",
    ],
  ]),
  ...changesOf("src/store/feed/fill.ts", EXPORT, [
    [
      "an export takes what is filled in for new",
      "return last === undefined || last < BEFORE_COMMITS ? BEFORE_COMMITS : last;",
      "return last ?? BEFORE_COMMITS;",
    ],
  ]),
  ...changesOf("src/features/feed/follow_commits.ts", "tests/simulation/feed_worlds_test.ts", [
    [
      "commits to a stream do not wake its followers",
      "    if (waiters !== undefined) wake(waiters);",
      "",
    ],
  ]),
];
