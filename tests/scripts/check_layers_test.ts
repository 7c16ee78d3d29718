/** The layer check: each rule with a tree that keeps it and one that breaks it. */

import assert from "node:assert/strict";
import { checkLayers, checkRest, checkUnused } from "../../scripts/check_layers.ts";
import { checkSingleImporters, singleImporters } from "../../scripts/checks/single_importers.ts";
import { importsOf, resolveImport } from "../../scripts/checks/imports.ts";
import { parseSource } from "../../scripts/checks/source_tree.ts";

/** The faults of a small tree as `path:line rule`. */
function faultsOf(files: Record<string, string>): string[] {
  const sources = Object.entries(files).map(([path, text]) => parseSource(path, text));
  return checkLayers(sources, (path) => path in files)
    .map((fault) => `${fault.path}:${fault.line} ${fault.rule}`);
}

Deno.test("checkLayers() accepts imports that go down the table", () => {
  const files = {
    "src/domain/occ.ts": `import { a } from "./event.ts";`,
    "src/domain/event.ts": `export const a = 1;`,
    "src/kv/engine.ts": `export interface Engine {}`,
    "src/kv/foundationdb/binding.ts": `import { open } from "foundationdb";`,
    "src/store/streams.ts":
      `import type { Engine } from "../kv/engine.ts";\nimport { a } from "../domain/event.ts";`,
    "src/features/writes/write_events.ts": `import { x } from "../../store/streams.ts";`,
    "src/features/service.ts": `import { y } from "./writes/write_events.ts";`,
    "src/http/app.ts":
      `import ipaddr from "ipaddr.js";\nimport type { S } from "../features/service.ts";`,
    "main.ts": `import { createApp } from "./src/http/app.ts";`,
  };
  assert.deepEqual(faultsOf(files), []);
});

Deno.test("checkLayers() refuses an import that goes up", () => {
  const files = {
    "src/domain/occ.ts": `// why\nimport { a } from "../store/streams.ts";`,
    "src/store/streams.ts": `export const a = 1;`,
  };
  assert.deepEqual(faultsOf(files), ["src/domain/occ.ts:2 layer_import"]);
});

Deno.test("checkLayers() refuses an engine in the edge, by every form of import", () => {
  const engine = { "src/kv/sqlite.ts": `export const open = 1;` };
  const forms = [
    `import { open } from "../kv/sqlite.ts";`,
    `import "../kv/sqlite.ts";`,
    `export { open } from "../kv/sqlite.ts";`,
    `const engine = await import("../kv/sqlite.ts");`,
    `type Open = typeof import("../kv/sqlite.ts").open;`,
    `new Worker(new URL("../kv/sqlite.ts", import.meta.url));`,
  ];
  for (const text of forms) {
    assert.deepEqual(
      faultsOf({ ...engine, "src/http/app.ts": text }),
      ["src/http/app.ts:1 layer_import"],
      text,
    );
  }
});

Deno.test("checkLayers() lets a value through only where more than types are allowed", () => {
  const service = {
    "src/features/service.ts": `export const bind = 1;\nexport interface Service {}`,
  };
  const accepted = [
    `import type { Service } from "../features/service.ts";`,
    `import { type Service } from "../features/service.ts";`,
    `export type { Service } from "../features/service.ts";`,
  ];
  for (const text of accepted) {
    assert.deepEqual(faultsOf({ ...service, "src/http/app.ts": text }), [], text);
  }
  const refused = [
    `import { bind } from "../features/service.ts";`,
    `import { bind, type Service } from "../features/service.ts";`,
    `import * as service from "../features/service.ts";`,
  ];
  for (const text of refused) {
    const faults = faultsOf({ ...service, "src/http/app.ts": text });
    assert.deepEqual(faults, ["src/http/app.ts:1 layer_types_only"], text);
  }
});

