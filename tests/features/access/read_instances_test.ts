/** What an operator sees of instances. */

import { deepEqual, equal } from "node:assert/strict";
import {
  resolveTenant,
  showInstance,
  showInstances,
} from "../../../src/features/access/instances.ts";
import { storeInstance } from "../../../src/store/access/instances.ts";
import { accepted, anyOperator, makeInstance, refusal } from "../../support/access_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("showInstances() gives those the token covers, without tenant numbers", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const a = await makeInstance(engine, host, "a");
    const b = await makeInstance(engine, host, "b");
    const all = await showInstances(engine, anyOperator);
    deepEqual(all.toSorted((x, y) => x.slug < y.slug ? -1 : 1), [a, b]);
    deepEqual(await showInstances(engine, { subject: "x", instances: [b.id, "none"] }), [b]);
  });
});

Deno.test("showInstance() is 403 where the token does not cover it, else 404", async () => {
  await withTemporaryEngine(async (engine) => {
    const made = await makeInstance(engine, fakeHost(), "a");
    deepEqual(accepted(await showInstance(engine, anyOperator, made.id)), made);
    equal(refusal(await showInstance(engine, anyOperator, "none")).kind, "not_found");
    const limited = { subject: "x", instances: ["other"] };
    equal(refusal(await showInstance(engine, limited, made.id)).kind, "forbidden");
    equal(refusal(await showInstance(engine, limited, "none")).kind, "forbidden");
    equal(refusal(await showInstance(engine, limited, "other")).kind, "not_found");
  });
});

Deno.test("resolveTenant() needs an id only where there are several instances", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const resolve = (id?: string) => resolveTenant(engine, anyOperator, id, "test");
    equal(refusal(await resolve()).kind, "not_found");
    const a = await makeInstance(engine, host, "a");
    deepEqual(accepted(await resolve()), { instanceId: a.id, environment: "test", number: 3 });
    const b = await makeInstance(engine, host, "b");
    const several = refusal(await resolve());
    equal(several.kind === "bad_request" && several.path, "instance_id");
    deepEqual(accepted(await resolve(b.id)), { instanceId: b.id, environment: "test", number: 6 });
    const limited = { subject: "x", instances: [b.id] };
    const only = accepted(await resolveTenant(engine, limited, undefined, "staging"));
    deepEqual(only, { instanceId: b.id, environment: "staging", number: 5 });
    equal(refusal(await resolveTenant(engine, limited, a.id, "test")).kind, "forbidden");
  });
});

Deno.test("showInstances() gives more than are read in one transaction, by id, each once", async () => {
  await withTemporaryEngine(async (engine) => {
    const made = Array.from({ length: 2_001 }, (_, n) => `id-${String(n).padStart(5, "0")}`);
    for (let at = 0; at < made.length; at += 500) {
      await engine.transact(async (tx) => {
        for (const id of made.slice(at, at + 500)) {
          await storeInstance(tx, { id, slug: id, tier: "free", created_at: "2026-01-01" });
        }
      });
    }
    deepEqual((await showInstances(engine, anyOperator)).map(({ id }) => id), made);
    equal(refusal(await resolveTenant(engine, anyOperator, undefined, "test")).kind, "bad_request");
  });
});
