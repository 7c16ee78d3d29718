/** The first start, and a first start that dies halfway. */

import { deepEqual, equal, match, rejects } from "node:assert/strict";
import {
  bootstrap,
  type Credentials,
  type CredentialsPlace,
} from "../../../src/features/access/bootstrap.ts";
import { ENVIRONMENTS } from "../../../src/domain/tenant.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { credentialsFile } from "../../../src/private_files.ts";
import { keyAuthenticator } from "../../../src/features/access/authenticate_key.ts";
import { operatorAuthenticator } from "../../../src/features/access/operator_token.ts";
import { listApiKeys } from "../../../src/features/access/api_keys.ts";
import { showInstances } from "../../../src/features/access/instances.ts";
import { readCurrentSigningKey } from "../../../src/store/audit/signing_keys.ts";
import { accepted, anyOperator, makeInstance } from "../../support/access_fixtures.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const jwtSecret = new Uint8Array(32).fill(4);
const baseUrls = {
  production: "http://127.0.0.1:8000",
  staging: "http://127.0.0.1:8001",
  test: "http://127.0.0.1:8002",
};
const options = { jwtSecret, baseUrls };

interface Memory extends CredentialsPlace {
  readonly pending: Map<string, Credentials>;
  published?: Credentials;
}

/** A place that keeps credentials in memory, and keeps them through crashes. */
function memory(name = "here"): Memory {
  const pending = new Map<string, Credentials>();
  const place: Memory = {
    pending,
    describe: () => Promise.resolve(name),
    readPublished: () => Promise.resolve(place.published),
    listPending: () => Promise.resolve([...pending.values()]),
    writePending(credentials) {
      pending.set(credentials.instance_id, credentials);
      return Promise.resolve();
    },
    publish(instanceId) {
      place.published = pending.get(instanceId) ?? place.published;
      pending.delete(instanceId);
      return Promise.resolve();
    },
    discardPending(instanceId) {
      pending.delete(instanceId);
      return Promise.resolve();
    },
  };
  return place;
}

const MADE = { kind: "made" } as const;
const IN_USE = { kind: "in_use" } as const;

/** Every key opens its environment with its scope, and there is no other instance. */
async function checkCredentials(engine: Engine, credentials: Credentials): Promise<void> {
  const host = fakeHost();
  const authenticator = keyAuthenticator(engine, host);
  const instances = accepted(await showInstances(engine, anyOperator)).data;
  equal(instances.length, 1);
  equal(instances[0]!.id, credentials.instance_id);
  for (const environment of ENVIRONMENTS) {
    for (const scope of ["read", "write"] as const) {
      const key = credentials.keys[environment][scope];
      const holder = accepted(await authenticator.authenticate(key, environment, "default"));
      equal(holder.scope, scope);
      equal(holder.tenant.environment, environment);
      equal((await listApiKeys(engine, holder.tenant)).length, 2);
    }
  }
  await authenticator.close();
  const operators = operatorAuthenticator(host, { jwtSecret });
  accepted(await operators.authenticate(credentials.operator_token));
}

Deno.test("bootstrap() on an empty store makes `default`, its keys, its signing key", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = memory();
    deepEqual(await bootstrap(engine, fakeHost(), place, options), MADE);
    await checkCredentials(engine, place.published!);
    equal(place.pending.size, 0);
    const [instance] = accepted(await showInstances(engine, anyOperator)).data;
    deepEqual([instance?.slug, instance?.tier], ["default", "unlimited"]);
    const signing = await engine.snapshot((tx) => readCurrentSigningKey(tx, instance!.id));
    match(signing!.public_key, /^[0-9a-f]{64}$/);
  });
});

Deno.test("bootstrap() gives credentials of exactly the documented shape", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = memory();
    await bootstrap(engine, fakeHost(), place, options);
    const { instance_id, keys, operator_token, ...rest } = place.published!;
    deepEqual(rest, { slug: "default", base_urls: baseUrls });
    match(instance_id, /^[0-9a-f-]{36}$/);
    equal(operator_token.split(".").length, 3);
    deepEqual(Object.keys(keys), ["production", "staging", "test"]);
    for (const pair of Object.values(keys)) deepEqual(Object.keys(pair), ["read", "write"]);
    const all = Object.values(keys).flatMap((pair) => Object.values(pair));
    equal(new Set(all).size, 6);
  });
});

