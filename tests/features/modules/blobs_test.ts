/**
 * Blobs: versions, pins and the moment of switching. Uploading the same bytes again returns the
 * same version. See docs/reference/modules.md.
 */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import type { Engine } from "../../../src/kv/engine.ts";
import { isCurrentFold, openSpecCache } from "../../../src/features/base/current_spec.ts";
import { createService } from "../../../src/features/service.ts";
import { type Fault, faultyEngine } from "../../support/faulty_engine.ts";
import { refusalOf, valueOf } from "../../support/service_fixture.ts";
import { assemble } from "../../support/wasm/build_module.ts";
import {
  answering,
  digest,
  type ModuleWorld,
  moduleWorld,
  showSpec,
  withModules,
} from "../../support/wasm/module_world.ts";
import { storeBlob } from "../../../src/store/blobs.ts";

function stating(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return answering({ state: { made_by: name } }, "apply_handler");
}

const EVENTS = {
  was_made: { wasm: "maker" },
  was_made_of_old: { wasm: "maker:v1" },
};

async function rebuildAll({ service }: ModuleWorld): Promise<void> {
  for (let round = 0; await service.background.rebuildSnapshots(100) > 0; round++) {
    assert(round < 100, "the rebuild ends");
  }
}

/** Uploads again what is refused only because the machine is slow, as a client would. */
async function uploadInTime({ upload }: ModuleWorld, name: string, file: Uint8Array<ArrayBuffer>) {
  for (let tries = 0; tries < 100; tries++) {
    const blob = await upload(name, file);
    if (blob.ok || blob.refusal.kind !== "modules_unavailable") return blob;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("modules stay unavailable");
}

async function untilStateIs(world: ModuleWorld, id: string, made_by: string): Promise<number> {
  const beganMs = performance.now();
  for (let look = 0; look < 200; look++) {
    const state = await world.stateOf(id) as { made_by: string };
    if (state.made_by === made_by) return performance.now() - beganMs;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the state was never made by ${made_by}`);
}

Deno.test("uploads count versions of each name, and the same bytes are the version they became", async () => {
  await withModules({}, {}, async ({ upload, service, tenant }) => {
    const [one, two] = [await stating("one"), await stating("two")];
    const first = valueOf(await upload("maker", one));
    const { name, version, sha256, exports, bytes } = first;
    assert.deepEqual({ name, version, exports }, {
      name: "maker",
      version: 1,
      exports: ["apply_handler"],
    });
    assert.equal(sha256, hash("sha256", one, "hex"));
    assert.equal(bytes, one.length);
    assert.equal(valueOf(await upload("maker", two)).version, 2);
    assert.deepEqual(valueOf(await upload("maker", one)), first);
    assert.equal(valueOf(await upload("other", one)).version, 1);
    const { data } = valueOf(await service.specs.listBlobs(tenant, {}));
    const listed = data.map((blob) => [blob.name, blob.version]);
    assert.deepEqual(listed, [["maker", 1], ["maker", 2], ["other", 1]]);
  });
});

Deno.test("environments have blobs of their own", async () => {
  await withModules({ maker: await stating("one") }, {}, async ({ service, tenants }) => {
    assert.deepEqual(valueOf(await service.specs.listBlobs(tenants.production, {})).data, []);
    const spec = showSpec({ was_made: { wasm: "maker" } });
    const request = { spec, force: false, dryRun: true };
    const refusal = refusalOf(await service.specs.deploySpec(tenants.production, request));
    assert(refusal.kind === "spec_invalid");
    assert.equal(refusal.violations[0]!.rule, "unknown_blob");
  });
});

Deno.test("an unpinned handler goes to a new version once its upload is answered, a pinned one never", async () => {
  await withModules({ maker: await stating("one") }, EVENTS, async (world) => {
    valueOf(await world.write("a", ["was_made"]));
    valueOf(await world.write("b", ["was_made_of_old"]));
    valueOf(await world.upload("maker", await stating("two")));
    assert.deepEqual(await world.stateOf("a"), { made_by: "two" });
    assert.deepEqual(await world.stateOf("a", true), { made_by: "two" });
    assert.deepEqual(await world.stateOf("b"), { made_by: "one" });
    valueOf(await world.write("a", ["was_made_of_old"]));
    assert.deepEqual(await world.stateOf("a"), { made_by: "one" });
  });
});

Deno.test("another node goes to the new version too, within five seconds", async () => {
  await withModules({ maker: await stating("one") }, EVENTS, async (world) => {
    const service = createService(world.engine, world.host, world.access);
    const other = moduleWorld(service, world);
    try {
      valueOf(await world.write("a", ["was_made"]));
      assert.deepEqual(await other.stateOf("a"), { made_by: "one" });
      valueOf(await world.upload("maker", await stating("two")));
      assert(await untilStateIs(other, "a", "two") < 5_000);
    } finally {
      await service.close();
    }
  });
});

Deno.test("a new version has the streams of its types folded anew in the background", async () => {
  await withModules({ maker: await stating("one") }, EVENTS, async (world) => {
    const { service } = world;
    // Enough events for a snapshot.
    const types = Array.from({ length: 1_000 }, () => "was_made");
    valueOf(await world.write("a", types));
    await world.stateOf("a");
    while (await service.background.saveMemory(100) > 0);
    // The work that the deploy left to do.
    await rebuildAll(world);
    valueOf(await world.upload("maker", await stating("two")));
    await rebuildAll(world);
    // A node without memory reads the snapshot of the new version.
    const fresh = createService(world.engine, world.host, world.access);
    try {
      assert.deepEqual(await moduleWorld(fresh, world).stateOf("a"), { made_by: "two" });
      const { stateReads } = fresh.operations.counters;
      assert.deepEqual([stateReads.get("snapshot"), stateReads.get("events")], [1, 0]);
    } finally {
      await fresh.close();
    }
  });
});

Deno.test("a state folded with the old version is not kept in the place of one folded with the new", async () => {
  await withModules({ maker: await stating("one") }, EVENTS, async (world) => {
    const { engine, host, tenant: { number } } = world;
    const before = openSpecCache(engine, host);
    const after = openSpecCache(engine, host);
    try {
      const old = await before.current(number);
      assert(await engine.transact((tx) => isCurrentFold(tx, number, old)));
      valueOf(await world.upload("maker", await stating("two")));
      // What a node holds that has heard of no upload.
      assert(!await engine.transact((tx) => isCurrentFold(tx, number, old)));
      const now = await after.current(number);
      assert(await engine.transact((tx) => isCurrentFold(tx, number, now)));
    } finally {
      await Promise.all([before.close(), after.close()]);
    }
  });
});

Deno.test("the same events have the same state on each node, after a restart and after a rebuild", async () => {
  await withModules(
    { digest: await digest() },
    { was_hashed: { wasm: "digest" } },
    async (world) => {
      for (let turn = 0; turn < 3; turn++) {
        valueOf(await world.write("a", Array.from({ length: 250 }, () => "was_hashed")));
      }
      const state = await world.stateOf("a");
      assert.deepEqual(await world.stateOf("a", true), state);
      while (await world.service.background.saveMemory(100) > 0);
      const other = createService(world.engine, world.host, world.access);
      try {
        const second = moduleWorld(other, world);
        assert.deepEqual(await second.stateOf("a"), state, "from the snapshot");
        assert.deepEqual(await second.stateOf("a", true), state, "from the events");
        valueOf(await second.write("a", ["was_hashed"]));
        const next = await second.stateOf("a");
        assert.notDeepEqual(next, state);
        assert.deepEqual(await world.stateOf("a"), next);
      } finally {
        await other.close();
      }
    },
  );
});

Deno.test("a version without the function that the current spec calls is refused, and is not kept", async () => {
  await withModules({ maker: await stating("one") }, EVENTS, async (world) => {
    const other = await answering({ state: {} }, "other_handler");
    const refusal = refusalOf(await world.upload("maker", other));
    assert(refusal.kind === "blob_incompatible");
    const [{ rule, path, message, hint }] = refusal.violations as [typeof refusal.violations[0]];
    assert.deepEqual([rule, path], ["entrypoint_in_use", "file.exports.apply_handler"]);
    assert.match(message, /aggregate_types\.show\.events\.was_made\.handler\.wasm/);
    assert.notEqual(hint, "");
    assert.equal(valueOf(await world.service.specs.listBlobs(world.tenant, {})).data.length, 1);
    // A pinned version is not affected by the upload.
    valueOf(await world.deploy(showSpec({ was_made: { wasm: "maker:v1" } })));
    assert.equal(valueOf(await world.upload("maker", other)).version, 2);
  });
});

Deno.test("what is no module, imports something or has a bad name is refused with its reason", async () => {
  await withModules({}, {}, async ({ upload }) => {
    const text = new TextEncoder().encode("#!/bin/sh\n");
    const malformed = refusalOf(await upload("maker", text));
    assert(malformed.kind === "module_invalid");
    assert.equal(malformed.violation.rule, "module_malformed");
    const importing = await assemble('(module (import "env" "now" (func)))');
    const imports = refusalOf(await upload("maker", importing));
    assert(imports.kind === "module_invalid");
    assert.equal(imports.violation.rule, "module_import");
    for (const name of ["", "Maker", "1st", "a:v1", "a".repeat(65), "a b"]) {
      const refusal = refusalOf(await upload(name, await stating("one")));
      assert.equal(refusal.kind, "operator_input_invalid", name);
    }
  });
});

for (const kind of ["lose_reply", "unavailable"] as const) {
  for (const landed of [false, true]) {
    Deno.test(`an upload tried again is one version (${kind}, landed: ${landed})`, async () => {
      let fault: Fault | undefined;
      function wrap(engine: Engine): Engine {
        return faultyEngine(engine, () => {
          const now = fault;
          fault = undefined;
          return now;
        });
      }
      await withModules({ maker: await stating("one") }, EVENTS, async (world) => {
        valueOf(await world.write("a", ["was_made"]));
        const two = await stating("two");
        fault = { kind, landed };
        const isHeard = await world.upload("maker", two).then(valueOf).then(
          () => true,
          () => false,
        );
        assert.equal(isHeard, kind === "lose_reply");
        // A writer without a reply may find either, but never a mixture.
        const made = isHeard || landed ? "two" : "one";
        assert.deepEqual(await world.stateOf("a"), { made_by: made });
        assert.equal(valueOf(await world.upload("maker", two)).version, 2);
        assert.deepEqual(await world.stateOf("a"), { made_by: "two" });
      }, { wrap });
    });
  }
}

Deno.test("of uploads at once each has a version, without gaps", async () => {
  await withModules({}, {}, async (world) => {
    const files = await Promise.all(Array.from({ length: 8 }, (_, n) => stating(`maker ${n}`)));
    const blobs = await Promise.all(files.map((file) => uploadInTime(world, "maker", file)));
    const versions = blobs.map((blob) => valueOf(blob).version).sort((a, b) => a - b);
    assert.deepEqual(versions, [1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

Deno.test("a page of versions with long names of exports ends at its bytes, and the next one goes on", async () => {
  await withModules({}, {}, async ({ engine, service, tenant }) => {
    const file = new Uint8Array(1);
    for (let version = 1; version <= 12; version++) {
      const sha256 = `${version}`.padStart(64, "0");
      const exports = Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(900, "x"));
      const blob = { name: "wide", version, sha256, exports, bytes: 1, created_at: "" };
      await engine.transact((tx) =>
        Promise.resolve(storeBlob(tx, tenant.number, { blob, file, module: file }))
      );
    }
    const pages: (readonly number[])[] = [];
    for (let start: string | undefined, more = true; more;) {
      const page = valueOf(await service.specs.listBlobs(tenant, { limit: 50, start }));
      pages.push(page.data.map(({ version }) => version));
      [start, more] = [page.next_start, page.truncated];
    }
    assert.deepEqual(pages, [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]);
  });
});
