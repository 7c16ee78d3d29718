/** Imports of an environment: all of a file or nothing, and only into an empty environment. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { importEnvironment } from "../../../src/features/transfer/import_environment.ts";
import type { Environment, Tenant } from "../../../src/domain/tenant.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import { nextTypeRebuild } from "../../../src/store/streams/rebuilds.ts";
import {
  readInstance,
  readInstanceBySlug,
  readTenantCount,
  tenantOf,
} from "../../../src/store/access/instances.ts";
import { listSigningKeys } from "../../../src/store/audit/signing_keys.ts";
import { anyOperator, makeInstance, makeKey } from "../../support/access_fixtures.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { movingSpec, openMovingShop } from "../../support/moving_shop.ts";
import {
  noteWrite,
  orderWrite,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import {
  dumpStore,
  exportText,
  imported,
  importText,
  inChunks,
  openService,
  refusedRule,
} from "../../support/transfer_fixtures.ts";

/** A file of a shop's environment with three streams, a keyed write and an API key. */
async function shopFile(environment: Environment = "test", withSigningKeys = false) {
  let text = "";
  let key = "";
  await withService(async ({ service, engine, host, tenants }) => {
    const tenant = tenants[environment];
    for (let number = 0; number < 3; number++) {
      const idempotency = { key: `key ${number}`, bodyHash: "ab".repeat(32) };
      valueOf(
        await service.data.writeEvents(tenant, noteWrite(uuid(number), "n", { idempotency })),
      );
    }
    key = (await makeKey(engine, host, tenant)).key;
    text = await exportText(engine, host, tenant, { withSigningKeys });
  });
  return { text, key };
}

/**
 * The store without the keys in which a later import may differ from one into an untouched
 * store.
 */
async function dumpBesideCounter(engine: Engine): Promise<Map<string, string>> {
  const dump = await dumpStore(engine);
  dump.delete(keys.tenantCount().toHex());
  dump.delete(keys.accessVersion().toHex());
  dump.delete(keys.specVersion().toHex());
  return dump;
}

async function tenantIn(engine: Engine, slug: string, environment: Environment): Promise<Tenant> {
  const record = await engine.snapshot((tx) => readInstanceBySlug(tx, slug));
  assert.ok(record !== undefined, `there is an instance '${slug}'`);
  return tenantOf(record, environment);
}

/** A file that breaks off after this many bytes, as when its reader is killed. */
async function* breaksOff(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  yield* inChunks(new TextEncoder().encode(text).subarray(0, bytes));
  throw new Error("the reader was killed");
}

Deno.test("importEnvironment() makes the instance with its id, slug, tier and signing keys", async () => {
  const { text, key } = await shopFile("test", true);
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    const summary = imported(await importText(engine, host, text));
    const header = JSON.parse(text.split("\n", 1)[0]!);
    const record = await engine.snapshot((tx) => readInstance(tx, header.instance.id));
    const { tenants: _, ...instance } = record!;
    assert.deepEqual(instance, header.instance);
    assert.deepEqual([summary.isNewInstance, summary.signingKeys], [true, "file"]);
    const [pair] = await engine.snapshot((tx) => listSigningKeys(tx, header.instance.id));
    assert.ok(text.includes(pair!.private_key));
    const { service, close } = openService(engine, host, "test");
    const holder = valueOf(await service.access.authenticateKey(key, "test", "shop"));
    assert.equal(holder.scope, "write");
    assert.equal(valueOf(await service.access.listInstances(anyOperator)).data.length, 1);
    await close();
  });
});

Deno.test("importEnvironment() of a file without signing keys makes a new one", async () => {
  const { text } = await shopFile();
  await withTemporaryEngine(async (engine) => {
    const { instanceId, signingKeys } = imported(await importText(engine, fakeHost("x"), text));
    assert.equal(signingKeys, "new");
    assert.equal((await engine.snapshot((tx) => listSigningKeys(tx, instanceId))).length, 1);
  });
});

