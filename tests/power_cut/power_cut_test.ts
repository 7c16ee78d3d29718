/**
 * Power cuts of the embedded engine, from recordings of what it really did. A recording has
 * every write, sync, truncation, name and acknowledgement. From each, many disks are made that
 * a cut may leave; each is opened, checked, written to and closed. `POWER_CUTS=2000` makes more
 * of them, `POWER_CUT_SEED` repeats a run.
 */

import assert from "node:assert/strict";
import { createRandom, type Random } from "../crash/random.ts";
import { checkState } from "./check_state.ts";
import { type Fate, stateAfterCut } from "./disk_states.ts";
import {
  type Plan,
  record,
  recordAll,
  type Recording,
  STORE,
  whyNotRecorded,
} from "./record_disk.ts";

const STATES = Number(Deno.env.get("POWER_CUTS") ?? 160);
const SEED = Number(Deno.env.get("POWER_CUT_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const TRANSACTIONS = 900;
const RECOVERED_TRANSACTIONS = 40;
/** Transactions that are under way at the same time. */
const AT_ONCE = [1, 3, 8];
const FATES: readonly Fate[] = ["lost", "mixed", "kept"];
const ENDS = ["close", "kill", "forget"] as const;

const reason = await whyNotRecorded();
if (reason !== undefined) console.log(`power cuts are not recorded: ${reason}`);
else console.log(`power cut seed ${SEED}`);

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore: reason !== undefined, fn });
}

/** Draws the line of the cut and the fates of the sectors, and makes the files that are left. */
function cut(recording: Recording, seed: number, begun: number, random: Random) {
  const line = random.below(recording.trace.lines + 1);
  return cutAt(recording, { seed, begun, line }, random);
}

function cutAt(
  { trace, acknowledged }: Recording,
  { seed, begun, line }: { seed: number; begun: number; line: number },
  random: Random,
) {
  const fate = random.pick(FATES);
  const files = stateAfterCut(trace, line, fate, random);
  const told = acknowledged.filter((one) => one.line < line).map(({ number }) => number);
  const expected = { seed, acknowledged: Math.max(0, ...told), begun };
  return { files, expected, name: `seed ${SEED}, line ${line} of ${trace.lines}, ${fate}` };
}

/** About the lines of a start. */
const START_LINES = 60;

/** Like {@link cut}, but never before the last program began, and often while it starts. */
function cutFrom(recording: Recording, seed: number, begun: number, random: Random) {
  const { trace, begin } = recording;
  const lines = trace.lines + 1 - begin;
  const line = begin + random.below(random.chance(0.5) ? Math.min(lines, START_LINES) : lines);
  return cutAt(recording, { seed, begun, line }, random);
}

