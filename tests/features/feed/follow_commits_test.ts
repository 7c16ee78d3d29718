/** Followers of commits: nothing after their begin is missed, and nothing is left over. */

import assert from "node:assert/strict";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import { type Follower, openCommitFollowers } from "../../../src/features/feed/follow_commits.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { logCommit } from "../../../src/store/feed/commit_log.ts";
import { countReads } from "../../support/count_reads.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { until } from "../../support/until.ts";

const TENANT = 9;
const [A, B] = [streamKey("order", "a"), streamKey("order", "b")];

function commit(engine: Engine, stream: StreamKey, tenant = TENANT): Promise<void> {
  const entry = { kind: "appended", stream, first: 0, count: 1 } as const;
  return engine.transact((tx) => Promise.resolve(logCommit(tx, tenant, [entry])));
}

const LOOKS_MAX = 20;

/** Moves the clock to the next look at the store, once the followers wait for it. */
async function lookAgain(host: ReturnType<typeof fakeHost>): Promise<void> {
  await until(() => host.timersMs.length > 0, "the wait for the next look");
  host.timeMs += 60;
}

/** Long enough for a look at the store to end, on any engine: turns wait for what is read. */
async function rest(host: ReturnType<typeof fakeHost>): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
  for (let turn = 0; turn < 5; turn++) await host.yieldTurn();
}

/** Whether the follower is told of something within some looks. */
async function isTold(host: ReturnType<typeof fakeHost>, follower: Follower): Promise<boolean> {
  let told = false;
  void follower.changed().then(() => told = true);
  for (let look = 0; look < LOOKS_MAX && !told; look++) {
    await lookAgain(host);
    await rest(host);
  }
  return told;
}

async function withFollowers(
  body: (given: {
    readonly engine: Engine;
    readonly host: ReturnType<typeof fakeHost>;
    readonly followers: ReturnType<typeof openCommitFollowers>;
    readonly begin: (stream?: StreamKey, tenant?: number) => Promise<Follower>;
  }) => Promise<void>,
  wrap = (engine: Engine) => engine,
): Promise<void> {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    const { engine, isReading } = countReads(wrap(inner));
    // Turns as long as those of a real server: a store answers within one, however slow it is here.
    host.yieldTurn = async () => {
      do await new Promise((resolve) => setTimeout(resolve, 1)); while (isReading());
    };
    const followers = openCommitFollowers(engine, host);
    const begun: Follower[] = [];
    /** A follower that has had its first look. */
    async function begin(stream?: StreamKey, tenant = TENANT): Promise<Follower> {
      const follower = followers.follow(tenant, stream);
      begun.push(follower);
      if (begun.length === 1) assert.equal(await isTold(host, follower), true);
      return follower;
    }
    await body({ engine: inner, host, followers, begin });
    for (const follower of begun) follower.end();
    assert.equal(followers.count(), 0);
    // The last look is over once its timer has run.
    host.timeMs += 60;
    await rest(host);
  });
}

Deno.test("a follower is told of a commit, and then of nothing until the next one", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const follower = await begin();
    for (let n = 0; n < 3; n++) {
      assert.equal(await isTold(host, follower), false);
      await commit(engine, A);
      assert.equal(await isTold(host, follower), true);
    }
  });
});

Deno.test("a commit between the begin of a follower and its first look is told of", async () => {
  await withFollowers(async ({ engine, host, followers }) => {
    const follower = followers.follow(TENANT);
    await commit(engine, A);
    assert.equal(await isTold(host, follower), true);
    follower.end();
  });
});

Deno.test("a commit while nobody waits is told of at the next wait", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const follower = await begin();
    const other = await begin();
    await commit(engine, A);
    assert.equal(await isTold(host, other), true);
    let told = false;
    void follower.changed().then(() => told = true);
    await host.yieldTurn();
    assert.equal(told, true);
  });
});

Deno.test("a follower of a stream is told of commits to that stream alone", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const all = await begin();
    const ofA = await begin(A);
    const ofB = await begin(B);
    await commit(engine, A);
    assert.equal(await isTold(host, all), true);
    assert.deepEqual([await isTold(host, ofA), await isTold(host, ofB)], [true, false]);
  });
});

Deno.test("commits of other environments wake nobody", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const follower = await begin();
    await commit(engine, A, TENANT + 1);
    assert.equal(await isTold(host, follower), false);
  });
});