Deno.test("checkLayers() allows a package only in the places the table names", () => {
  assert.deepEqual(faultsOf({ "src/kv/sqlite.ts": `import { x } from "node:sqlite";` }), []);
  assert.deepEqual(
    faultsOf({ "src/store/streams.ts": `import { x } from "node:sqlite";` }),
    ["src/store/streams.ts:1 layer_package"],
  );
  assert.deepEqual(faultsOf({ "src/domain/spec/a.ts": `import { A } from "ajv/a";` }), []);
  assert.deepEqual(
    faultsOf({ "src/domain/occ.ts": `import { A } from "ajv";` }),
    ["src/domain/occ.ts:1 layer_package"],
  );
});

Deno.test("checkLayers() refuses a relative import that leads nowhere", () => {
  const faults = faultsOf({ "src/domain/occ.ts": `import { a } from "./gone.ts";` });
  assert.deepEqual(faults, ["src/domain/occ.ts:1 import_missing"]);
});

Deno.test("checkLayers() refuses a file that no row of the table covers", () => {
  assert.deepEqual(faultsOf({ "src/new_idea/a.ts": "" }), ["src/new_idea/a.ts:1 layer_unknown"]);
});

Deno.test("checkLayers() refuses folders that import each other in a circle", () => {
  const files = {
    "src/domain/spec/a.ts": `import { b } from "../handler/b.ts";`,
    "src/domain/handler/b.ts": `export const b = 1;`,
    "src/domain/audit/c.ts": `import { a } from "../spec/a.ts";`,
  };
  assert.deepEqual(faultsOf(files), []);
  const circle = {
    ...files,
    "src/domain/handler/b.ts": `import { c } from "../audit/c.ts";\nexport const b = 1;`,
  };
  const rules = faultsOf(circle).map((fault) => fault.split(" ")[1]);
  assert.deepEqual(rules.filter((rule) => rule === "folder_cycle").length, 3);
});

Deno.test("importsOf() is not misled by comments and strings", () => {
  const text = "// import x from './a.ts'\nconst s = `import './b.ts'`;";
  assert.deepEqual(importsOf(parseSource("src/a.ts", text)), []);
});

Deno.test("resolveImport() gives paths from the root, and undefined for packages", () => {
  assert.equal(resolveImport("src/http/data/write.ts", "../app.ts"), "src/http/app.ts");
  assert.equal(resolveImport("main.ts", "./src/service.ts"), "src/service.ts");
  assert.equal(resolveImport("main.ts", "hono"), undefined);
});

Deno.test("checkLayers() lets a room import those below it, and not the files that join them", () => {
  const files = {
    "src/features/service.ts": `import { w } from "./writes/w.ts";\nexport const s = 1;`,
    "src/features/writes/w.ts": `import { r } from "../states/r.ts";\nexport const w = 1;`,
    "src/features/states/r.ts": `export const r = 1;`,
  };
  assert.deepEqual(faultsOf(files), []);
  const upwards = { ...files, "src/features/states/r.ts": `import { l } from "../audit/l.ts";` };
  assert.deepEqual(
    faultsOf({ ...upwards, "src/features/audit/l.ts": "export const l = 1;" }),
    ["src/features/states/r.ts:1 room_import"],
  );
  const joined = { ...files, "src/features/base/b.ts": `import { s } from "../service.ts";` };
  assert.deepEqual(faultsOf(joined), ["src/features/base/b.ts:1 room_import"]);
});

Deno.test("checkLayers() refuses files that import each other in a circle, be it for types", () => {
  const files = {
    "src/domain/a.ts": `import type { B } from "./b.ts";\nexport type A = 1;`,
    "src/domain/b.ts": `import type { C } from "./c.ts";\nexport type B = 1;`,
    "src/domain/c.ts": `export type C = 1;`,
    "src/domain/d.ts": `import type { A } from "./a.ts";`,
  };
  assert.deepEqual(faultsOf(files), []);
  const circle = { ...files, "src/domain/c.ts": `import type { A } from "./a.ts";` };
  assert.deepEqual(faultsOf(circle), [
    "src/domain/a.ts:1 file_cycle",
    "src/domain/b.ts:1 file_cycle",
    "src/domain/c.ts:1 file_cycle",
  ]);
});

