/** The compiled specs that a node caches: never older than promised, and compiled only once. */

import assert from "node:assert/strict";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import type { CompiledAggregateType, CompiledSpec } from "../../../src/domain/spec/compiled.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  EMPTY_SPEC,
  openSpecCache,
  type SpecCache,
  WAITING_SPECS_MAX,
} from "../../../src/features/base/current_spec.ts";
import { storeSpec } from "../../../src/store/specs.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { deafEngine } from "../../support/two_nodes.ts";
import { until } from "../../support/until.ts";

async function deploy(engine: Engine, tenant: number, version: number, agent: string) {
  const compiled = compileSpec({ ...copyOfExampleSpec(), agent_types: [agent] });
  assert.ok(compiled.ok);
  const { hash, document } = compiled.spec;
  const created_at = "2026-01-01T00:00:00.000Z";
  await engine.transact((tx) => {
    storeSpec(tx, tenant, { version, spec_hash: hash, created_at }, JSON.stringify(document));
    return Promise.resolve();
  });
}

/** A cache that hears of no change, over an engine that counts its snapshots. */
async function withCache(
  body: (specs: SpecCache, engine: Engine, host: FakeHost, reads: () => number) => Promise<void>,
): Promise<void> {
  await withTemporaryEngine(async (engine) => {
    let reads = 0;
    const deaf = deafEngine(engine);
    const counting: Engine = { ...deaf, snapshot: (read) => (reads++, deaf.snapshot(read)) };
    const host = fakeHost();
    const specs = openSpecCache(counting, host);
    // From then on cached specs are used without a read.
    await until(() => !(specs.current(99) instanceof Promise), "the first reading");
    try {
      await body(specs, engine, host, () => reads);
    } finally {
      await specs.close();
    }
  });
}

Deno.test("current() is the empty spec before the first deploy, and then the deployed one", async () => {
  await withCache(async (specs, engine) => {
    assert.equal(await specs.current(1), EMPTY_SPEC);
    await deploy(engine, 1, 1, "user");
    specs.forget(1);
    assert.deepEqual([...(await specs.current(1)).agentTypes], ["user"]);
  });
});

Deno.test("current() asks the store again after four seconds in which it could hear of nothing", async () => {
  await withCache(async (specs, engine, host) => {
    await deploy(engine, 1, 1, "user");
    await specs.current(1);
    await deploy(engine, 1, 2, "admin");
    host.timeMs += 4_000;
    assert.deepEqual([...(await specs.current(1)).agentTypes], ["admin"]);
  });
});

Deno.test("current() compiles nothing again that is still current", async () => {
  await withCache(async (specs, engine, host) => {
    await deploy(engine, 1, 1, "user");
    const before = await specs.current(1);
    await deploy(engine, 2, 1, "admin");
    specs.forget(1);
    assert.equal(await specs.current(1), before);
    host.timeMs += 4_000;
    assert.equal(await specs.current(1), before);
  });
});

Deno.test("current() asked by many at once reads once, and then not at all", async () => {
  await withCache(async (specs, engine, _host, reads) => {
    await deploy(engine, 1, 1, "user");
    const before = reads();
    await Promise.all(Array.from({ length: 20 }, () => specs.current(1)));
    for (let time = 0; time < 20; time++) await specs.current(1);
    // The follower may have read its counter meanwhile.
    assert.ok(reads() - before <= 2, `${reads() - before} reads`);
  });
});

Deno.test("what was compiled for a deploy is used as soon as it is current, and not before", async () => {
  await withCache(async (specs, engine) => {
    await deploy(engine, 1, 1, "user");
    await specs.current(1);
    const compiled = compileSpec({ ...copyOfExampleSpec(), agent_types: ["admin"] });
    assert.ok(compiled.ok);
    specs.learn(1, compiled.spec);
    assert.equal(specs.known(1, compiled.spec.hash), compiled.spec);
    assert.deepEqual([...(await specs.current(1)).agentTypes], ["user"], "it was not deployed");
    await deploy(engine, 1, 2, "admin");
    specs.learn(1, compiled.spec);
    assert.equal(await specs.current(1), compiled.spec, "it is compiled no second time");
    assert.equal(specs.known(1, "another"), undefined);
  });
});

/** A spec that counts for so many event types, without the memory of them. */
function sized(hash: string, eventTypes: number): CompiledSpec {
  const events = { size: eventTypes } as CompiledAggregateType["events"];
  const type = { events } as CompiledAggregateType;
  return { ...EMPTY_SPEC, hash, aggregateTypes: new Map([["large", type]]) };
}

Deno.test("of specs with thousands of event types only the newest is kept, and all ordinary ones beside it", async () => {
  await withCache((specs) => {
    specs.learn(1, sized("ordinary", 100));
    for (const tenant of [2, 3]) specs.learn(tenant, sized("large", 8_000));
    assert.equal(specs.known(2, "large"), undefined);
    assert.notEqual(specs.known(3, "large"), undefined);
    assert.notEqual(specs.known(1, "ordinary"), undefined);
    // A spec that has become an ordinary one is kept once.
    specs.learn(3, sized("smaller", 100));
    assert.equal(specs.known(3, "large"), undefined);
    assert.notEqual(specs.known(3, "smaller"), undefined);
    return Promise.resolve();
  });
});

Deno.test("a path of a handler counts for what it is compiled to, so of specs with many few are kept", async () => {
  await withCache((specs) => {
    for (const root of ["@", "$"]) {
      const document = { handlers: new Array(100_000).fill(`${root}.data`) };
      const isKept = (tenant: number) => specs.known(tenant, root) !== undefined;
      for (const tenant of [1, 2, 3]) specs.learn(tenant, { ...EMPTY_SPEC, hash: root, document });
      assert.deepEqual([1, 2, 3].map(isKept), [false, true, true]);
    }
    return Promise.resolve();
  });
});

Deno.test("a document that was measured is not made a text again when its spec is learned", async () => {
  await withCache(async (specs) => {
    const text = JSON.stringify({ handlers: new Array(100_000).fill("@.data") });
    const isMade = () => assert.fail("the document is made a text");
    const document = { ...JSON.parse(text), toJSON: isMade };
    assert.throws(() => specs.learn(1, { ...EMPTY_SPEC, hash: "a", document }));
    for (const tenant of [1, 2, 3]) {
      await specs.measure(document, text);
      specs.learn(tenant, { ...EMPTY_SPEC, hash: "a", document });
    }
    // It counts for as much as without having been measured before.
    assert.deepEqual([1, 2, 3].map((tenant) => specs.known(tenant, "a") !== undefined), [
      false,
      true,
      true,
    ]);
  });
});

Deno.test("a document is compiled after one of each tenant that waits, not after all of them", async () => {
  await withCache(async (specs) => {
    const done: number[] = [];
    const waiting = [1, 1, 1, 1, 2].map(async (tenant) => {
      await specs.compile(tenant, copyOfExampleSpec());
      done.push(tenant);
    });
    await Promise.all(waiting);
    assert.deepEqual(done, [1, 1, 2, 1, 1]);
  });
});

Deno.test("of a tenant 64 documents wait to be compiled, and one more is turned away at once", async () => {
  await withCache(async (specs) => {
    const compiled = await Promise.all(
      Array.from({ length: 1 + WAITING_SPECS_MAX + 2 }, () => specs.compile(1, {})),
    );
    assert.equal(compiled.filter((each) => each === undefined).length, 2);
    assert.notEqual(await specs.compile(1, {}), undefined);
  });
});
