/** Bugs in what follows from events: outbox, timers, budgets and deliveries. */

import { changesOf, type Mutation } from "./mutation.ts";

const SWEEP = "tests/features/work/sweep_test.ts";
const DELIVERIES = "tests/features/listeners/deliver_events_test.ts";
const ENDPOINTS = "tests/features/listeners/delivery_endpoints_test.ts";
const SETTLING = "tests/features/listeners/settle_deliveries_test.ts";
const DROPS = "tests/features/reactions/drop_implied_test.ts";
const CLAIMS = "tests/features/writes/root_claims_test.ts";
const BUDGETS = "tests/features/reactions/root_budgets_test.ts";
const SCHEDULES = "tests/features/work/fire_schedule_test.ts";
const HELD = "tests/features/reactions/held_works_test.ts";
const LINE = "tests/features/reactions/reaction_lines_test.ts";
const IMPLICATIONS = "tests/features/reactions/run_outbox_test.ts";
const RUNNER = "tests/features/reactions/outbox_runner_test.ts";
const FAULTS = "tests/features/reactions/reaction_faults_test.ts";
const OUTBOX = "tests/store/reactions/outbox_test.ts";
const ROOTS = "tests/store/reactions/roots_test.ts";

export const REACTION_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/features/work/sweep.ts", SWEEP, [
    ["a walk begins anew where it ended", "after = next;\n", ""],
    ["a walk does not rest", "if (nowMs < restsUntilMs) return 0;", ""],
    [
      "the last tenant is not swept",
      "const isLast = tenant >= await readTenantCount(tx.unguarded);",
      "const isLast = tenant + 1 >= await readTenantCount(tx.unguarded);",
    ],
    [
      "two processes sweep",
      `if ((await share.held("sweep")).length === 0) return 0;`,
      `await share.held("sweep");`,
      SWEEP,
    ],
  ]),
  ...changesOf("src/features/listeners/delivery_endpoints.ts", ENDPOINTS, [
    [
      "endpoints that have failed are remembered for ever",
      "if (idle.size > IDLE_ENDPOINTS_MAX) forget(first!);",
      "",
    ],
    [
      "an endpoint that has work again is forgotten",
      "      idle.delete(endpoint);\n      return endpoint;",
      "      return endpoint;",
    ],
  ]),
  ...changesOf("src/features/listeners/work_lane.ts", ENDPOINTS, [
    [
      "the failures of a listener outlive it",
      `if (reason !== "event_erased") forgetAnswers(endpoint);`,
      "",
    ],
  ]),
  ...changesOf("src/features/listeners/settle_deliveries.ts", DELIVERIES, [
    [
      "a delivery is settled twice",
      "changes.filter(({ before }, index) => isSame(found[at]![index], before));",
      "changes.filter(({ before }, index) => isSame(found[at]![index] ?? before, before));",
      SETTLING,
    ],
    [
      "a try that somebody else has settled is settled again",
      "a.tries.length === b.tries.length",
      "a.tries.length >= 0",
      SETTLING,
    ],
    ["what was delivered stays in its lane", "  clearDelivery(tx, lane, index);\n", ""],
    [
      "what was delivered is not kept for people",
      "storeEnded(tx, lane, { delivery, stream: lane.stream, index, end, endedMs });",
      "void [delivery, end, endedMs];",
    ],
    [
      "the settlements behind a full group are lost",
      "waiting = waiting.slice(GROUP_MAX);",
      "waiting = [];",
      SETTLING,
    ],
    [
      "a fault of one lane is that of all",
      "if (!isOutage(error)) return await commitEach(group, error);",
      "if (!isOutage(error)) return rejectAll(group, error);",
      SETTLING,
    ],
    [
      "an outage ends the settlement",
      "if (isEnding) return rejectAll(group, error);",
      "if (!isEnding) return rejectAll(group, error);",
      "tests/features/listeners/delivery_faults_test.ts",
    ],
    [
      "the tries of a delivery are not kept",
      "if (end === undefined) return putDelivery(tx, lane, index, encodeDelivery(delivery));",
      "if (end === undefined) return;",
    ],
  ]),
  ...changesOf("src/features/reactions/drop_implied.ts", DROPS, [
    [
      "entries are dropped under a spec that is not the current one",
      `if (!await isCurrentSpec(tx, tenant, specHash)) return "other_spec";`,
      "",
    ],
    [
      "what another has done meanwhile is said to be dropped",
      "const left = group.filter((_, i) => are[i]);",
      "const left = group.filter((_, i) => are[i] || i >= 0);",
    ],
    [
      "what was dropped stays in the outbox",
      "for (const { work } of left) clearEntry(tx, work);",
      "",
    ],
    [
      "what waits behind a full group is lost",
      "queue.waiting = queue.waiting.slice(GROUP_MAX);",
      "queue.waiting = [];",
    ],
    ["a root that has had something dropped takes no more", "    queues.delete(name);\n", ""],
  ]),
  ...changesOf("src/features/writes/root_claims.ts", CLAIMS, [
    [
      "a root may set off one event more",
      "Math.max(0, limits.rootEventsMax - own.count)",
      "Math.max(0, limits.rootEventsMax + 1 - own.count)",
      CLAIMS,
    ],
    ["what a root was granted is not counted in its transaction", "own.count += granted;", ""],
    [
      "what a root was granted is not stored",
      "if (granted > 0) own.isChanged = true;",
      "",
      BUDGETS,
    ],
    [
      "a root's count is read unguarded",
      "await readRoot(tx, tenant, root.of)));\n  });",
      "await readRoot(tx.unguarded, tenant, root.of)));\n  });",
      BUDGETS,
    ],
    [
      "a root is never removed",
      "if (before === undefined) createRoot(tx, tenant, of, record);\n    else saveRoot",
      "if (before === undefined) saveRoot(tx, tenant, of, record);\n    else saveRoot",
      BUDGETS,
    ],
    [
      "recurring timers count nothing",
      "countRecurring(tx, tenant, { hour: hourOf(nowMs), events: recurring.added, subject });",
      "void subject;",
    ],
    [
      "a saga may begin that cannot end within its budget",
      "roots.get(of)!.count + wanted <= limits.rootEventsMax",
      "roots.get(of)!.count < limits.rootEventsMax + wanted",
      BUDGETS,
    ],
    [
      "a saga that needs just what is left does not begin",
      "roots.get(of)!.count + wanted <= limits.rootEventsMax",
      "roots.get(of)!.count + wanted < limits.rootEventsMax",
      BUDGETS,
    ],
    [
      "each drop of a root is said",
      "if (before?.droppedUnder === specHash) return false;",
      "",
      DROPS,
    ],
    [
      "a drop makes the root's count begin anew",
      "const record = { ...before, count: before?.count ?? first, changedMs: nowMs };",
      "const record = { ...before, count: first, changedMs: nowMs };",
      BUDGETS,
    ],
  ]),
  ...changesOf("src/features/work/fire_schedule.ts", SCHEDULES, [
    [
      "what has failed and was settled elsewhere comes back",
      "return now?.tries !== tries ? undefined : await change(tx) !== false;",
      "return tries < 0 ? undefined : (void now, await change(tx) !== false);",
      "tests/published_failures/cancelled_timer_returns_test.ts",
    ],
    [
      "a scheduled event that failed is not tried again",
      "        replaceSchedule(tx, tenant, record, after);\n      }\n",
      '        removeSchedule(tx, tenant, record, cancelledFor("failed", after.timerMs));\n      }\n',
      FAULTS,
    ],
    [
      "the last try of a scheduled event is one too many",
      "const isLast = tries >= limits.reactionTriesMax;",
      "const isLast = tries > limits.reactionTriesMax;",
      FAULTS,
    ],
    [
      "a dropped scheduled event stays and is dropped again",
      'return false;\n      removeSchedule(tx, tenant, record, cancelledFor("failed", host.nowMs()));',
      "return false;",
      SCHEDULES,
    ],
    [
      "a mark that cancels is not looked for at the moment of the write",
      "return now?.tries === record.tries && !cancelled;",
      "return now?.tries === record.tries && cancelled !== undefined;",
    ],
    [
      "recurring timers that fire are not counted",
      "countRecurring(tx, tenant, { hour: hourOf(nowMs), events: 1, subject: id });",
      "void [root, nowMs];",
      "tests/features/writes/append_writes_test.ts",
    ],
  ]),
  ...changesOf("src/features/reactions/run_outbox.ts", IMPLICATIONS, [
    [
      "an entry that failed comes back although somebody has done it",
      "if (!await hasEntry(tx, place)) return false;",
      "",
      RUNNER,
    ],
    [
      "an entry that is given up stays",
      "if (!await hasEntry(tx, work.place)) return undefined;\n      clearEntry(tx, work);",
      "if (!await hasEntry(tx, work.place)) return undefined;",
    ],
    [
      "an entry is given up under an old spec",
      "if (!await isCurrentSpec(tx, tenant, hash)) return false;",
      "void hash;",
      RUNNER,
    ],
    [
      "an entry is looked for unguarded by what does it",
      "isDue: (tx) => hasEntry(tx, work.place),",
      "isDue: (tx) => hasEntry(tx.unguarded, work.place),",
      RUNNER,
    ],
    [
      "an entry is not removed with its event",
      "    settle(tx, { targets }) {\n      clearEntry(tx, work);\n",
      "    settle(tx, { targets }) {\n",
    ],
    [
      "an implied event cannot be found from its trigger",
      "      noteImplied(tx, work.place.tenant, work.place, written);\n",
      "      void written;\n",
      "tests/features/reactions/read_effects_test.ts",
    ],
    [
      "workers do what its writer is about to do",
      "if (isEntryDue(entryTimes(whole), nowMs)) due.push({ place, whole });",
      "if (nowMs > 0) due.push({ place, whole });",
      FAULTS,
    ],
    [
      "the last try of an entry is one too many",
      "const isLast = tries >= limits.reactionTriesMax;",
      "const isLast = tries > limits.reactionTriesMax;",
      FAULTS,
    ],
    [
      "of a shard only the first page is looked at",
      "else cursors.set(shard, next);",
      "else cursors.delete(shard);",
      RUNNER,
    ],
    [
      "what an implied event implies is left to the workers",
      "return left !== undefined && moment.ownWaitMs > 0 ? held.take(left) : [];",
      "void left;\n    return [];",
    ],
    [
      "a reply waits as long as it takes",
      "await waitShortly(host, drainOwn(works));",
      "await drainOwn(works);",
    ],
    [
      "an outage is taken for a failure of the entry",
      "if (isOutage(error)) throw error;\n      await postpone(work, error);",
      "await postpone(work, error);",
      RUNNER,
    ],
  ]),
  ...changesOf("src/features/reactions/held_works.ts", HELD, [
    [
      "a write may leave any number of entries in memory",
      "if (works.length === 0 || isFull(works[0]!.place.tenant)) return [];",
      "if (works.length === 0) return [];",
    ],
    [
      "an entry that was never held gives its room back",
      "if (!names.delete(nameOf(work.place))) return;",
      "names.delete(nameOf(work.place));",
    ],
  ]),
  ...changesOf("src/store/reactions/schedules.ts", "tests/store/reactions/schedules_test.ts", [
    [
      "a page of scheduled events may have any number of bytes",
      "if (bytes < PAGE_BYTES) taken.push(pair);",
      "taken.push(pair);",
    ],
    [
      "a page of scheduled events that its bytes have ended counts as the last",
      "const isLast = taken.length === pairs.length && pairs.length < limit && read < PAGE_BYTES;",
      "const isLast = pairs.length < limit;",
    ],
    [
      "one event cancels scheduled events of any size one by one",
      "if (pairs.length === limit || bytes > room.bytes) return undefined;",
      "if (pairs.length === limit) return undefined;",
    ],
    [
      "each rule has the whole room for large scheduled events",
      "  room.bytes -= bytes;\n",
      "",
    ],
  ]),
  ...changesOf(
    "src/features/reactions/scheduled_events.ts",
    "tests/features/reactions/scheduled_events_test.ts",
    [[
      "a page of large scheduled events is decoded in one piece",
      "      if (rest !== undefined) await rest;\n",
      "",
    ]],
  ),
  ...changesOf(
    "src/features/reactions/count_reactions.ts",
    "tests/features/reactions/count_reactions_test.ts",
    [[
      "what is pending is counted whatever its bytes",
      "if (number >= COUNTED_MAX || size >= COUNTED_BYTES_MAX) {",
      "if (number >= COUNTED_MAX) {",
    ]],
  ),
  ...changesOf(
    "src/features/reactions/manage_reactions.ts",
    "tests/features/reactions/manage_reactions_test.ts",
    [[
      "a page of pending reactions decodes any number of bytes",
      "if (views.length === limit || bytes >= SHOWN_BYTES_MAX) return { views, next: place };",
      "if (views.length === limit) return { views, next: place };",
    ]],
  ),
  ...changesOf("src/features/work/fire_schedule.ts", "tests/features/work/fire_together_test.ts", [
    [
      "scheduled events of any size fire at the same time",
      "if (!isFree(timer) || !group.mayGoOn()) continue;",
      "if (!group.mayGoOn()) continue;",
    ],
    [
      "large records are decoded in one piece",
      "        await pieces.rest();\n",
      "",
    ],
  ]),
  ...changesOf(
    "src/features/reactions/held_works.ts",
    "tests/features/work/fire_together_test.ts",
    [
      [
        "scheduled events begin to fire after an outage",
        "mayGoOn: () => outage === undefined && !wait.isOver(),",
        "mayGoOn: () => !wait.isOver(),",
      ],
      [
        "a round of timers waits for the slowest of them",
        "await Promise.race([Promise.all(running), wait.over]);",
        "await Promise.all(running);",
      ],
    ],
  ),
  ...changesOf("src/features/reactions/reaction_lines.ts", LINE, [
    [
      "all entries in memory are processed at once",
      "line.take((tenant) => !attempts.isFull(tenant))",
      "line.take(() => true)",
    ],
    [
      "entries are processed on after an outage",
      "if (all.outage === undefined) return void process(all, work);",
      "if (all.open > 0) return void process(all, work);",
    ],
    [
      "what sagas have set off is not waited for",
      "        all.open++;\n        running.then(() => close(all), (error) => fail(all, error));",
      "        running.catch(() => {});",
    ],
    [
      "an entry that has met an outage stays in memory",
      "      attempts.add(tenant, -1);\n      onOver(work);",
      "      attempts.add(tenant, -1);\n      if (all.outage === undefined) onOver(work);",
    ],
  ]),
  ...changesOf("src/store/reactions/outbox.ts", OUTBOX, [
    [
      "pieces of a large entry stay",
      "if (work.bytes > kvLimits.valueBytesMax) clearLargeValue(tx, work.place.tenant, key);",
      "if (work.bytes > 1e9) clearLargeValue(tx, work.place.tenant, key);",
    ],
    [
      "a parked entry stays in the outbox",
      "  clearEntry(tx, work);\n  const key = keys.parked",
      "  const key = keys.parked",
    ],
    [
      "a page begins with the last entry of the one before",
      "return { works, next: isLast ? undefined : keyAfter(last!) };",
      "return { works, next: isLast ? undefined : last! };",
    ],
    [
      "what is behind a page that its bytes have ended is not looked at",
      "(pairs.length < limit && bytes < bytesMax)",
      "pairs.length < limit",
    ],
    [
      "what the last event of an erased stream has set off stays",
      "return { begin, end: keys.outbox(shard, tenant, stream, length, 0) };",
      "return { begin, end: keys.outbox(shard, tenant, stream, length - 1, 0) };",
      "tests/features/erasure/copies_test.ts",
    ],
    [
      "parked entries of an erased stream stay",
      "{ begin: keys.parked(begin), end: keys.parked(end) }",
      "{ begin: keys.parked(begin), end: keys.parked(begin) }",
      "tests/features/erasure/copies_test.ts",
    ],
    [
      "of other tenants the one served last has the next turn too",
      "const start = keys.tenantOutbox(shard, tenant + 1).begin;",
      "const start = keys.tenantOutbox(shard, tenant).begin;",
      "tests/features/work/fair_share_test.ts",
    ],
  ]),
  ...changesOf("src/store/reactions/roots.ts", ROOTS, [
    [
      "a root goes a day after its first change",
      "if (dueIn < hour) tx.clear(keys.root(tenant, of));",
      "if (dueIn >= 0) tx.clear(keys.root(tenant, of));",
    ],
    [
      "a root that was changed since never goes",
      "else tx.set(keys.rootDue(dueIn, tenant, of), PRESENT);",
      "",
    ],
    [
      "a root has nothing that removes it",
      "tx.set(keys.rootDue(dueHour(record.changedMs), tenant, of), PRESENT);",
      "",
    ],
    [
      "counters of an hour go too early",
      "const kept = dueIn - limits.rootRetentionSeconds / SECONDS_PER_HOUR + 1;",
      "const kept = dueIn - limits.rootRetentionSeconds / SECONDS_PER_HOUR + 2;",
    ],
    ["the mark that removes stays", "    tx.clear(key);\n    const [dueIn", "    const [dueIn"],
    [
      "counters of an hour are of one subject alone",
      "return pairs.reduce((sum, { value }) => sum + Number(viewOf(value).getBigInt64(0, true)), 0);",
      "return pairs.slice(0, 1).reduce((sum, { value }) => sum + Number(viewOf(value).getBigInt64(0, true)), 0);",
    ],
  ]),
];
