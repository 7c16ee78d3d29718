/** Bugs in what clients write: appending, combining, the ledger of keys, heads and events. */

import { changesOf, type Mutation } from "./mutation.ts";

const APPEND = "tests/features/writes/append_writes_test.ts";
const WRITES = "tests/features/writes/write_events_test.ts";
const COMBINE = "tests/features/writes/combine_test.ts";
const BACKGROUND = "tests/features/work/background_service_test.ts";
const GATHER = "tests/features/writes/gather_writes_test.ts";
const IDEMPOTENT = "tests/features/writes/idempotent_write_test.ts";
const LEDGER = "tests/store/streams/idempotency_test.ts";
const STREAMS = "tests/store/streams/streams_test.ts";
const EVENTS = "tests/store/streams/stream_events_test.ts";
const HEADS = "tests/store/streams/stream_head_test.ts";
const TAILS = "tests/store/streams/stream_tail_test.ts";

export const WRITE_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/features/writes/write_events.ts", IDEMPOTENT, [
    [
      "the in-flight key without the tenant",
      "return `${tenant.number}/${key}`;",
      "return tenant.number < 0 ? `${tenant.number}` : key;",
    ],
    [
      "a key stays in flight after its request has failed",
      "} finally {\n      inFlight.delete(claim);\n    }",
      "} finally {\n      void claim;\n    }",
    ],
    [
      "a key whose request is running is not refused",
      "if (inFlight.has(claim)) return refuse",
      'if (inFlight.has(claim) && claim === "") return refuse',
    ],
    [
      "a recorded key is refused where a later spec refuses its body",
      "return await answerRefused(tenant, request, nowMs) ?? prepared;",
      "return (await answerRefused(tenant, request, nowMs), prepared);",
    ],
  ]),
  ...changesOf("src/store/streams/idempotency.ts", IDEMPOTENT, [
    [
      "a replay does not start the day of its key anew",
      "touchLedger(tx, tenant, { key: idempotency.key, entry }, now);\n",
      "",
    ],
  ]),
  ...changesOf("src/features/writes/append_writes.ts", WRITES, [
    [
      "writes of one transaction are all guarded by the length before it",
      "const { length, tip } = streams.get(target.key)!.head;",
      "const { length, tip } = streams.get(target.key)!.before;",
    ],
    [
      "only the first target of an atomic write is guarded",
      "for (const target of write.targets) {\n    const { length, tip }",
      "for (const target of write.targets.slice(0, 1)) {\n    const { length, tip }",
    ],
    [
      "a stream that has moved since a module has judged it takes the write",
      "isMoved ? accept(STREAM_MOVED) : undefined",
      "isMoved && write.nowMs < 0 ? accept(STREAM_MOVED) : undefined",
      "tests/features/writes/judge_writes_test.ts",
    ],
    [
      "what a long write sets off is added in one piece",
      "turns === undefined ? runAtOnce(steps) : runInPieces(steps, turns)",
      "turns === undefined ? runAtOnce(steps) : runAtOnce(steps)",
      APPEND,
    ],
    [
      "a cause that is gone has its effect",
      "if (reading === false || isGone)",
      "if (isGone)",
      APPEND,
    ],
    [
      "two writes of one transaction have one cause twice",
      "reactions.gone.add(cause.subject);",
      "void reactions.gone;",
      APPEND,
    ],
    [
      "a cause is not removed with its effect",
      "cause.settle(tx, written);",
      "void written;",
      APPEND,
    ],
    [
      "what an event cancels within its transaction fires all the same",
      "(cause.rules?.some((rule) => moved.has(rule)) ?? false)",
      "(cause.rules?.some((rule) => moved.has(rule)) ?? false) && moved.size < 0",
      APPEND,
    ],
    [
      "errors of a write are not stored with it",
      "for (const error of write.errors) storeErrorRecord(tx, tenant, error);",
      "",
      "tests/features/reactions/run_outbox_test.ts",
    ],
    [
      "deliveries are not put in with their events",
      "await runHere(steps, turns, pieces);",
      "",
      "tests/features/listeners/deliver_events_test.ts",
    ],
    [
      "deliveries are of the event behind their own",
      "appendDeliverySteps(tx, tenant, target, firsts[number]!, lanes)",
      "appendDeliverySteps(tx, tenant, target, firsts[number]! + 1, lanes)",
      "tests/features/listeners/deliver_events_test.ts",
    ],
    [
      "what was written is not metered",
      "meter.flush(tx);\n",
      "",
      "tests/end_to_end/plans_test.ts",
    ],
    [
      "commits are not logged",
      "logCommit(tx, tenant, log);",
      "void tx;",
      "tests/features/projections/keep_projections_test.ts",
    ],
    [
      "the epoch of writes is read unguarded",
      "readEpoch(tx, tenant),",
      "readEpoch(tx.unguarded, tenant),",
      APPEND,
    ],
    [
      "a key is looked for unguarded",
      "return idempotency && readLedger(tx, tenant, idempotency);",
      "return idempotency && readLedger(tx.unguarded, tenant, idempotency);",
      APPEND,
    ],
  ]),
  ...changesOf(
    "src/features/writes/write_emission.ts",
    "tests/features/writes/write_emission_test.ts",
    [
      [
        "an event that sets off much is prepared in one piece",
        "runInPieces(prepareEmissionSteps(host, spec, whole, moment, answers), host)",
        "runInPieces(prepareEmissionSteps(host, spec, whole, moment, answers), { ...host, monotonicMs: () => 0 })",
      ],
    ],
  ),
  ...changesOf("src/store/streams/streams.ts", "tests/store/streams/aggregates_test.ts", [
    [
      "an aggregate is listed with its second event",
      "if (before.length === 0) {",
      "if (before.length === 1) {",
      "tests/end_to_end/listing_test.ts",
    ],
    [
      "no snapshot is made of what has grown long",
      "if (head.bytes >= (rebuilds + 1) * REBUILD_EVERY_BYTES) {",
      "if (head.bytes < rebuilds * REBUILD_EVERY_BYTES) {",
      "tests/features/states/rebuild_snapshots_test.ts",
    ],
  ]),
  ...changesOf("src/features/writes/gather_writes.ts", GATHER, [
    [
      "writes wait until nobody has a transaction",
      'return now - besideMs < CHANGE_MS_MAX ? "next_change" : commit();',
      'return "next_change";',
    ],
    [
      "the time of writes that wait is never over",
      "besideMs ??= now;",
      "besideMs = now;",
    ],
    [
      "one writer more than there are is waited for",
      "if (waiting >= expected) {",
      "if (waiting > expected) {",
    ],
    ["writes that have ended count as under way", "underWay -= writes;", "underWay -= writes - 1;"],
    [
      "a wait does not end",
      "return wait.idleMs >= IDLE_MS_MAX ||",
      "return wait.idleMs >= 1e9 * IDLE_MS_MAX ||",
    ],
    [
      "what takes long to write waits",
      "if (bytes >= BYTES_MAX) return commit();",
      "if (bytes >= 1e9 * BYTES_MAX) return commit();",
    ],
    ["waits in vain are not counted", "toSkip = skipped;", "toSkip = 0;"],
  ]),
  ...changesOf("src/features/writes/gather_writes.ts", COMBINE, [
    [
      "writes to a stream overtake one that does not fit beside those before it",
      "taken.isFull = true;\n      staying",
      "staying",
    ],
  ]),
  ...changesOf("src/features/writes/combine.ts", BACKGROUND, [
    [
      "what is set off shares transactions with clients' writes",
      "return cause !== undefined && engine.capabilities.isShared;",
      "return cause !== undefined && !engine.capabilities.isShared;",
    ],
    [
      "one tenant's events go first until there are none",
      "queues.delete(tenant);\n      queues.set(tenant, queue);\n      const [direct]",
      "const [direct]",
    ],
    [
      "what is set off goes first, too",
      "if (write.cause === undefined) isBackground = false;",
      "if (write.bytes >= 0) isBackground = false;",
    ],
  ]),
  ...changesOf("src/features/writes/combine.ts", COMBINE, [
    [
      "what waits beside a long transaction waits for its end",
      "else if (!isTimed) lookLater();",
      "",
    ],
    [
      "each write of a transaction has the answer of the first",
      "group.writes[index]!.resolve(outcome);",
      "group.writes[index]!.resolve(index < 0 ? outcome : outcomes[0]!);",
    ],
    [
      "what was taken stays in the queue, and is written twice",
      "queue.waiting = staying;",
      "void staying;",
    ],
    [
      "a stream is free while it is written",
      "await commitGroup(tenant, queue, group, direct);\n    for",
      "const underWay = commitGroup(tenant, queue, group, direct);\n    void underWay;\n    for",
    ],
    [
      "what waits behind a transaction is not looked at when that ends",
      "queues.delete(tenant);\n    if (waiting.writes > 0) schedule();",
      "queues.delete(tenant);",
    ],
    [
      "writes that were taken count as waiting",
      "    waiting = sumWaiting(queues);\n  }\n\n  function scheduleLater",
      "  }\n\n  function scheduleLater",
    ],
    [
      "what waits behind an outage waits as long again",
      "const behind = isAway ? takeBehind(queue, new TextSet([...direct, ...streams])) : [];",
      "const behind: Waiting[] = isAway && streams.length < 0 ? takeBehind(queue, direct) : [];",
    ],
    [
      "what hears of an outage is written all the same",
      "queue.waiting = queue.waiting.filter(({ stream }) => !streams.has(stream));",
      "",
    ],
    [
      "a fault of one stream fails all that share its transaction",
      "if (streams.length === 1 || isAway) {",
      "if (streams.length >= 1 || isAway) {",
    ],
    [
      "after a fault a stream's writes are tried with those of others",
      "const writes = group.writes.filter((waiting) => waiting.stream === stream);",
      'const writes = group.writes.filter((waiting) => waiting.stream !== "");',
    ],
  ]),
  ...changesOf("src/store/streams/idempotency.ts", LEDGER, [
    [
      "a key is known for a second longer than a day",
      "entry.used + limits.idempotencyRetentionSeconds <= now",
      "entry.used + limits.idempotencyRetentionSeconds < now",
    ],
    [
      "the sweep reads a ledger entry unguarded",
      "const current = await tx.get(key);",
      "const current = await tx.unguarded.get(key);",
    ],
    [
      "a replay sets the day of a key back",
      "if (entry.used < now) setEntry",
      "if (entry.used > now) setEntry",
    ],
    [
      "a body that differs is replayed",
      `if (entry.bodyHash !== claim.bodyHash) return { kind: "mismatch" };`,
      "",
    ],
    [
      "the second target of a replayed answer is lost",
      "at < places.length; at += 3",
      "at < places.length; at += 6",
    ],
    [
      "a sweep ends where a step was full",
      "if (last === undefined || pairs.length < limit)",
      "if (last === undefined || pairs.length <= limit)",
    ],
  ]),
  ...changesOf("src/store/streams/streams.ts", STREAMS, [
    [
      "a link leaves out the link before it",
      "extendChain(chained.tip, event.raw);",
      "extendChain(undefined, event.raw);",
    ],
    [
      "the segment of the fourth event lies over the events before it",
      "const first = length - count;",
      "const first = length;",
    ],
    [
      "events of the head are lost where what follows is large",
      "const all = count === 0 ? events : [...decodeTail(tail), ...events];",
      "const all = events;",
      EVENTS,
    ],
    [
      "what was built of a stream holds although the stream is rewritten meanwhile",
      "readRewrites(tx, tenant),\n  ]);\n  return head",
      "readRewrites(tx.unguarded, tenant),\n  ]);\n  return head",
      STREAMS,
    ],
    [
      "streams are opened unguarded",
      "reads.push(tx.get(key));",
      "reads.push(tx.unguarded.get(key));",
      "tests/contract/nodes_sqlite_test.ts",
    ],
    [
      "hashes made ahead are taken although another event has come before",
      "ahead?.of === events && ahead.from === head",
      "ahead?.of === events",
      "tests/features/writes/append_writes_test.ts",
    ],
    [
      "a second append of a transaction forgets the first",
      "if (pending === undefined) appender.added = pending",
      "if (pending !== chained.events) appender.added = pending",
    ],
    [
      "the time of a stream's first event is that of its last",
      "createdAt: first === 0 ? firstTimestamp : head.createdAt,",
      "createdAt: first >= 0 ? firstTimestamp : head.createdAt,",
    ],
    [
      "anchors do not see that a stream has changed",
      "markChange(write, before, epoch);\n",
      "",
      "tests/store/streams/audit_cuts_test.ts",
    ],
  ]),
  ...changesOf("src/store/streams/stream_events.ts", EVENTS, [
    [
      "a page that its ceiling has ended goes on with the events of the head",
      "if (end === to || isFull || from + stored.length < end) return stored;",
      "if (end === to) return stored;",
    ],
    [
      "the events of a head are taken for those of another generation",
      "if (tail.length === 0 || head.generation !== generation) return NONE_HELD;",
      "if (tail.length === 0) return NONE_HELD;",
    ],
    [
      "an event of the head is read one place too late",
      "const first = length - events.length;",
      "const first = length - events.length + 1;",
    ],
    [
      "a page begins one event too early",
      "if (index < window.from || index >= window.to) continue;",
      "if (index < window.from - 1 || index >= window.to) continue;",
    ],
    [
      "a page ends one event too late",
      "if (index < window.from || index >= window.to) continue;",
      "if (index < window.from || index > window.to) continue;",
    ],
    [
      "backwards, what the head has does not count",
      "const left = bytesMax - newest.reduce((sum, { bytes }) => sum + bytes, 0);",
      "const left = bytesMax;",
    ],
    [
      "events that are missing are no fault",
      `assert(now.generation > generation, "a stream holds every event below its length");`,
      "void now;",
    ],
  ]),
  ...changesOf("src/store/streams/stream_head.ts", HEADS, [
    [
      "a head that was changed is read",
      `assert(view.getUint32(41) === (generation + epoch) >>> 0, "a stream head adds up");`,
      "",
    ],
    [
      "a head with bytes behind it is read",
      "(kind & TAILED) === 0 ? rest === 0 : rest > 0",
      "rest >= 0",
    ],
    [
      "the head forgets its epoch",
      "view.setUint32(37, head.epoch);",
      "view.setUint32(37, head.generation);",
    ],
    [
      "the tail is read from where the place begins",
      "const at = head.place === undefined ? end : end + PLACE_BYTES;",
      "const at = end;",
    ],
  ]),
  ...changesOf("src/store/streams/stream_head.ts", TAILS, [
    [
      "a head takes a fourth event",
      "if (count === TAIL_EVENTS_MAX ||",
      "if (count === TAIL_EVENTS_MAX + 1 ||",
    ],
    ["a head takes one byte more", "size > TAIL_BYTES_MAX)", "size > TAIL_BYTES_MAX + 1)"],
    [
      "a tail that says another number is read",
      `assert(singles.length === tailCount(tail), "a head has as many events as it says");`,
      "",
    ],
    [
      "a sealed tail has what came last alone",
      "joinSegments([...singlesOf(tail), encodeSegment(events)])",
      "joinSegments([encodeSegment(events)])",
    ],
  ]),
];
