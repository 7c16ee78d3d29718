/** Who may import whom: the layers of the product, and the rooms of its features. */

export interface Layer {
  /** Our files and folders that may be imported; the layer itself always may be. */
  readonly imports: readonly string[];
  /** Our files and folders from which only types may be imported, with `import type`. */
  readonly types?: readonly string[];
  /** Packages and built-in modules, each with the files or folders that may import it. */
  readonly packages?: Readonly<Record<string, readonly string[]>>;
}

/** The table. The longest row that is a prefix of a file's path is the file's layer. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  "src/domain": {
    imports: [],
    packages: {
      "ajv": ["src/domain/spec"],
      "ajv-formats": ["src/domain/spec"],
      "re2js": ["src/domain/spec"],
      "@eslint-community/regexpp": ["src/domain/spec/schema/patterns/pattern.ts"],
      "s2js": ["src/domain/geo/cells.ts"],
      "ipaddr.js": ["src/domain/listener"],
      "lru-cache": ["src/domain/recent_map.ts"],
      "@noble/ed25519": ["src/domain/audit"],
      "node:crypto": ["src/domain"],
      "node:buffer": ["src/domain"],
    },
  },
  "src/kv": {
    imports: [],
    packages: {
      "node:sqlite": ["src/kv"],
      "node:zlib": ["src/kv"],
      "lru-cache": ["src/kv/sqlite/recent_values.ts"],
      "node:worker_threads": ["src/kv"],
      "node:crypto": ["src/kv/sqlite/backup/copy_worker.ts"],
      "node:fs": ["src/kv/sqlite/upgrade_store.ts"],
      "node:url": ["src/kv/sqlite/moved_row.ts"],
      "node:path": ["src/kv"],
      "node:buffer": ["src/kv"],
      "foundationdb": ["src/kv/foundationdb/binding.ts"],
    },
  },
  "src/store": {
    imports: ["src/domain", "src/kv/tuple.ts", "src/kv/slab.ts", "src/kv/engine.ts"],
    packages: { "node:crypto": ["src/store"], "node:buffer": ["src/store"] },
  },
  "src/runners": { imports: ["src/domain/json_text"] },
  "src/wasm": {
    imports: ["src/domain", "src/runners"],
    packages: { "node:vm": ["src/wasm/call_module.ts"] },
  },
  "src/sql": {
    imports: ["src/domain", "src/runners"],
    packages: {
      "node:sqlite": ["src/sql"],
      "node:fs": ["src/sql/copies_folder.ts"],
    },
  },
  "src/compute": { imports: ["src/domain", "src/runners"] },
  "src/webhook": {
    imports: ["src/domain"],
    types: ["src/host.ts"],
    packages: {
      "node:http": ["src/webhook/sender.ts"],
      "node:https": ["src/webhook/sender.ts"],
      "node:dns": ["src/webhook/sender.ts"],
      "node:net": ["src/webhook/guard.ts"],
      "node:buffer": ["src/webhook"],
    },
  },
  // The archive of the embedded store: its files, and finding a moment in them.
  "src/files.ts": { imports: [] },
  "src/archive": {
    imports: ["src/domain", "src/files.ts"],
    types: ["src/kv/engine.ts", "src/host.ts", "src/config.ts"],
    packages: { "node:zlib": ["src/archive/archive_files.ts"] },
  },
  "src/addresses.ts": { imports: ["src/domain"], packages: { "ipaddr.js": ["src/addresses.ts"] } },
  "src/host.ts": {
    imports: ["src/domain/fairness/admission.ts"],
    types: ["src/domain/measures/tracer.ts"],
    packages: { "node:timers": ["src/host.ts"], "node:process": ["src/host.ts"] },
  },
  "src/telemetry.ts": {
    imports: ["src/domain"],
    packages: { "@opentelemetry/api": ["src/telemetry.ts"] },
  },
  "src/config.ts": {
    imports: ["src/domain", "src/kv/capabilities.ts", "src/addresses.ts"],
    packages: { "ipaddr.js": ["src/config.ts"] },
  },
  // What the service does. Rooms below say which of its folders may import which.
  "src/features": {
    imports: [
      "src/domain",
      "src/store",
      "src/wasm",
      "src/sql",
      "src/compute",
      "src/kv/calls.ts",
    ],
    types: ["src/host.ts", "src/kv/engine.ts"],
    packages: {
      "jose": ["src/features/access"],
      "lru-cache": ["src/features"],
      "node:crypto": ["src/features"],
      "node:buffer": ["src/features"],
    },
  },
  "src/private_files.ts": {
    imports: ["src/files.ts", "src/domain/json_text"],
    types: ["src/features", "src/host.ts"],
  },
  "src/workers": { imports: ["src/domain"], types: ["src/features/service.ts", "src/host.ts"] },
  "src/http": {
    imports: ["src/domain"],
    types: ["src/features", "src/host.ts", "src/built_files.ts"],
    packages: {
      "ipaddr.js": ["src/http"],
      "jsonc-parser": ["src/http/decode/json_fault.ts"],
      "prom-client": ["src/http/metrics"],
      "node:buffer": ["src/http"],
      "node:util": ["src/http/platform/built_sites.ts"],
      "node:zlib": [
        "src/http/answer.ts",
        "src/http/conditional.ts",
        "src/http/platform/built_sites.ts",
      ],
    },
  },
  // The client. It knows the server by its API alone; the subpaths build on the core.
  "sdk/src/core": { imports: [] },
  "sdk/src/admin": { imports: ["sdk/src/core"] },
  // For receivers and auditors, who need nothing else of the client.
  "sdk/src/webhooks": { imports: [] },
  "sdk/src/verify": {
    imports: [],
    packages: {
      "@noble/ed25519": ["sdk/src/verify/signature.ts"],
      "@noble/hashes": ["sdk/src/verify/hashes.ts", "sdk/src/verify/signature.ts"],
    },
  },
  // Scenarios run on the server's own fold, which `deno task pack` puts into the package.
  "sdk/src/test": {
    imports: ["sdk/src/core", "src/domain", "src/http/reply.ts"],
    packages: {
      "node:child_process": ["sdk/src/test/start_daybook.ts"],
      "node:fs": ["sdk/src/test/start_daybook.ts"],
      "node:module": ["sdk/src/test/start_daybook.ts"],
      "node:net": ["sdk/src/test/free_ports.ts"],
      "node:os": ["sdk/src/test/start_daybook.ts"],
      "node:path": ["sdk/src/test/start_daybook.ts"],
      "node:process": ["sdk/src/test/start_daybook.ts"],
      "node:url": ["sdk/src/test/start_daybook.ts"],
    },
  },
  // The console, in a browser. It knows the server by the client, and folds as the server does.
  "src/built_files.ts": { imports: ["src/domain/lookup/text_map.ts", "src/domain/json_text"] },
  "console/src/parts": {
    imports: [
      "console/src/shell/loaded.ts",
      "console/src/shell/own_member.ts",
      "console/src/shell/paging.ts",
    ],
    packages: {
      "preact": ["console/src/parts"],
      "@daybook/client": ["console/src/parts"],
    },
  },
  "console/src": {
    imports: ["src/domain"],
    packages: {
      "preact": ["console/src"],
      "@preact/signals": ["console/src"],
      "@daybook/client": ["console/src"],
      "minisearch": ["console/src/docs/search.ts"],
      "uplot": ["console/src/projections/chart.tsx"],
      "@codemirror/autocomplete": ["console/src/spec/code_editor.ts"],
      "@codemirror/commands": ["console/src/spec/code_editor.ts"],
      "@codemirror/lang-json": ["console/src/spec/code_editor.ts"],
      "@codemirror/language": ["console/src/spec"],
      "@codemirror/lint": ["console/src/spec/code_editor.ts"],
      "@codemirror/state": ["console/src/spec"],
      "@codemirror/view": ["console/src/spec"],
      "@lezer/highlight": ["console/src/spec"],
      "jsonc-parser": ["console/src/spec"],
    },
  },
  // Composition: what each command starts, and with what.
  "src/cli": {
    imports: ["src"],
    packages: {
      "jsonc-parser": ["src/cli/spec/spec_file.ts"],
      "node:sqlite": ["src/cli/migrate/migrate_file.ts"],
      "hyparquet-writer": ["src/cli/transfer/export_parquet.ts"],
      "@daybook/client": ["src/cli/connection/follow_live.ts"],
    },
  },
  "main.ts": { imports: ["src"], packages: { "commander": ["main.ts"] } },
};

/** Which rooms of its house a room may import, by its name. */
export type Rooms = Readonly<Record<string, readonly string[]>>;

/**
 * The rooms of a house are its folders, from the ground up. The files beside the rooms put them
 * together.
 */
export const HOUSES: Readonly<Record<string, Rooms>> = {
  "src/features": {
    base: [],
    limits: [],
    checks: [],
    access: ["base"],
    backup: ["reactions"],
    audit: ["base"],
    modules: ["base"],
    listeners: ["base", "writes"],
    specs: ["base", "modules", "states"],
    states: ["base", "modules"],
    projections: ["base", "states"],
    writes: ["base", "modules", "states"],
    imports: ["base", "writes"],
    erasure: ["base"],
    sagas: ["base", "writes"],
    reactions: ["base", "sagas", "writes"],
    transfer: ["access", "base", "projections", "sagas", "specs"],
    feed: ["base"],
    work: ["base", "erasure", "listeners", "reactions", "sagas", "states", "writes"],
  },
  "src/cli": {
    terminal: [],
    connection: ["terminal"],
    spec: ["connection", "terminal"],
    data: ["connection", "spec", "terminal"],
    transfer: ["connection", "terminal"],
    migrate: ["connection", "spec", "terminal", "transfer"],
    backup: ["connection", "spec", "terminal", "transfer"],
    access: ["connection", "terminal"],
  },
};