Deno.test("importEnvironment() refuses an environment with a spec or streams, and says which", async () => {
  const { text } = await shopFile();
  await withService(async ({ engine, host, service, tenants }) => {
    const before = await dumpStore(engine);
    const options = { slug: "shop", environment: "staging" as const };
    const first = await importText(engine, host, text, options);
    assert.ok(!first.ok);
    assert.match(first.fault.message, /staging of the instance 'shop' is not empty: .* a spec/);
    assert.deepEqual(await dumpStore(engine), before);
    valueOf(await service.data.writeEvents(tenants.staging, noteWrite(uuid(7), "n")));
    const second = await importText(engine, host, text, options);
    assert.ok(!second.ok);
    assert.match(second.fault.message, new RegExp(`streams \\(the first is order:${uuid(7)}\\)`));
  });
});

Deno.test("importEnvironment() refuses a slug that is another instance's, unless it is named", async () => {
  const { text } = await shopFile();
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    const other = await makeInstance(engine, host, "shop");
    const refused = await importText(engine, host, text);
    assert.equal(refusedRule(refused), "slug_taken");
    const summary = imported(await importText(engine, host, text, { slug: "shop" }));
    assert.deepEqual([summary.instanceId, summary.isNewInstance], [other.id, false]);
    // The file's API keys belong to another instance than this one.
    assert.deepEqual([summary.apiKeys, summary.apiKeysLeftOut], [0, 1]);
    assert.equal(summary.signingKeys, "store");
    assert.equal(refusedRule(await importText(engine, host, text, { slug: "-no-" })), "slug");
  });
});

Deno.test("importEnvironment() under a new slug keeps the id, or takes a new one where it is taken", async () => {
  const { text } = await shopFile();
  const { id } = JSON.parse(text.split("\n", 1)[0]!).instance;
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    const first = imported(await importText(engine, host, text, { slug: "moved" }));
    assert.deepEqual([first.instanceId, first.slug, first.apiKeys], [id, "moved", 1]);
    const second = imported(await importText(engine, host, text, { slug: "copy" }));
    assert.notEqual(second.instanceId, id);
    assert.deepEqual([second.slug, second.apiKeys, second.signingKeys], ["copy", 0, "new"]);
  });
});

Deno.test("importEnvironment() into another environment of the same store copies the data alone", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    const { text } = await shopFile("production");
    imported(await importText(engine, host, text));
    const tenant = await tenantIn(engine, "shop", "test");
    const { key, id } = await makeKey(engine, host, tenant);
    const summary = imported(await importText(engine, host, text, { environment: "test" }));
    assert.deepEqual([summary.apiKeys, summary.apiKeysLeftOut], [0, 1]);
    const { ask, service, close } = openService(engine, host, "test");
    // The key that opened the empty environment opens the copy.
    assert.match(await ask("GET", `/order/${uuid(1)}/length`, key), /"length":1/);
    const after = await tenantIn(engine, "shop", "test");
    assert.notEqual(after.number, tenant.number);
    assert.deepEqual((await service.access.listApiKeys(after)).map((view) => view.id), [id]);
    await close();
  });
});

Deno.test("importEnvironment() of a damaged file leaves nothing in the store, whatever the damage", async () => {
  const { text } = await shopFile();
  const lines = text.split("\n").slice(0, -1);
  const damaged = lines.flatMap((line, at) => [
    lines.toSpliced(at, 1),
    lines.toSpliced(at, 0, line),
    lines.with(at, line.slice(0, -1)),
    lines.with(at, line.replace(/[0-9](?!.*[0-9])/, "x")),
    lines.toSpliced(at, 2, lines[at + 1] ?? "{}", line),
    lines.slice(0, at),
  ]).map((changed) => changed.map((line) => line + "\n").join("")).filter((each) => each !== text);
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    await makeInstance(engine, host, "neighbour");
    const before = await dumpBesideCounter(engine);
    for (const [index, file] of damaged.entries()) {
      const outcome = await importText(engine, host, file);
      assert.ok(!outcome.ok, `damage ${index}`);
      assert.ok(outcome.fault.line > 0 && outcome.fault.rule !== "", JSON.stringify(outcome));
      assert.deepEqual(await dumpBesideCounter(engine), before);
    }
    imported(await importText(engine, host, text));
  });
});

