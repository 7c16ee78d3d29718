/** Following a counter, so that caches are dropped in time. */

import { equal } from "node:assert/strict";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import { followVersion } from "../../../src/features/base/follow_version.ts";
import { bumpAccessVersion } from "../../../src/store/access/access_version.ts";
import { keys } from "../../../src/store/keys.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { deafEngine } from "../../support/two_nodes.ts";
import { until } from "../../support/until.ts";

const key = keys.accessVersion();

function bump(engine: Engine): Promise<void> {
  return engine.transact((tx) => Promise.resolve(bumpAccessVersion(tx)));
}

Deno.test("followVersion() tells of the first reading and of each change after it", async () => {
  await withTemporaryEngine(async (engine) => {
    let changes = 0;
    const follower = followVersion(engine, fakeHost(), key, () => changes++);
    await until(() => changes === 1, "the first reading");
    for (let change = 2; change <= 5; change++) {
      await bump(engine);
      await until(() => changes === change, `change ${change}`);
    }
    await follower.close();
    await bump(engine);
    equal(changes, 5);
  });
});

Deno.test("followVersion() sees a change within a second although no watch speaks", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    let changes = 0;
    const follower = followVersion(deafEngine(engine), host, key, () => changes++);
    await until(() => changes === 1, "the first reading");
    await bump(engine);
    host.timeMs += 999;
    equal(changes, 1);
    host.timeMs += 1;
    await until(() => changes === 2, "the change");
    await follower.close();
  });
});

Deno.test("isFresh() holds for four seconds after a reading and not before the first", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    let isRead = false;
    const follower = followVersion(engine, host, key, () => isRead = true);
    equal(follower.isFresh(host.timeMs), false);
    await until(() => isRead && follower.isFresh(host.timeMs), "the first reading");
    equal(follower.isFresh(host.timeMs + 3_999), true);
    equal(follower.isFresh(host.timeMs + 4_000), false);
    await follower.close();
  });
});

Deno.test("isFresh() trusts no reading that a clock set back has put into the future", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const follower = followVersion(engine, host, key, () => {});
    await until(() => follower.isFresh(host.timeMs), "the first reading");
    equal(follower.isFresh(host.timeMs - 1), false);
    await follower.close();
  });
});

for (const [how, ended] of [["end", false], ["speak", true]] as const) {
  Deno.test(`followVersion() reads no faster than it must when watches ${how} at once`, async () => {
    await withTemporaryEngine(async (engine) => {
      let reads = 0;
      let watches = 0;
      const restless: Engine = {
        ...bind(engine),
        snapshot: (body) => (reads++, engine.snapshot(body)),
        // A watch that fires does so for a real change, and there are five of these.
        watch: (watched) =>
          ended && ++watches > 5
            ? engine.watch(watched)
            : { changed: Promise.resolve(ended), cancel() {} },
      };
      const follower = followVersion(restless, fakeHost(), key, () => {});
      const enough = ended ? 6 : 1;
      await until(() => reads >= enough, "each reading");
      await new Promise((resolve) => setTimeout(resolve, 300));
      equal(reads, enough);
      await follower.close();
    });
  });
}

Deno.test("isFresh() ends while the store is away and returns with it", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    let isAway = false;
    const flaky: Engine = {
      ...bind(engine),
      snapshot: (body) =>
        isAway ? Promise.reject(new EngineUnavailable("away")) : engine.snapshot(body),
    };
    const follower = followVersion(flaky, host, key, () => {});
    await until(() => follower.isFresh(host.timeMs), "the first reading");
    isAway = true;
    host.timeMs += 4_000;
    equal(follower.isFresh(host.timeMs), false);
    isAway = false;
    await until(() => follower.isFresh(host.timeMs), "the return");
    await follower.close();
  });
});

Deno.test("close() leaves nothing running, also on an engine closed before", async () => {
  await withTemporaryEngine(async (engine) => {
    const follower = followVersion(engine, fakeHost(), key, () => {});
    await engine.close();
    await follower.close();
  });
});

function bind(engine: Engine): Engine {
  return wrapEngine(engine, {});
}
