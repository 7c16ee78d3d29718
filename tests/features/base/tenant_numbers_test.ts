/** Whose a tenant number is: looks at all instances, and who shares them. */

import assert from "node:assert/strict";
import { openInstanceNames } from "../../../src/features/base/instance_of.ts";
import { openTenantNumbers } from "../../../src/features/base/tenant_numbers.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { makeInstance } from "../../support/access_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

/** Counts the snapshots of `inner`, each of which waits for `mayRead`. */
function counted(inner: Engine, reads: { count: number; mayRead: Promise<void> }): Engine {
  return wrapEngine(inner, {
    async snapshot(body) {
      reads.count++;
      const value = await inner.snapshot(body);
      await reads.mayRead;
      return value;
    },
  });
}

Deno.test("many that ask for numbers at once share one look, also of a number that nobody has", () =>
  withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    const [a, b] = [await makeInstance(inner, host, "a"), await makeInstance(inner, host, "b")];
    const reads = { count: 0, mayRead: Promise.resolve() };
    const engine = counted(inner, reads);
    const tenants = openTenantNumbers(engine);
    const found = await Promise.all([1, 6, 99, 2, 6].map((number) => tenants.find(number)));
    assert.deepEqual(
      found.map((tenant) => tenant && [tenant.instanceId, tenant.environment]),
      [[a.id, "production"], [b.id, "test"], undefined, [a.id, "staging"], [b.id, "test"]],
    );
    // The one that was not found looks again: it may have been new.
    assert.ok(reads.count <= 2, `${reads.count} looks`);
    reads.count = 0;
    await tenants.find(3);
    assert.equal(reads.count, 0);
    const instanceOf = openInstanceNames(engine);
    const names = await Promise.all(Array.from({ length: 100 }, (_, n) => instanceOf(n % 6 + 1)));
    assert.deepEqual(names.slice(0, 6), [a.id, a.id, a.id, b.id, b.id, b.id]);
    assert.equal(reads.count, 1);
    assert.equal(instanceOf(4), b.id);
    assert.equal(await instanceOf(99), "tenant 99");
    assert.equal(instanceOf(99), "tenant 99");
  }));

Deno.test("a number of an instance that a look has missed is found by the next one", () =>
  withTemporaryEngine(async (inner) => {
    const held = Promise.withResolvers<void>();
    const reads = { count: 0, mayRead: held.promise };
    const tenants = openTenantNumbers(counted(inner, reads));
    const first = tenants.find(1);
    const { id } = await makeInstance(inner, fakeHost(), "new");
    const second = tenants.find(1);
    held.resolve();
    assert.equal(await first, undefined);
    assert.equal((await second)?.instanceId, id);
    assert.equal(reads.count, 2);
  }));

Deno.test("one look tells the instances of all environments, which nobody waits for any more", () =>
  withTemporaryEngine(async (inner) => {
    const { id } = await makeInstance(inner, fakeHost(), "a");
    const instanceOf = openInstanceNames(inner);
    assert.equal(await instanceOf(1), id);
    assert.deepEqual([instanceOf(2), instanceOf(3)], [id, id]);
  }));
