/** Creating instances and changing their tier. */

import { deepEqual, equal, match } from "node:assert/strict";
import { changeTier, createInstance } from "../../../src/features/access/instances.ts";
import { publicKeyOf } from "../../../src/domain/audit/signing_key.ts";
import { readInstance } from "../../../src/store/access/instances.ts";
import { keys } from "../../../src/store/keys.ts";
import { readCurrentSigningKey } from "../../../src/store/audit/signing_keys.ts";
import { accepted, makeInstance, refusal } from "../../support/access_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("createInstance() gives a UUID of version 4, the slug, the tier and the time", async () => {
  await withTemporaryEngine(async (engine) => {
    const made = accepted(await createInstance(engine, fakeHost(), "acme", "pro"));
    match(made.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const { id: _, ...rest } = made;
    deepEqual(rest, { slug: "acme", tier: "pro", created_at: "2026-01-01T00:00:00.000Z" });
    const stored = await engine.snapshot((tx) => readInstance(tx, made.id));
    deepEqual(stored?.tenants, { production: 1, staging: 2, test: 3 });
  });
});

Deno.test("createInstance() makes a signing key whose public half belongs to its private one", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const a = await makeInstance(engine, host, "acme");
    const b = await makeInstance(engine, host, "other");
    const [first, second] = await engine.snapshot((tx) =>
      Promise.all([readCurrentSigningKey(tx, a.id), readCurrentSigningKey(tx, b.id)])
    );
    equal(first?.number, 1);
    equal((await publicKeyOf(Uint8Array.fromHex(first!.private_key))).toHex(), first?.public_key);
    equal(first?.public_key === second?.public_key, false);
  });
});

Deno.test("createInstance() refuses a bad slug, a bad tier and a slug already given", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    await makeInstance(engine, host, "acme");
    const slug = refusal(await createInstance(engine, host, "Acme", "free"));
    equal(slug.kind === "operator_input_invalid" && slug.path, "slug");
    const tier = refusal(await createInstance(engine, host, "other", "gold"));
    equal(tier.kind === "operator_input_invalid" && tier.path, "tier");
    const taken = refusal(await createInstance(engine, host, "acme", "free"));
    equal(taken.kind === "already_exists" && taken.path, "slug");
  });
});

Deno.test("createInstance() gives a slug to one of ten who ask for it at once", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => createInstance(engine, host, "acme", "free")),
    );
    equal(outcomes.filter(({ ok }) => ok).length, 1);
    const instances = await engine.snapshot((tx) => tx.getRange(keys.instances()));
    equal(instances.length, 1);
  });
});

Deno.test("changeTier() changes the tier and nothing else", async () => {
  await withTemporaryEngine(async (engine) => {
    const made = await makeInstance(engine, fakeHost(), "acme");
    const changed = accepted(await changeTier(engine, made.id, "free"));
    deepEqual(changed, { ...made, tier: "free" });
    const again = accepted(await changeTier(engine, made.id, "free"));
    deepEqual(again, changed);
  });
});

Deno.test("changeTier() refuses an unknown tier and an unknown instance", async () => {
  await withTemporaryEngine(async (engine) => {
    const { id } = await makeInstance(engine, fakeHost(), "acme");
    equal(
      refusal(await changeTier(engine, id, "gold")).kind,
      "operator_input_invalid",
    );
    equal(refusal(await changeTier(engine, "none", "free")).kind, "not_found");
  });
});
