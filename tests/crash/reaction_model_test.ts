/** The judge of the reaction crash run: it catches what is lost, duplicated or too early. */

import assert from "node:assert/strict";
import { ACTOR } from "./api.ts";
import { createJournal, type Operation, type Write } from "./journal.ts";
import { createRandom } from "./random.ts";
import {
  createReactionJournal,
  type Effect,
  type Ending,
  type Job,
  type Trigger,
} from "./reaction_journal.ts";
import {
  allowedEndings,
  historyOfEnding,
  judgeEffects,
  partsOfEnding,
  reminderVerdict,
  triggerFaults,
} from "./reaction_model.ts";
import { makePools, planJob, type Planned, planOrders } from "./reaction_workload.ts";

const NOW_MS = 1_800_000_000_000;
const SENT_MS = NOW_MS - 60_000;

/** A run in which one write was sent, was answered 10 ms later, and is stored. */
function runOf(isPicked: (planned: Planned) => boolean, plan = planOrders) {
  for (let seed = 1; seed < 2_000; seed++) {
    const random = createRandom(seed);
    let count = 0;
    const token = () => `t${count++}`;
    const planned = plan({ random, pools: makePools(random), token });
    if (planned.triggers.length > 1 || !isPicked(planned)) continue;
    const journal = createJournal();
    const reactions = createReactionJournal();
    const run = { journal, reactions };
    const operation = send(run, planned.write, SENT_MS);
    const trigger: Trigger = { ...planned.triggers[0]!, operation };
    reactions.addTrigger(trigger);
    return { ...run, trigger };
  }
  throw new Error("no seed plans such a write");
}

type Run = Omit<ReturnType<typeof runOf>, "trigger">;

function send({ journal, reactions }: Run, write: Write, sentMs: number): Operation {
  const operation = journal.record(write);
  operation.outcome = "acknowledged";
  reactions.spans.set(operation, { sentMs, heardMs: sentMs + 10 });
  for (const [position, place] of journal.placesOf(operation).entries()) {
    Object.assign(place, { position, id: `${position}` });
  }
  return operation;
}

/** The effect as the server would list it, with changes. */
function find(run: Run, effect: Effect, position: number, changes: Record<string, unknown> = {}) {
  const { key, type, data } = effect;
  const metadata = metadataOf(run, effect);
  const event = { key, type, data, metadata, position, id: `${position}`, ...changes };
  return judgeEffects(run.reactions, () => NOW_MS)(event);
}

function metadataOf({ journal, reactions }: Run, { author, cause, step }: Effect) {
  const timestamp = NOW_MS / 1000;
  const place = journal.placeOf(cause);
  const before = reactions.effectOf(cause);
  const target = place?.operation.targets[place.target];
  const fire_at = new Date(SENT_MS + 5 + reminderDelay(reactions.triggers)).toISOString();
  if (author === "scheduler") {
    return {
      actor: { type: "system_agent", id: "event_scheduler" },
      timestamp,
      scheduled: { scheduled_id: "s", fire_at },
    };
  }
  const depth = (before?.found?.metadata.implied_by as { depth: number } | undefined)?.depth ?? 0;
  const implied_by = {
    key: before?.key ?? `${target!.aggregateType}:${target!.id}`,
    event_type: before?.type ?? target!.events[place!.event]!.type,
    stream_id: before?.found?.id ?? place!.id,
    depth: depth + 1,
  };
  if (author === "implication") {
    return { actor: before?.found?.metadata.actor ?? ACTOR, timestamp, implied_by };
  }
  const phase = author === "coordinator" ? "emit" : "compensate";
  const actor = { type: "system_agent", id: `saga_${author}` };
  return { actor, timestamp, implied_by, saga: { name: "build", saga_id: "s", step, phase } };
}

function reminderDelay(triggers: readonly Trigger[]): number {
  return triggers[0]?.reminder?.delayMs ?? 0;
}

function isChain({ triggers: [trigger] }: Planned): boolean {
  const { effects, reminder, job } = trigger!;
  const links = effects.filter(({ type }) => type === "was_linked");
  return links.length > 2 && reminder === undefined && job === undefined;
}