Deno.test("an import that died anywhere leaves an empty environment, and a rerun is as the first", async () => {
  const { text } = await shopFile();
  const size = new TextEncoder().encode(text).length;
  const clean = await withTemporaryEngine(async (engine) => {
    imported(await importText(engine, fakeHost("other"), text));
    return await exportText(engine, fakeHost(), await tenantIn(engine, "shop", "test"));
  });
  assert.equal(clean, text);
  await withTemporaryEngine(async (engine) => {
    await makeInstance(engine, fakeHost("neighbour"), "neighbour");
    const before = (await dumpStore(engine)).size;
    for (let bytes = 0; bytes < size; bytes += 401) {
      await assert.rejects(importEnvironment(engine, fakeHost("other"), breaksOff(text, bytes)));
      const slugs = await engine.snapshot((tx) => readInstanceBySlug(tx, "shop"));
      assert.equal(slugs, undefined, "nobody can see any of it");
    }
    imported(await importText(engine, fakeHost("other"), text));
    const tenant = await tenantIn(engine, "shop", "test");
    assert.equal(await exportText(engine, fakeHost(), tenant), text);
    // Nothing of the dead imports is left: as many keys as after a single import into a store.
    const alone = await withTemporaryEngine(async (other) => {
      await makeInstance(other, fakeHost("neighbour"), "neighbour");
      imported(await importText(other, fakeHost("other"), text));
      return (await dumpStore(other)).size;
    });
    assert.equal((await dumpStore(engine)).size, alone);
    assert.ok(alone > before);
  });
});

Deno.test("of two imports into one environment at once, the later one lands and the other stops", async () => {
  const { text } = await shopFile();
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    const bytes = new TextEncoder().encode(text);
    async function* interrupted(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 900);
      imported(await importText(engine, host, text));
      yield bytes.subarray(900);
    }
    await assert.rejects(
      importEnvironment(engine, fakeHost("first"), interrupted()),
      /Another import into test of 'shop' has begun/,
    );
    const tenant = await tenantIn(engine, "shop", "test");
    assert.equal(await exportText(engine, host, tenant), text);
  });
});

Deno.test("a deploy that comes before the end of an import wins, and the import leaves nothing", async () => {
  const { text } = await shopFile();
  await withTemporaryEngine(async (engine) => {
    const host: FakeHost = fakeHost("other");
    imported(await importText(engine, host, text));
    const production = await tenantIn(engine, "shop", "production");
    const opened = openService(engine, host, "production");
    const bytes = new TextEncoder().encode(text);
    const spec = JSON.parse(text.split("\n").find((line) => line.includes('"spec_part"'))!).text;
    async function* interrupted(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 900);
      const request = { spec: JSON.parse(spec), force: false, dryRun: false };
      valueOf(await opened.service.specs.deploySpec(production, request));
      yield bytes.subarray(900);
    }
    const wish = { environment: "production" as const };
    const outcome = await importEnvironment(engine, host, interrupted(), wish);
    assert.equal(refusedRule(outcome), "not_empty");
    assert.equal((await tenantIn(engine, "shop", "production")).number, production.number);
    const taken = await engine.snapshot((tx) => readTenantCount(tx));
    const left = await engine.snapshot((tx) => tx.getRange(keys.tenant(taken)));
    assert.deepEqual(
      [taken, left.length],
      [production.number + 3, 0],
      "production was 2 of 1 to 4",
    );
    await opened.close();
  });
});

