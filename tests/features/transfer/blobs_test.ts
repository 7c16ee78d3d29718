/**
 * Blobs are transferred with their environment: states fold by the same modules as before.
 * Files are trusted no more than uploads.
 */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { createAccess } from "../../../src/features/access/access_service.ts";
import { createService } from "../../../src/features/service.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { resolveTenant } from "../../../src/features/access/instances.ts";
import { anyOperator } from "../../support/access_fixtures.ts";
import { valueOf } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText, imported, importText, refusedRule } from "../../support/transfer_fixtures.ts";
import { assemble } from "../../support/wasm/build_module.ts";
import {
  answering,
  digest,
  type ModuleWorld,
  moduleWorld,
  seats,
  showSpec,
  withModules,
} from "../../support/wasm/module_world.ts";

const EVENTS = {
  was_booked: { wasm: "logic:v1" },
  was_hashed: { wasm: "logic" },
};

/** An environment with two versions of a blob, both in use, and its export file. */
async function withExport(
  body: (world: ModuleWorld, text: string) => Promise<void>,
): Promise<void> {
  await withModules({}, {}, async (world) => {
    valueOf(await world.upload("logic", await seats()));
    valueOf(await world.upload("logic", await digest()));
    valueOf(await world.upload("spare", await answering({ actions: [] })));
    valueOf(await world.deploy(showSpec(EVENTS)));
    for (const type of ["was_booked", "was_booked"]) valueOf(await world.write("a", [type]));
    for (const type of ["was_hashed", "was_hashed"]) valueOf(await world.write("b", [type]));
    await body(world, await exportText(world.engine, world.host, world.tenant));
  });
}

Deno.test("an environment with blobs folds after the move as before, and takes further writes so", async () => {
  await withExport(async (world, text) => {
    const before = [await world.stateOf("a"), await world.stateOf("b")];
    const listed = valueOf(await world.service.specs.listBlobs(world.tenant, {})).data;
    await withTemporaryEngine(async (engine) => {
      const { counts, environment } = imported(await importText(engine, world.host, text));
      assert.equal(counts.blobs, 3);
      const access = createAccess(engine, world.host, { jwtSecret: new Uint8Array(32) });
      const service = createService(engine, world.host, access);
      try {
        const id = undefined;
        const tenant = valueOf(
          await resolveTenant(engine, anyOperator, id, environment as Tenant["environment"]),
        );
        const tenants = { ...world.tenants, test: tenant };
        const moved = moduleWorld(service, { ...world, engine, service, tenants });
        assert.deepEqual([await moved.stateOf("a"), await moved.stateOf("b")], before);
        assert.deepEqual(valueOf(await service.specs.listBlobs(tenant, {})).data, listed);
        for (const each of [world, moved]) valueOf(await each.write("b", ["was_hashed"]));
        assert.deepEqual(await moved.stateOf("b"), await world.stateOf("b"));
        // The blob continues with the next version and recognizes bytes that it already has.
        assert.equal(valueOf(await moved.upload("logic", await seats())).version, 1);
        const next = await answering({ state: {} }, "apply_handler");
        assert.equal(valueOf(await moved.upload("logic", next)).version, 3);
        assert.equal(
          await exportText(engine, world.host, tenant).then(blobLines),
          blobLines(text) + 1,
        );
      } finally {
        await service.close();
        await access.close();
      }
    });
  });
});

function blobLines(text: string): number {
  return text.split("\n").filter((line) => line.startsWith('{"record":"blob",')).length;
}

/** The file with other lines and a matching end line. */
function altered(text: string, change: (lines: string[]) => string[]): string {
  const lines = change(text.trimEnd().split("\n").slice(0, -1));
  const before = lines.map((line) => line + "\n").join("");
  const end = JSON.parse(text.trimEnd().split("\n").at(-1)!);
  const blobs = lines.filter((line) => line.startsWith('{"record":"blob",')).length;
  const sha256 = hash("sha256", before, "hex");
  return before + JSON.stringify({ ...end, lines: lines.length, blobs, sha256 }) + "\n";
}

Deno.test("a file whose current spec calls a blob that it lacks is refused", async () => {
  await withExport(async (world, text) => {
    // The parts of a blob follow it.
    let isIn = false;
    const without = altered(text, (lines) =>
      lines.filter((line) => {
        if (line.startsWith('{"record":"blob",')) isIn = line.includes('"logic"');
        else if (!line.startsWith('{"record":"blob_part"')) isIn = false;
        return !isIn;
      }));
    await withTemporaryEngine(async (engine) => {
      const outcome = await importText(engine, world.host, without);
      assert.equal(refusedRule(outcome), "spec_invalid");
      assert(!outcome.ok && outcome.fault.message.includes('no blob "logic"'));
    });
  });
});

Deno.test("a file with a module that no upload would take is refused, however well its sums fit", async () => {
  await withExport(async (world, text) => {
    const file = await assemble('(module (import "env" "now" (func)))');
    const forged = altered(text, (lines) => {
      const at = lines.findIndex((line) => line.includes('"name":"spare"'));
      const record = JSON.parse(lines[at]!);
      const sha256 = hash("sha256", file, "hex");
      const blob = { ...record, sha256, bytes: file.length, parts: 1 };
      const part = { record: "blob_part", text: file.toBase64() };
      return lines.toSpliced(at, 1 + record.parts, JSON.stringify(blob), JSON.stringify(part));
    });
    await withTemporaryEngine(async (engine) => {
      assert.equal(refusedRule(await importText(engine, world.host, forged)), "blob_invalid");
    });
  });
});

Deno.test("an environment that has blobs is not empty: an import would take them away", async () => {
  await withExport(async (world, text) => {
    const { engine, host, tenants, service } = world;
    const { production } = tenants;
    valueOf(await service.specs.uploadBlob(production, "mine", await seats()));
    const outcome = await importText(engine, host, text, { environment: "production" });
    assert.equal(refusedRule(outcome), "not_empty");
    assert.equal(valueOf(await service.specs.listBlobs(production, {})).data.length, 1);
  });
});