Deno.test("bootstrap() leaves a store in use alone, and its credentials too", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = memory();
    await makeInstance(engine, fakeHost(), "acme");
    deepEqual(await bootstrap(engine, fakeHost("again"), place, options), IN_USE);
    deepEqual([place.pending.size, place.published], [0, undefined]);
    equal(accepted(await showInstances(engine, anyOperator)).data.length, 1);
  });
});

Deno.test("bootstrap() at every later start does nothing", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = memory();
    await bootstrap(engine, fakeHost(), place, options);
    const first = place.published!;
    deepEqual(await bootstrap(engine, fakeHost("second"), place, options), IN_USE);
    equal(place.published, first);
    await checkCredentials(engine, first);
  });
});

for (const landed of [false, true]) {
  Deno.test(`bootstrap() that dies in its commit is made good later (${landed})`, async () => {
    await withTemporaryEngine(async (engine) => {
      const place = memory();
      const dying = faultyEngine(engine, [{ kind: "unavailable", landed }]);
      await rejects(bootstrap(dying, fakeHost(), place, options), { name: "EngineUnavailable" });
      equal(place.published, undefined);
      deepEqual(await bootstrap(engine, fakeHost("second"), place, options), MADE);
      equal(place.pending.size, 0);
      await checkCredentials(engine, place.published!);
    });
  });
}

Deno.test("bootstrap() that dies before its file has a name is made good by the next", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = memory();
    const dying = { ...place, publish: () => Promise.reject(new Error("power cut")) };
    await rejects(bootstrap(engine, fakeHost(), dying, options), /power cut/);
    deepEqual(await bootstrap(engine, fakeHost("second"), place, options), MADE);
    await checkCredentials(engine, place.published!);
  });
});

Deno.test("bootstrap() on two nodes at once is won by one; the other says where they are", async () => {
  await withTemporaryEngine(async (engine) => {
    const places = [memory("place 0"), memory("place 1")];
    const starts = await Promise.all(
      places.map((place, node) => bootstrap(engine, fakeHost(`node${node}`), place, options)),
    );
    const won = starts.findIndex(({ kind }) => kind === "made");
    deepEqual(starts[1 - won], { kind: "made_elsewhere", place: `place ${won}` });
    deepEqual([places[1 - won]!.pending.size, places[1 - won]!.published], [0, undefined]);
    await checkCredentials(engine, places[won]!.published!);
  });
});

Deno.test("bootstrap() of several at once in one folder publishes what is in the store", async () => {
  await withTemporaryEngine(async (engine) => {
    const folder = await Deno.makeTempDir({ prefix: "daybook_" });
    const starts = await Promise.all(
      Array.from(
        { length: 4 },
        (_, node) => bootstrap(engine, fakeHost(`node${node}`), credentialsFile(folder), options),
      ),
    );
    equal(starts.some(({ kind }) => kind === "made"), true);
    deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["credentials.json"]);
    await checkCredentials(engine, (await credentialsFile(folder).readPublished())!);
    await Deno.remove(folder, { recursive: true });
  });
});

Deno.test("bootstrap() leaves alone what another may be about to commit", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = memory();
    const slow = fakeHost("slow");
    // The second process starts and ends after the first wrote its file and before it commits.
    const overtaken: Engine = wrapEngine(engine, {
      async transact(body) {
        equal(place.pending.size, 1);
        deepEqual(await bootstrap(engine, fakeHost("fast"), place, options), MADE);
        return await engine.transact(body);
      },
    });
    deepEqual(await bootstrap(overtaken, slow, place, options), IN_USE);
    equal(place.pending.size, 0);
    await checkCredentials(engine, place.published!);
  });
});

Deno.test("bootstrap() tells a node with a copy of the credentials nothing", async () => {
  await withTemporaryEngine(async (engine) => {
    const first = memory("place 0");
    await bootstrap(engine, fakeHost(), first, options);
    const moved = memory("place 1");
    deepEqual(await bootstrap(engine, fakeHost("moved"), moved, options), {
      kind: "made_elsewhere",
      place: "place 0",
    });
    moved.published = first.published;
    deepEqual(await bootstrap(engine, fakeHost("moved"), moved, options), IN_USE);
  });
});

Deno.test("bootstrap() makes one instance although its transaction runs again", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = memory();
    await bootstrap(
      faultyEngine(engine, () => ({ kind: "conflict", times: 1 })),
      fakeHost(),
      place,
      options,
    );
    await checkCredentials(engine, place.published!);
  });
});