Deno.test("triggerFaults() accepts all effects once, and none of a write that is not there", () => {
  const { trigger, ...run } = runOf(isChain);
  for (const effect of inOrder(trigger.effects)) assert.deepEqual(find(run, effect, 5), []);
  assert.deepEqual(triggerFaults(run, trigger), []);
  const lost = runOf(isChain);
  for (const place of lost.journal.placesOf(lost.trigger.operation)) delete place.position;
  assert.deepEqual(triggerFaults(lost, lost.trigger), []);
});

/** Causes first. */
function inOrder(effects: readonly Effect[]): Effect[] {
  const tokens = new Set(effects.map(({ token }) => token));
  const rank = (effect: Effect): number =>
    tokens.has(effect.cause) ? 1 + rank(effects.find(({ token }) => token === effect.cause)!) : 0;
  return effects.toSorted((a, b) => rank(a) - rank(b));
}

Deno.test("judgeEffects() catches an effect done twice, misplaced, changed or set off by nothing", () => {
  const { trigger, ...run } = runOf(isChain);
  const [effect, other] = inOrder(trigger.effects) as [Effect, Effect];
  assert.deepEqual(find(run, effect, 0), []);
  assert.match(find(run, effect, 1)[0]!, /a second time/);
  assert.match(find(run, other, 1, { key: "link:global2" })[0]!, /it belongs to/);
  const changed = { ...effect.data, amount: -5 };
  assert.match(find(run, effect, 2, { data: changed }).at(-1)!, /other data/);
  const unknown = { ...effect.data, token: "nobody's" };
  assert.match(find(run, effect, 2, { data: unknown })[0]!, /nothing sets it off/);
});

Deno.test("triggerFaults() catches each single effect that is missing", () => {
  const { trigger, ...run } = runOf(isChain);
  const effects = inOrder(trigger.effects);
  for (const effect of effects) find(run, effect, 0);
  for (const effect of effects) {
    const { found } = effect;
    effect.found = undefined;
    const faults = triggerFaults(run, trigger);
    assert.ok(faults.some((fault) => fault.includes(`${effect.token} is missing`)));
    effect.found = found;
  }
  assert.deepEqual(triggerFaults(run, trigger), []);
});

Deno.test("triggerFaults() catches an effect of a write that is not there, and a wrong origin", () => {
  const orphan = runOf(isChain);
  const [effect] = inOrder(orphan.trigger.effects) as [Effect];
  find(orphan, effect, 0);
  for (const place of orphan.journal.placesOf(orphan.trigger.operation)) delete place.position;
  assert.match(triggerFaults(orphan, orphan.trigger)[0]!, /what sets it off is not/);
  const { trigger, ...run } = runOf(isChain);
  for (const each of inOrder(trigger.effects)) find(run, each, 0);
  const last = inOrder(trigger.effects).at(-1)!;
  last.found = { ...last.found!, metadata: { ...last.found!.metadata, actor: null } };
  assert.match(triggerFaults(run, trigger)[0]!, /expected/);
});

function isReminder({ triggers: [trigger] }: Planned): boolean {
  const { effects, reminder, job } = trigger!;
  return effects.length === 0 && reminder?.implied.length === 0 && job === undefined;
}

Deno.test("reminderVerdict() follows from when cancelling was sent and heard of", () => {
  const verdictOf = (sentMs: number | undefined) => {
    const { trigger, ...run } = runOf(isReminder);
    const reminder = trigger.reminder!;
    const name = reminder.cancelOn[0]!;
    const id = name.slice("order:".length, name.indexOf(" "));
    const data = { token: "paid", amount: 1, note: "" };
    const target = { aggregateType: "order", id, events: [{ type: "was_paid", data }] };
    if (sentMs !== undefined) {
      const paid = send(run, { form: "single", targets: [target] }, sentMs);
      run.reactions.addCancel(name, paid);
    }
    return reminderVerdict(run, trigger, reminder);
  };
  assert.equal(verdictOf(undefined), "fires");
  assert.equal(verdictOf(SENT_MS - 1_000), "fires");
  assert.equal(verdictOf(SENT_MS + 5), "either");
  assert.equal(verdictOf(SENT_MS + 100), "cancelled");
  assert.equal(verdictOf(NOW_MS - 1), "either");
});