async function judge(one: ReturnType<typeof cut>, more = ""): Promise<number> {
  try {
    return await checkState(one.files, one.expected);
  } catch (error) {
    throw new Error(`${one.name}${more}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}

/** Recordings without a fault, each ended in its own way. */
async function recordings(random: Random): Promise<{ plan: Plan; recording: Recording }[]> {
  const all: { plan: Plan; recording: Recording }[] = [];
  for (const end of ENDS) {
    const atOnce = random.pick(AT_ONCE);
    const plan = { seed: random.below(2 ** 31), first: 1, count: TRANSACTIONS, atOnce, end };
    const recording = await record(plan);
    assert.equal(recording.exitCode, 0);
    assert.equal(recording.acknowledged.length, TRANSACTIONS, "the trace shows every one");
    all.push({ plan, recording });
  }
  return all;
}

test("after a power cut at any moment all that was acknowledged is there, and nothing by half", async () => {
  const random = createRandom(SEED);
  for (const { plan, recording } of await recordings(random)) {
    assertTurns(recording);
    for (let state = 0; state < STATES / 2 / ENDS.length; state++) {
      await judge(cut(recording, plan.seed, plan.count, random), `, ${plan.end}`);
    }
  }
});

/** A run that rarely switches between the redo log's files proves little. */
function assertTurns({ trace }: Recording): void {
  const redo = trace.names.filter(({ name, file }) => /-redo\d$/.test(name) && file !== undefined);
  for (const { file } of redo) {
    const places = file!.changes.flatMap((change) => change.kind === "write" ? [change.at] : []);
    const restarts = places.filter((at, index) => index > 0 && at < places[index - 1]!).length;
    assert.ok(restarts >= 4, `a file of the redo log began anew ${restarts} times`);
  }
}

test("a power cut during the start after a power cut loses nothing either", async () => {
  const random = createRandom(SEED).fork(1);
  const [{ plan, recording }] = await recordings(random) as [{ plan: Plan; recording: Recording }];
  for (let round = 0; round < Math.max(2, STATES / 60); round++) {
    const first = cut(recording, plan.seed, plan.count, random);
    const there = await judge(first);
    const end = random.pick(ENDS);
    const count = RECOVERED_TRANSACTIONS;
    const next: Plan = { ...plan, first: there + 1, count, end, atOnce: random.pick(AT_ONCE) };
    const again = await record(next, first.files);
    const written = again.acknowledged.filter(({ number }) => number > there).length;
    assert.equal(written, count, `${first.name}: what the next start wrote`);
    for (let state = 0; state < 15; state++) {
      const second = cut(again, plan.seed, there + count, random);
      const expected = {
        ...second.expected,
        acknowledged: Math.max(first.expected.acknowledged, second.expected.acknowledged),
      };
      await judge({ ...second, expected }, ` after ${first.name}`);
    }
  }
});

/** The exit code of a program that SIGKILL ended. */
const KILLED = 128 + 9;

/** The call at which the program is killed. `when` is its ordinal among those of its name. */
const KILLS: readonly ((when: number) => string)[] = [
  (when) => `fdatasync:signal=KILL:when=${1 + when % 20}`,
  (when) => `fdatasync:signal=KILL:when=${1 + when % 40}`,
  (when) => `fdatasync:signal=KILL:when=${when}`,
  (when) => `write:signal=KILL:when=${when}`,
  (when) => `pwrite64:signal=KILL:when=${when}`,
  (when) => `ftruncate:signal=KILL:when=${1 + when % 6}`,
  (when) => `fsync:signal=KILL:when=${1 + when % 9}`,
  (when) => `unlink:signal=KILL:when=${1 + when % 2}`,
  (when) => `unlinkat:signal=KILL:when=${1 + when % 3}`,
];

test("a kill at any call, and a power cut during the start after it or later, lose nothing", async () => {
  const random = createRandom(SEED).fork(6);
  let kills = 0;
  const rounds = Math.max(2 * KILLS.length, STATES / 10);
  for (let round = 0; round < rounds; round++) {
    const kill = KILLS[round % KILLS.length]!(1 + random.below(40));
    const [killed, end] = [random.pick(["close", "forget"] as const), random.pick(ENDS)];
    const seed = random.below(2 ** 31);
    // Few, so that many kills are within a start, a checkpoint or a close.
    const count = 1 + random.below(12);
    const recording = await recordAll([
      { seed, first: 1, count, atOnce: 1, end: killed, faults: [kill] },
      { seed, first: 0, count, atOnce: 1, end },
    ]);
    if (recording.earlierCodes[0] === KILLED) kills++;
    assert.equal(recording.exitCode, 0, `${kill}: the start after it`);
    const why = `, ${kill} before ${killed}, then ${end}`;
    for (let state = 0; state < 8; state++) {
      const one = cutFrom(recording, seed, 2 * count, random);
      if (one.expected.acknowledged > 0) await judge(one, why);
    }
  }
  // About half of the calls are never reached: the program ends before.
  assert.ok(kills >= rounds / 9, `${kills} of ${rounds} programs were killed`);
});

/** Disks or systems that fail or stall. `when` is the ordinal of the affected call. */
const FAULTS: readonly ((when: number) => string)[] = [
  (when) => `fdatasync:error=EIO:when=${when}`,
  (when) => `fsync:error=EIO:when=${1 + when % 12}`,
  (when) => `pwrite64:error=EIO:when=${when}`,
  (when) => `pwrite64:error=ENOSPC:when=${when}..${when + 6}`,
  (when) => `write:error=ENOSPC:when=${when}..${when + 3}`,
  (when) => `write:error=EIO:when=${when}`,
  (when) => `ftruncate:error=EIO:when=${1 + when % 12}`,
  (when) => `fdatasync:delay_enter=150000:when=${when}+9`,
  (when) => `fsync:delay_enter=400000:when=${1 + when % 9}+5`,
];

test("whatever call of the disk fails or is slow, a cut at any moment loses nothing, and a broken store keeps its files", async () => {
  const random = createRandom(SEED).fork(2);
  for (let round = 0; round < Math.max(FAULTS.length, STATES / 10); round++) {
    const fault = FAULTS[round % FAULTS.length]!(2 + random.below(120));
    const end = random.pick(ENDS);
    const plan: Plan = {
      seed: random.below(2 ** 31),
      first: 1,
      count: RECOVERED_TRANSACTIONS * 3,
      atOnce: 1,
      end,
      faults: [fault],
    };
    const recording = await record(plan);
    assert.ok([0, 1].includes(recording.exitCode), "it neither ended well nor said that it broke");
    const why = `, ${fault}, ${end}, exit code ${recording.exitCode}`;
    for (let state = 0; state < 6; state++) {
      const one = cut(recording, plan.seed, plan.count, random);
      // A store that could not be created may not open: there is nothing in it.
      if (one.expected.acknowledged > 0) await judge(one, why);
    }
    await judge(atEnd(recording, plan, random), why);
  }
});

/** The state after the end of the program, without anything that was not synced. */
function atEnd({ trace, acknowledged }: Recording, { seed, count }: Plan, random: Random) {
  const files = stateAfterCut(trace, trace.lines, "lost", random);
  const expected = { seed, acknowledged: acknowledged.at(-1)?.number ?? 0, begun: count };
  return { files, expected, name: `seed ${SEED}, at the end` };
}

test("where the disk does not confirm the database, the store breaks, and a close leaves every file as it is", async () => {
  const random = createRandom(SEED).fork(3);
  for (const end of ["close", "forget"] as const) {
    const plan: Plan = {
      seed: random.below(2 ** 31),
      first: 1,
      count: TRANSACTIONS,
      atOnce: 3,
      end,
      // Skips the first syncs, which belong to the start.
      faults: [`fdatasync:error=EIO:when=${2 + random.below(3)}+`],
      faulty: [""],
    };
    const recording = await record(plan);
    assert.equal(recording.exitCode, 1, end);
    const told = recording.acknowledged.at(-1)?.number ?? 0;
    assert.ok(told > 0 && told < TRANSACTIONS, `${told} of ${TRANSACTIONS} before it broke`);
    const names = [...recording.left.keys()].sort();
    assert.deepEqual(names, ["", "-pages", "-redo1", "-redo2", "-wal"].map((each) => STORE + each));
    const expected = { seed: plan.seed, acknowledged: told, begun: TRANSACTIONS };
    await checkState(recording.left, expected);
  }
});

/** SQLite can write nothing more; the redo log uses other calls. */
const NO_ROOM = "pwrite64:error=ENOSPC:when=1+";

/** What a killed program left in the system's memory: none of its syncs is known any more. */
function unsynced({ left }: Recording): ReadonlyMap<string, Uint8Array> {
  return left;
}

/** Faults of calls on the page checksums, which the store can do without. */
const FAULTS_OF_SUMS: readonly ((when: number) => string)[] = [
  (when) => `fdatasync:error=EIO:when=${when}`,
  (when) => `fdatasync:error=EIO:when=${when}+`,
  (when) => `write:error=ENOSPC:when=${when}`,
  (when) => `write:error=ENOSPC:when=${when}+`,
  (when) => `write:error=EIO:when=${when}..${when + 4}`,
  (when) => `ftruncate:error=EIO:when=${1 + when % 3}`,
  (when) => `openat:error=EACCES:when=${when}`,
  (when) => `fdatasync:delay_enter=60000:when=${when}+5`,
];

test("whatever fails with the sums of pages, the store goes on and closes, and leaves no wrong sum", async () => {
  const random = createRandom(SEED).fork(5);
  for (let round = 0; round < Math.max(FAULTS_OF_SUMS.length, STATES / 10); round++) {
    const fault = FAULTS_OF_SUMS[round % FAULTS_OF_SUMS.length]!(1 + random.below(30));
    const end = random.pick(ENDS);
    const plan: Plan = {
      seed: random.below(2 ** 31),
      first: 1,
      count: TRANSACTIONS / 3,
      atOnce: random.pick(AT_ONCE),
      end,
      faults: [fault],
      faulty: ["-pages"],
    };
    const { exitCode, left } = await record(plan);
    const name = `seed ${SEED}, ${fault}, ${end}`;
    assert.equal(exitCode, 0, name);
    const expected = { seed: plan.seed, acknowledged: plan.count, begun: plan.count };
    await judge({ files: new Map(left), expected, name });
  }
});

test("on a full disk a start tells only what a power cut cannot take back", async () => {
  const random = createRandom(SEED).fork(4);
  const seed = random.below(2 ** 31);
  const plan: Plan = { seed, first: 1, count: RECOVERED_TRANSACTIONS, atOnce: 1, end: "kill" };
  const killed = await record(plan);
  for (let round = 0; round < 4; round++) {
    const next: Plan = { ...plan, first: plan.count + 1, count: 0, faults: [NO_ROOM] };
    const full = await record(next, unsynced(killed));
    const told = full.acknowledged.at(-1)?.number ?? 0;
    assert.equal(told, plan.count, "all that was kept can be read");
    for (let state = 0; state < 6; state++) {
      await judge(cut(full, seed, plan.count, random), ", on a full disk");
    }
    await judge(atEnd(full, plan, random), ", on a full disk");
  }
});
