/** Keeps docs/reference/transfer-file.md true: every record with its fields, and every rule. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { makeKey } from "../support/access_fixtures.ts";
import { movingSpec, openMovingShop } from "../support/moving_shop.ts";
import { setOff } from "../support/reactive_spec.ts";
import { uuid, valueOf, withService } from "../support/service_fixture.ts";
import { exportText } from "../support/transfer_fixtures.ts";
import { digest } from "../support/wasm/module_world.ts";
import { fencedBlocks, readText, sectionOf, tableRows } from "./markdown.ts";

const REFERENCE = readText("docs/reference/transfer-file.md");
const FOLDERS = ["src/domain/transfer", "src/features/transfer"];

/** The names in code within a text, e.g. of a cell. */
function codesIn(text: string): string[] {
  return [...text.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name!);
}

Deno.test("the reference of the file has every record of an export, with just its fields", async () => {
  await withBusyExport((text) => {
    const rows = new Map(
      tableRows(sectionOf(REFERENCE, "### Records")).map(([record, fields]) =>
        [codesIn(record!)[0], fields!] as const
      ),
    );
    const seen = new Set<string>();
    for (const line of text.split("\n").slice(0, -1)) {
      if (!line.startsWith('{"record":')) continue;
      const { record, instance = {}, ...fields } = JSON.parse(line);
      seen.add(record);
      const told = rows.get(record);
      assert.ok(told !== undefined, `there is a row for ${record}`);
      const optional = [...told.matchAll(/`([a-z_]+)`\?/g)].map(([, name]) => name!);
      const names = new Set([...Object.keys(fields), ...Object.keys(instance), ...optional]);
      if (record === "header") names.add("instance");
      assert.deepEqual(new Set(codesIn(told)), names, record);
    }
    assert.deepEqual(seen, new Set(rows.keys()));
  });
});

/** The file of an environment in which there is something of everything. */
async function withBusyExport(body: (text: string) => void): Promise<void> {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const idempotency = { key: "k", bodyHash: "ab".repeat(32) };
    const keyed = { ...setOff(uuid(1), "was_paid"), idempotency };
    valueOf(await service.data.writeEvents(test, keyed));
    await makeKey(engine, host, test);
    valueOf(await service.specs.uploadBlob(test, "digest", await digest()));
    const sources = { order: "$key" };
    const select = { paid: "$.order.paid" };
    const projection = { name: "orders", for_each: "order", sources, select };
    valueOf(await service.projections.deploy(test, projection));
    const shop = openMovingShop(engine, host, test);
    await shop.write(uuid(2), "was_placed", "was_promised");
    await shop.work();
    await shop.write(uuid(3), "was_placed");
    const wish = { key: `order:${uuid(1)}`, reason: "asked for", requestedBy: "dpo" };
    valueOf(await service.erasure.request(test, wish));
    body(await exportText(engine, host, test, { withSigningKeys: true }));
    await shop.close();
  }, { spec: { ...movingSpec, modules: { ...movingSpec.modules as JsonObject, listeners } } });
}

/** Nobody delivers here, so what it is to hear is pending. */
const listeners = {
  hook: { url: "https://example.com/hook", secret: "0123456789abcdef", events: ["order.*"] },
};

Deno.test("the reference of the file has every kind of pending work, with just its fields", async () => {
  await withBusyExport((text) => {
    const rows = new Map(
      tableRows(sectionOf(REFERENCE, "### Pending work")).map(([kind, fields]) =>
        [codesIn(kind!)[0]!, fields!] as const
      ),
    );
    const lines = text.split("\n");
    const seen = new Set<string>();
    for (const [at, line] of lines.entries()) {
      if (!line.startsWith('{"record":"work",')) continue;
      const { kind } = JSON.parse(line) as { kind: string };
      seen.add(kind);
      // What stands in brackets are the fields of a field.
      const told = rows.get(kind)!.replaceAll(/\(.*?\)/g, "");
      const names = [...told.matchAll(/`([a-zA-Z_]+)`(\?)?/g)];
      const fields = Object.keys(JSON.parse(JSON.parse(lines[at + 1]!).text));
      const optional = names.filter(([, , mark]) => mark !== undefined).map(([, name]) => name!);
      assert.deepEqual(new Set(names.map(([, name]) => name)), new Set([...fields, ...optional]));
    }
    assert.deepEqual(seen, new Set(rows.keys()));
  });
});

Deno.test("the reference of the file has every rule by which an import is refused, and no other", () => {
  const rules = new Set<string>();
  for (const folder of FOLDERS) {
    for (const { name } of Deno.readDirSync(new URL(`../../${folder}`, import.meta.url))) {
      const source = readText(`${folder}/${name}`);
      const made = source.matchAll(/(?:refuse|breach|fault)\(\s*"([a-z0-9_]+)"|rule: "([a-z_]+)"/g);
      for (const [, called, named] of made) rules.add(called ?? named!);
      for (const [, other] of source.matchAll(/rule: \w+ \? "[a-z_]+" : "([a-z_]+)"/g)) {
        rules.add(other!);
      }
    }
  }
  assert.ok(rules.size >= 20, [...rules].join(", "));
  const rows = tableRows(sectionOf(REFERENCE, "### What a reader refuses"));
  const listed = rows.flatMap(([names]) => codesIn(names!));
  assert.deepEqual(listed.toSorted(), [...rules, "after_end"].filter(isOnce).toSorted());
});

function isOnce(name: string, index: number, all: readonly string[]): boolean {
  return all.indexOf(name) === index;
}

Deno.test("the example of the file has lines that begin as records and events do", () => {
  const [example] = fencedBlocks(REFERENCE).filter(({ language }) => language === "text");
  for (const line of example!.text.trimEnd().split("\n")) {
    assert.match(line, /^\{"(record":"[a-z_]+"|key":"order:global",)/);
  }
});
