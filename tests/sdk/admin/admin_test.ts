/** Every call of an operator, on a real server: what it gives, and what it is refused with. */

import assert from "node:assert/strict";
import { createAdmin } from "../../../sdk/src/admin/mod.ts";
import { createClient } from "../../../sdk/src/core/mod.ts";
import { type RunningDaybook, startDaybook } from "../../../sdk/src/test/mod.ts";
import { verifyAnchor, verifyReceipt } from "../../../sdk/src/verify/mod.ts";
import { verifyWebhook } from "../../../sdk/src/webhooks/mod.ts";
import { exampleSpec } from "../../support/example_spec.ts";
import { ACTOR, type Shop } from "../shop_server.ts";

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery";
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

function clientOf({ url, key }: RunningDaybook) {
  return createClient<Shop>({ url, key, actor: ACTOR });
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

interface ShopSpec {
  readonly aggregate_types: { readonly order: { readonly events: Record<string, object> } };
}

/** Waits until a state is reached that the server reaches by itself. */
async function until<Value>(read: () => Promise<Value | undefined>): Promise<Value> {
  for (let tries = 0; tries < 500; tries++) {
    const value = await read();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("it was not reached in ten seconds");
}

const daybook = await startDaybook({ env: { DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true" } });
Deno.test.afterAll(() => daybook.stop());
const { url, token, key, instanceId } = daybook;
const admin = createAdmin({ url, token, key });

Deno.test("deploy() and specs: a dry run deploys nothing, a deploy is a version, again it is none", async () => {
  const none = await admin.specs.current();
  assert.equal(!none.ok && none.error_type, "not_found");
  const dry = await admin.deploy(exampleSpec, { dry_run: true }).orThrow();
  assert.ok(dry.changes.length > 0);
  assert.deepEqual(await all(admin.specs.list()), []);
  const first = await admin.deploy({ spec: exampleSpec }).orThrow();
  assert.equal(first.version, 1);
  const again = await admin.deploy(exampleSpec).orThrow();
  assert.deepEqual([again.version, again.changes], [1, []]);
  const current = await admin.specs.current().orThrow();
  assert.deepEqual([current.version, current.spec], [1, exampleSpec]);
  const [version] = await all(admin.specs.list({ limit: 1 }));
  assert.equal(version!.spec_hash, first.spec_hash);
  assert.deepEqual(await all(admin.specs.list({ environment: "staging" })), []);
  const wrong = await admin.deploy({ ...exampleSpec, agent_types: [] });
  assert.ok(!wrong.ok && wrong.error_type === "spec_invalid");
  assert.ok(wrong.violations.length > 0);
  const fewer = structuredClone(exampleSpec) as unknown as ShopSpec;
  delete fewer.aggregate_types.order.events.was_viewed;
  const narrow = await admin.deploy(fewer);
  assert.equal(!narrow.ok && narrow.error_type, "spec_incompatible");
});

Deno.test("keys: issued, listed without their text, rotated, ended at a time, ended now", async () => {
  const issued = await admin.keys.issue({ name: "ci", scope: "read" }).orThrow();
  assert.match(issued.key, /^dbk_0_test_/);
  const [listed] = (await all(admin.keys.list())).filter(({ id }) => id === issued.id);
  assert.deepEqual([listed!.name, listed!.scope, "key" in listed!], ["ci", "read", false]);
  const length = (key: string) => createClient<Shop>({ url, key }).order("0RDER0001").length();
  assert.ok((await length(issued.key)).ok);
  const rotated = await admin.keys.rotate(issued.id).orThrow();
  assert.ok((await length(rotated.key)).ok);
  assert.equal((await length(issued.key)).ok, false);
  const at = new Date(Date.now() + 3_600_000).toISOString();
  assert.equal((await admin.keys.scheduleRevocation(issued.id, at).orThrow()).revoke_at, at);
  await admin.keys.revoke(issued.id).orThrow();
  const ended = await length(rotated.key);
  assert.equal(!ended.ok && ended.error_type, "unauthorized");
  const gone = await admin.keys.revoke(issued.id);
  assert.equal(!gone.ok && gone.error_type, "not_found");
});

Deno.test("projections: deployed, listed, read, removed", async () => {
  const definition = {
    name: "order_totals",
    for_each: "order",
    sources: { order: "$key" },
    select: { customer: "$.order.customer" },
  };
  await admin.projections.deploy(definition).orThrow();
  await until(async () => {
    const [found] = await all(admin.projections.list());
    return found?.state === "ready" ? found : undefined;
  });
  await admin.projections.remove("order_totals").orThrow();
  assert.deepEqual(await all(admin.projections.list()), []);
  const wrong = await admin.projections.deploy({ ...definition, for_each: "nothing" });
  assert.ok(!wrong.ok && wrong.status === 422);
});

Deno.test("imports: events, lines, the same again, and a line that is refused", async () => {
  const event = (id: string) => ({
    key: `order:${id}`,
    type: "was_placed",
    data: { customer: "Ada" },
    metadata: { actor: ACTOR, timestamp: 915_148_800 },
  });
  const one = await admin.imports.events([event("0RDER0011"), event("0RDER0012")]).orThrow();
  assert.equal(one.written, 2);
  const lines = [13, 14, 15].map((id) => JSON.stringify(event(`0RDER00${id}`))).join("\n");
  const import_id = "orders-1999";
  const two = await admin.imports.lines(lines, { import_id }).orThrow();
  assert.deepEqual([two.written, two.import.state], [3, "complete"]);
  const bytes = new TextEncoder().encode(lines);
  assert.equal((await admin.imports.lines(bytes, { import_id }).orThrow()).written, 0);
  assert.equal((await admin.imports.lines(new Blob([bytes]), { import_id }).orThrow()).written, 0);
  assert.equal((await admin.imports.get(import_id).orThrow()).import.written, 3);
  assert.ok((await all(admin.imports.list())).some((each) => each.import_id === import_id));
  const wrong = await admin.imports.lines(JSON.stringify({ ...event("0RDER0016"), data: {} }));
  assert.ok(!wrong.ok && wrong.error_type === "schema_validation");
  const cold = await admin.imports.lines(lines, { cold_start: true });
  assert.equal(!cold.ok && cold.status, 409);
  assert.equal((await clientOf(daybook).order("0RDER0015").get().orThrow()).data.customer, "Ada");
});

Deno.test("anchors and erasures: what they give verifies with the instance's own key", async () => {
  const db = clientOf(daybook);
  await db.order("0RDER0021").was_placed({ customer: "Ada" }).orThrow();
  const { anchor } = await admin.anchors.make().orThrow();
  const { public_key: publicKey } = await admin.anchors.signingKey().orThrow();
  assert.ok(verifyAnchor(anchor, { publicKey, instanceId, environment: "test" }).ok);
  assert.deepEqual((await admin.anchors.get("latest").orThrow()).anchor, anchor);
  assert.deepEqual((await all(admin.anchors.list()))[0], anchor);

  const asked = { key: "order:0RDER0021", reason: "asked for", grace_hours: 0 };
  const { tombstone } = await admin.erasures.request(asked).orThrow();
  const twice = await admin.erasures.request(asked);
  assert.equal(!twice.ok && twice.status, 409);
  const receipt = await until(async () =>
    (await admin.erasures.get(tombstone.id).orThrow()).tombstone.receipt
  );
  const verdict = verifyReceipt(receipt, { publicKey, instanceId, environment: "test" });
  assert.ok(verdict.ok && verdict.erasure.key === "order:0RDER0021");
  assert.ok((await all(admin.erasures.list())).some(({ id }) => id === tombstone.id));
  const later = await admin.erasures.request({ ...asked, key: "order:0RDER0011", grace_hours: 9 })
    .orThrow();
  const cancelled = await admin.erasures.cancel(later.tombstone.id).orThrow();
  assert.equal(cancelled.tombstone.state, "cancelled");
  const renewed = await admin.anchors.newSigningKey().orThrow();
  assert.notEqual(renewed.public_key, publicKey);
});

Deno.test("reactions: paused, listed, discarded, resumed; a scheduled event is found and cancelled", async () => {
  const emit = {
    aggregate_type: "order",
    id: "$.id",
    event_type: "was_noted",
    data: { text: "x" },
  };
  const spec = structuredClone(exampleSpec) as unknown as ShopSpec;
  const { events } = spec.aggregate_types.order;
  events.was_paid = { ...events.was_paid, implications: [{ schedule: { delay: "1h", emit } }] };
  await admin.deploy(spec).orThrow();
  assert.deepEqual(await admin.reactions.pause().orThrow(), { ok: true, paused: true });
  const db = clientOf(daybook);
  await db.order("0RDER0031").was_paid({ amount: 5 }).orThrow();
  const page = await admin.reactions.pending().orThrow();
  assert.equal(page.paused, true);
  assert.equal(page.pending.scheduled.count + page.pending.implied.count, 1);
  assert.equal((await admin.reactions.resume().orThrow()).paused, false);
  const [scheduled] = await until(async () => {
    const found = await all(admin.scheduled.list());
    return found.length > 0 ? found : undefined;
  });
  const { scheduled_id } = scheduled!;
  assert.equal(
    (await admin.scheduled.get(scheduled_id).orThrow()).scheduled.scheduled_id,
    scheduled_id,
  );
  await admin.scheduled.cancel(scheduled_id).orThrow();
  const gone = await admin.scheduled.cancel(scheduled_id);
  assert.equal(!gone.ok && gone.error_type, "not_found");
  await db.order("0RDER0032").was_paid({ amount: 5 }).orThrow();
  await until(async () => (await all(admin.scheduled.list())).length > 0 ? true : undefined);
  const { discarded } = await admin.reactions.discard({ kind: "scheduled" }).orThrow();
  assert.deepEqual(discarded, { implied: 0, scheduled: 1, saga: 0 });
});

Deno.test("listeners: a delivery arrives, verifies, is listed, and is sent again", async () => {
  const arrived: { readonly id: string; readonly ok: boolean }[] = [];
  const receiver = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const verdict = await verifyWebhook<Shop>(request, { secret: SECRET });
      arrived.push({ id: verdict.ok ? verdict.delivery.id : verdict.message, ok: verdict.ok });
      return new Response();
    },
  );
  try {
    const { port } = receiver.addr as Deno.NetAddr;
    const hook = { url: `http://127.0.0.1:${port}/hook`, secret: SECRET, events: ["customer.*"] };
    const { spec } = await admin.specs.current().orThrow();
    await admin.deploy({ ...spec, modules: { ...spec.modules as object, listeners: { hook } } })
      .orThrow();
    await clientOf(daybook).customer("CVST0MER1").was_registered({ name: "Ada" }).orThrow();
    const ended = await until(async () => {
      const [delivery] = await all(admin.listeners.deliveries("hook", { state: "delivered" }));
      return delivery;
    });
    assert.deepEqual(arrived, [{ id: ended.delivery_id, ok: true }]);
    const [listener] = await all(admin.listeners.list());
    assert.deepEqual([listener!.name, "secret" in listener!], ["hook", false]);
    const which = { delivery_id: ended.delivery_id };
    assert.equal((await admin.listeners.replay("hook", which).orThrow()).replayed, 1);
    await until(() => Promise.resolve(arrived.length > 1 ? true : undefined));
    const since = await admin.listeners.replay("hook", { since: "2020-01-01T00:00:00Z" }).orThrow();
    assert.ok(since.replayed <= 1);
    const page = await admin.listeners.deliveriesPage("hook").orThrow();
    assert.equal(page.data.length, 1);
  } finally {
    await receiver.shutdown();
  }
});

Deno.test("instances: created, listed, changed; with several, the one that is meant must be said", async () => {
  const other = await admin.instances.create({ slug: "other", tier: "free" }).orThrow();
  const taken = await admin.instances.create({ slug: "other" });
  assert.equal(!taken.ok && taken.status, 409);
  assert.equal((await admin.instances.get(other.id).orThrow()).slug, "other");
  assert.equal((await admin.instances.setTier(other.id, "pro").orThrow()).tier, "pro");
  assert.equal((await all(admin.instances.list({ limit: 1 }))).length, 2);
  // This one was found out while it was alone.
  assert.equal((await admin.instances.get().orThrow()).id, instanceId);
  const asking = createAdmin({ url, token });
  const several = await asking.keys.listPage();
  assert.ok(!several.ok && several.error_type === "bad_request");
  assert.match(several.hint!, /instanceId/);
  const meant = createAdmin({ url, token, instanceId: other.id });
  assert.deepEqual((await meant.keys.listPage().orThrow()).data, []);
  const usage = await meant.instances.usage({ environment: "production" }).orThrow();
  assert.deepEqual([usage.tier, usage.events_written], ["pro", 0]);
});

Deno.test("an account is logged in once, and what it is refused says why", async () => {
  const added = await admin.request({
    method: "POST",
    path: "/api/users",
    body: { email: EMAIL, password: PASSWORD },
  });
  assert.ok(added.ok, JSON.stringify(added));
  const paths: string[] = [];
  const options = {
    url,
    instanceId,
    fetch: (address: string, init: RequestInit) => {
      paths.push(new URL(address).pathname);
      return fetch(address, init);
    },
  };
  const ada = createAdmin({ ...options, login: { email: EMAIL, password: PASSWORD } });
  const [specs, keys] = await Promise.all([ada.specs.listPage(), ada.keys.listPage()]);
  assert.ok(specs.ok && keys.ok);
  assert.equal(paths.filter((path) => path === "/api/login").length, 1);
  const wrong = createAdmin({ ...options, login: { email: EMAIL, password: "another password" } });
  const refused = await wrong.keys.listPage();
  assert.equal(!refused.ok && refused.error_type, "unauthorized");
  const nobody = await createAdmin({ url, instanceId }).keys.listPage();
  assert.ok(!nobody.ok && nobody.error_type === "unauthorized");
  const forged = await createAdmin({ url, instanceId, token: "x.y.z" }).keys.listPage();
  assert.ok(!forged.ok && forged.error_type === "unauthorized" && forged.hint !== undefined);
});