Deno.test("a deploy that was on its way when an import landed does not go astray", async () => {
  const { text } = await shopFile();
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    const { id } = await makeInstance(engine, host, "shop");
    const opened = openService(engine, host, "test");
    const { access, specs } = opened.service;
    const before = valueOf(await access.resolveTenant(anyOperator, id, "test"));
    imported(await importText(engine, host, text, { slug: "shop" }));
    const spec = JSON.parse(text.split("\n").find((line) => line.includes('"spec_part"'))!).text;
    const request = { spec: JSON.parse(spec), force: false, dryRun: false };
    const deployed = valueOf(await specs.deploySpec(before, request));
    assert.equal(deployed.version, 1, "the imported spec is the same, so nothing was deployed");
    await opened.close();
  });
});

Deno.test("a type with a long stream is folded in the background after an import", async () => {
  await withService(async ({ service, engine, host, tenants }) => {
    const data = { text: "x".repeat(1_000) };
    const events = Array.from({ length: 5_000 }, () => ({ type: "was_noted", data }));
    valueOf(await service.data.writeEvents(tenants.test, orderWrite(uuid(1), events)));
    const text = await exportText(engine, host, tenants.test);
    await withTemporaryEngine(async (other) => {
      imported(await importText(other, host, text));
      const work = await other.snapshot((tx) => nextTypeRebuild(tx));
      const { number } = await tenantIn(other, "shop", "test");
      assert.deepEqual([work?.tenant, work?.type], [number, "order"]);
    });
  });
});

Deno.test("importEnvironment() takes a file of the first version, which had no pending work", async () => {
  const file = new URL("../../golden/transfer/version_1.jsonl", import.meta.url);
  const text = Deno.readTextFileSync(file);
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    const { counts } = imported(await importText(engine, host, text));
    assert.deepEqual([counts.streams, counts.events, counts.work], [4, 5, 0]);
    const tenant = await tenantIn(engine, "shop", "test");
    const exported = await exportText(engine, fakeHost(), tenant);
    const lines = (file: string) => file.split("\n").slice(1, -2);
    assert.deepEqual(lines(exported), lines(text), "all but the header and the end");
  });
});

Deno.test("importEnvironment() refuses work whose event is not in the file, and work that is there twice", async () => {
  await withService(async ({ engine, host, tenants: { test } }) => {
    const shop = openMovingShop(engine, host, test);
    await shop.write(uuid(1), "was_placed", "was_promised");
    await shop.service.background.drainOutbox(100);
    host.timeMs += 1_000;
    await shop.work();
    await shop.write(uuid(1), "was_placed");
    const text = await exportText(engine, host, test);
    await shop.close();
    for (const kind of ["outbox_entry", "scheduled_event", "saga"]) {
      const lines = text.split("\n");
      const at = lines.findIndex((line) => line.includes(`"work","kind":"${kind}"`));
      const twice = lines.toSpliced(at, 0, lines[at]!, lines[at + 1]!);
      const place = /(\\"index\\":|\\"streamId\\":\\"|\\"trigger\\":.*?\\"stream_id\\":\\")\d+/;
      const elsewhere = lines.with(at + 1, lines[at + 1]!.replace(place, "$1999999999999"));
      for (const changed of [twice, elsewhere]) {
        await withTemporaryEngine(async (other) => {
          const outcome = await importText(other, fakeHost("other"), withEnd(changed));
          assert.equal(refusedRule(outcome), "work_place", kind);
        });
      }
    }
  }, { spec: movingSpec });
});

/** The lines with a matching end line. */
function withEnd(lines: readonly string[]): string {
  const before = lines.slice(0, -2).map((line) => line + "\n").join("");
  const count = (start: string) => lines.filter((line) => line.startsWith(start)).length;
  const end = lines.at(-2)!
    .replace(/"lines":\d+/, `"lines":${lines.length - 2}`)
    .replace(/"work":\d+/, `"work":${count('{"record":"work"')}`)
    .replace(/"sha256":"[^"]*"/, `"sha256":"${hash("sha256", before, "hex")}"`);
  return before + end + "\n";
}