Deno.test("hundreds of commits at once are told of as a whole, and none is left over", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const follower = await begin();
    await Promise.all(Array.from({ length: 700 }, () => commit(engine, A)));
    assert.equal(await isTold(host, follower), true);
    while (await isTold(host, follower));
    await commit(engine, B);
    assert.equal(await isTold(host, follower), true);
  });
});

Deno.test("while the store is away nobody is told of anything, afterwards of what came meanwhile", async () => {
  let isAway = false;
  const wrap = (engine: Engine) => faultyEngine(engine, [], { isAway: () => isAway });
  await withFollowers(async ({ engine, host, begin }) => {
    const follower = await begin();
    isAway = true;
    await commit(engine, A);
    assert.equal(await isTold(host, follower), false);
    isAway = false;
    assert.equal(await isTold(host, follower), true);
  }, wrap);
});

Deno.test("the count of changes is never the same again, also if nobody follows in between", async () => {
  await withFollowers(async ({ engine, host, followers }) => {
    const seen = new Set<number | undefined>();
    for (let n = 0; n < 5; n++) {
      const follower = followers.follow(TENANT);
      assert.equal(await isTold(host, follower), true);
      seen.add(followers.seen(TENANT)?.changes);
      await commit(engine, A);
      assert.equal(await isTold(host, follower), true);
      seen.add(followers.seen(TENANT)?.changes);
      follower.end();
      assert.equal(followers.seen(TENANT)?.changes, undefined);
    }
    assert.equal(seen.size, 10);
  });
});

/** How many more are told in each turn, until all are. */
async function toldByTurn(
  host: ReturnType<typeof fakeHost>,
  followers: readonly Follower[],
  read = () => {},
): Promise<number[]> {
  const byTurn: number[] = [];
  let told = 0;
  for (const follower of followers) {
    void follower.changed().then(() => {
      told++;
      read();
    });
  }
  await lookAgain(host);
  for (let turn = 0, before = 0; turn < 1_000 && told < followers.length; turn++) {
    await host.yieldTurn();
    byTurn.push(told - before);
    before = told;
  }
  return byTurn;
}

Deno.test("of many followers some go on in each turn, and every one of them does", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const many: Follower[] = [];
    for (let n = 0; n < 320; n++) many.push(await begin(n % 2 === 0 ? undefined : A));
    await commit(engine, A);
    const byTurn = await toldByTurn(host, many);
    assert.ok(Math.max(...byTurn) <= 32, `${byTurn}`);
    assert.equal(byTurn.reduce((sum, count) => sum + count, 0), 320);
  });
});

Deno.test("of followers that read for long, as many go on in a turn as fit into a piece", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const many: Follower[] = [];
    for (let n = 0; n < 48; n++) many.push(await begin());
    await commit(engine, A);
    let readMs = 0;
    host.monotonicMs = () => readMs;
    const byTurn = await toldByTurn(host, many, () => readMs += 2);
    // The first ones go on as soon as the log was looked at.
    const later = byTurn.slice(byTurn.findIndex((count) => count > 0) + 1);
    assert.ok(Math.max(...later) <= 2, `${byTurn}`);
    assert.equal(byTurn.reduce((sum, count) => sum + count, 0), 48);
  });
});

Deno.test("a follower of another environment does not wait for all of many followers", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const many: Follower[] = [];
    for (let n = 0; n < 1_600; n++) many.push(await begin());
    const other = await begin(undefined, TENANT + 1);
    assert.equal(await isTold(host, other), true);
    await commit(engine, A);
    await commit(engine, A, TENANT + 1);
    let told = 0;
    const all = many.map((follower) => follower.changed().then(() => told++));
    const toldBefore = other.changed().then(() => told);
    await lookAgain(host);
    // Fifty turns tell all of them. Looking at the other log takes some on a shared store.
    assert.ok(await toldBefore <= 800, `${await toldBefore} of the others were told before`);
    await Promise.all(all);
  });
});

Deno.test("a follower that ends while it waits for its turn is told of nothing", async () => {
  await withFollowers(async ({ engine, host, begin }) => {
    const many: Follower[] = [];
    for (let n = 0; n < 100; n++) many.push(await begin());
    const last = await begin();
    await commit(engine, A);
    let isLastTold = false;
    const first = many.map((follower) => follower.changed());
    void last.changed().then(() => isLastTold = true);
    await lookAgain(host);
    await first[0];
    last.end();
    await Promise.all(first);
    await rest(host);
    assert.equal(isLastTold, false);
  });
});