Deno.test("a scheduled event that is missing, too early, or fired though removed is caught", () => {
  const missing = runOf(isReminder);
  assert.match(triggerFaults(missing, missing.trigger)[0]!, /is missing/);
  const { trigger, ...run } = runOf(isReminder);
  const { effect } = trigger.reminder!;
  const fire_at = new Date(NOW_MS + 1).toISOString();
  const early = { timestamp: NOW_MS / 1000, scheduled: { scheduled_id: "s", fire_at } };
  assert.match(find(run, effect, 0, { metadata: early })[0]!, /too early/);
  effect.found = undefined;
  assert.deepEqual(find(run, effect, 0), []);
  assert.deepEqual(triggerFaults(run, trigger), []);
  run.reactions.removals.set(effect.token, [{ outcome: "cancelled" }]);
  assert.match(triggerFaults(run, trigger)[0]!, /must not be there/);
});

const ENDINGS: readonly Ending[] = ["completed", "declined", "bad", "unfit", "silent"];

function isJobWith(isWrapped: boolean): (planned: Planned) => boolean {
  return ({ triggers: [trigger] }) =>
    trigger!.job?.ending === "completed" && trigger!.job.isWrapped === isWrapped;
}

Deno.test("triggerFaults() accepts a saga's events in the order of its ending, and no other", () => {
  for (const isWrapped of [false, true]) {
    for (const ending of ENDINGS) {
      const found = (changed: (names: string[]) => string[]) => {
        const { trigger: planned, ...run } = runOf(isJobWith(isWrapped), planJob);
        const job: Job = { ...planned.job!, ending };
        const trigger: Trigger = { ...planned, job };
        for (const [index, name] of changed(partsOfEnding(job, ending)).entries()) {
          const part = job.parts.get(name)!;
          find(run, part, 2 * index);
          for (const after of job.implied.get(part.token) ?? []) find(run, after, 2 * index + 1);
        }
        return triggerFaults(run, trigger);
      };
      assert.deepEqual(found((names) => names), [], ending);
      assert.notDeepEqual(found((names) => names.slice(0, -1)), [], ending);
      assert.notDeepEqual(found((names) => names.toReversed()), [], ending);
      assert.notDeepEqual(found((names) => [...names, "ask_undo", "close"]), [], ending);
    }
  }
});

Deno.test("allowedEndings() of a job that a client answers follow from when it did", () => {
  const isPoll = ({ triggers: [trigger] }: Planned) => trigger!.job?.saga === "poll";
  const endingsAt = (sentMs: number | undefined) => {
    const { trigger, ...run } = runOf(isPoll, planJob);
    const job = trigger.job!;
    const data = { token: "answer", amount: 1, note: "" };
    const events = [{ type: "was_answered", data }];
    const target = { aggregateType: "track", id: job.track.slice("track:".length), events };
    if (sentMs !== undefined) {
      const operation = send(run, { form: "single", targets: [target] }, sentMs);
      run.reactions.answers.set(job.track, [{ operation, ending: "completed" }]);
    }
    return allowedEndings(run, trigger, job);
  };
  assert.deepEqual(endingsAt(undefined), ["silent"]);
  assert.deepEqual(endingsAt(SENT_MS + 1_000), ["completed"]);
  assert.deepEqual(endingsAt(SENT_MS + 3_000), ["completed", "silent"]);
});

Deno.test("historyOfEnding() undoes what was done, backwards", () => {
  const job = runOf(isJobWith(true), planJob).trigger.job!;
  assert.deepEqual(historyOfEnding(job, "unfit").slice(-6), [
    "ask completed",
    "finish failed",
    "ask compensated",
    "wrap compensated",
    "pack compensated",
    "take compensated",
  ]);
});
