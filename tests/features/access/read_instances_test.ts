/** What an operator sees of instances. */

import { deepEqual, equal } from "node:assert/strict";
import {
  resolveTenant,
  showInstance,
  showInstances,
} from "../../../src/features/access/instances.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { storeInstance } from "../../../src/store/access/instances.ts";
import { accepted, anyOperator, makeInstance, refusal } from "../../support/access_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { parsedIn } from "../../support/parsed_json.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("showInstances() gives those the token covers, without tenant numbers", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const a = await makeInstance(engine, host, "a");
    const b = await makeInstance(engine, host, "b");
    const all = accepted(await showInstances(engine, anyOperator)).data;
    deepEqual(all.toSorted((x, y) => x.slug < y.slug ? -1 : 1), [a, b]);
    const limited = { subject: "x", instances: [b.id, "none"] };
    deepEqual(accepted(await showInstances(engine, limited)).data, [b]);
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

async function makeMany(engine: Engine, count: number): Promise<string[]> {
  const made = Array.from({ length: count }, (_, n) => `id-${String(n).padStart(5, "0")}`);
  await engine.transact(async (tx) => {
    for (const id of made) {
      await storeInstance(tx, { id, slug: id, tier: "free", created_at: "2026-01-01" });
    }
  });
  return made;
}

Deno.test("pages of instances have each that the token covers once, by id", async () => {
  await withTemporaryEngine(async (engine) => {
    const made = await makeMany(engine, 301);
    const covered = made.filter((_, n) => n % 3 === 0);
    const limited = { subject: "x", instances: ["none", ...covered.toReversed()] };
    for (const [operator, expected] of [[anyOperator, made], [limited, covered]] as const) {
      for (const limit of [undefined, 7, 1_000]) {
        const found: string[] = [];
        let start: string | undefined;
        do {
          const page = accepted(await showInstances(engine, operator, { limit, start }));
          found.push(...page.data.map(({ id }) => id));
          equal(page.next_start, page.truncated ? found.at(-1) : undefined);
          start = page.next_start;
        } while (start !== undefined);
        deepEqual(found, expected);
      }
    }
    const tooLong = await showInstances(engine, anyOperator, { start: "i".repeat(65) });
    equal(refusal(tooLong).kind, "bad_request");
    equal(refusal(await resolveTenant(engine, anyOperator, undefined, "test")).kind, "bad_request");
  });
});

Deno.test("a page of one instance is read without the others", async () => {
  await withTemporaryEngine(async (engine) => {
    const made = await makeMany(engine, 300);
    const parsed = await parsedIn(async () => {
      const page = accepted(await showInstances(engine, anyOperator, { limit: 1, start: made[9] }));
      equal(page.data[0]?.id, made[10]);
    });
    // One more says whether anything follows.
    equal(parsed.length, 2);
  });
});