Deno.test("checkRest() lets scripts import everything, but in no circle, and only what is there", () => {
  const faults = (files: Record<string, string>) =>
    checkRest(
      Object.entries(files).map(([path, text]) => parseSource(path, text)),
      (path) => path in files || path === "src/host.ts",
    ).map(({ path, line, rule }) => `${path}:${line} ${rule}`);
  const files = {
    "scripts/a.ts": `import { host } from "../src/host.ts";\nimport type { B } from "./b.ts";`,
    "scripts/b.ts": `export type B = 1;`,
  };
  assert.deepEqual(faults(files), []);
  const circle = { ...files, "scripts/b.ts": `import { a } from "./a.ts";` };
  assert.deepEqual(faults(circle), ["scripts/a.ts:2 file_cycle", "scripts/b.ts:1 file_cycle"]);
  const missing = { ...files, "scripts/b.ts": `import { c } from "./c.ts";` };
  assert.deepEqual(faults(missing), ["scripts/b.ts:1 import_missing"]);
});

Deno.test("checkUnused() finds the rows that no import needs, and keeps those that one does", () => {
  const layers = {
    "src/domain": { imports: [], packages: { ajv: ["src/domain/spec"], lodash: ["src/domain"] } },
    "src/store": { imports: ["src/domain"], types: ["src/kv"] },
  };
  const houses = { "src/features": { writes: ["base", "states"] } };
  const files = {
    "src/domain/spec/a.ts": `import ajv from "ajv";`,
    "src/store/s.ts": `import { a } from "../domain/spec/a.ts";`,
    "src/features/writes/w.ts": `import { b } from "../base/b.ts";`,
  };
  const sources = Object.entries(files).map(([path, text]) => parseSource(path, text));
  const told = checkUnused(sources, { ...layers, "src/features": { imports: [] } }, houses)
    .map(({ message }) => /"(.*)"/.exec(message)![1]);
  assert.deepEqual(told, [
    "src/domain: lodash in src/domain",
    "src/store: src/kv",
    "src/features/writes: states",
  ]);
});

Deno.test("singleImporters() counts files with one importer, but no entry's and no exception", () => {
  const files = {
    "main.ts": `import "./src/cli/serve.ts";`,
    "src/cli/serve.ts": `import "../domain/used_once.ts";\nimport "../domain/used_twice.ts";`,
    "src/domain/used_once.ts": `import type { A } from "./used_twice.ts";`,
    "src/domain/used_twice.ts": `export type A = 1;`,
    "src/kv/row.ts": "",
    "src/kv/table.ts": `import "./row.ts";\nimport { x } from "./row.ts";`,
    "src/sql/query_main.ts": `import "./run_query.ts";`,
    "src/sql/run_query.ts": "",
  };
  const sources = Object.entries(files).map(([path, text]) => parseSource(path, text));
  const rows = [{ place: "src/kv", reason: "a row" }];
  assert.deepEqual(singleImporters(sources, rows), ["src/domain/used_once.ts"]);
  assert.deepEqual(singleImporters(sources, []), ["src/domain/used_once.ts", "src/kv/row.ts"]);
  const rulesOf = (max: number, exceptions: typeof rows) =>
    checkSingleImporters(sources, max, exceptions).map(({ rule }) => rule);
  assert.deepEqual(rulesOf(1, rows), []);
  assert.deepEqual(rulesOf(0, rows), ["single_importer"]);
  assert.deepEqual(rulesOf(1, [...rows, { place: "src/http", reason: "" }]), ["exception_unused"]);
});
