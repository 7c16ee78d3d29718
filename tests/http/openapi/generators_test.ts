/**
 * The OpenAPI document as input of three client generators, run as their users run them. The
 * TypeScript compiler then checks the generated files, with a few lines that use them.
 *
 * The generators have their own lock file (`tests/openapi_generators/`), because their
 * dependencies outnumber those of the product.
 */

import assert from "node:assert/strict";
import ts from "typescript";
import { isJsonObject, type JsonObject } from "../../../src/domain/json.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { FORMAT_NAMES } from "../../../src/domain/spec/schema/formats/formats.ts";
import { KEYWORDS } from "../../../src/domain/spec/schema/vocabulary.ts";
import { openApiDocument } from "../../../src/http/openapi/document.ts";
import { PATHS } from "../../../src/http/paths.ts";
import { markdownFiles, readText } from "../../documentation/markdown.ts";
import { EVERY_KEYWORD, everyKeywordSpec } from "../../support/every_keyword_spec.ts";

const CONFIG = new URL("../../openapi_generators/deno.json", import.meta.url);

interface Generator {
  readonly package: string;
  /** Command line arguments: it reads `document.json` and writes its output file. */
  readonly args: readonly string[];
  /** Code that uses the output for {@link everyKeywordSpec}. */
  readonly usage: string;
}

/** Each line that must not compile says so. */
const GENERATORS: readonly Generator[] = [
  {
    package: "openapi-typescript",
    args: ["document.json", "-o", "openapi-typescript.ts"],
    usage: `
      import type { components, operations } from "./openapi-typescript.ts";
      type Made = components["schemas"]["order.was_made"];
      type Write = operations["writeEvent.order.was_made"];
      type Refusal = Write["responses"][422]["content"]["application/json"];
      export const made: Partial<Made> = { line: { sku: "a" }, page: [1], named: true };
      // @ts-expect-error: it is of integers
      export const wrong: Partial<Made> = { page: ["a"] };
      export function pathOf(refusal: Refusal): string | undefined {
        if (refusal.error_type === "schema_validation") return refusal.details[0]?.path;
        // @ts-expect-error: only that one has details
        return refusal.details;
      }`,
  },
  {
    package: "@hey-api/openapi-ts",
    args: ["--input", "./document.json", "--output", "hey-api", "--silent"],
    usage: `
      import type { OrderWasMade, WriteEventOrderWasMadeErrors } from "./hey-api/index.ts";
      import { writeEventOrderWasMade } from "./hey-api/index.ts";
      export const made: Partial<OrderWasMade> = { line: { sku: "a" }, page: [1], named: true };
      // @ts-expect-error: it is of integers
      export const wrong: Partial<OrderWasMade> = { page: ["a"] };
      export function pathOf(refusal: WriteEventOrderWasMadeErrors[422]): string | undefined {
        if (refusal.error_type === "schema_validation") return refusal.details[0]?.path;
        // @ts-expect-error: only that one has details
        return refusal.details;
      }
      export const write: unknown = writeEventOrderWasMade;`,
  },
  {
    package: "orval",
    args: ["--input", "./document.json", "--output", "./orval.ts", "--client", "fetch"],
    usage: `
      import { type OrderWasMade, writeEventOrderWasMade } from "./orval.ts";
      type Answer = Awaited<ReturnType<typeof writeEventOrderWasMade>>;
      export const made: Partial<OrderWasMade> = { line: { sku: "a" }, page: [1], named: true };
      // @ts-expect-error: it is of integers
      export const wrong: Partial<OrderWasMade> = { page: ["a"] };
      export function pathOf(answer: Answer): string | undefined {
        if (answer.status !== 422) return undefined;
        const refusal = answer.data;
        if (refusal.error_type === "schema_validation") return refusal.details[0]?.path;
        // @ts-expect-error: only that one has details
        return refusal.details;
      }`,
  },
];

/** The specs of the README and the guides are in the commands that deploy them. */
function specsOfGuides(): JsonObject[] {
  return ["README.md", ...markdownFiles("docs/guide")].flatMap((path) => {
    const text = readText(path);
    const starts = [...text.matchAll(/\{\s*"agent_types"/g)].map(({ index }) => index);
    return starts.map((start) => firstObject(text.slice(start)));
  });
}

function firstObject(text: string): JsonObject {
  for (let end = text.indexOf("}"); end !== -1; end = text.indexOf("}", end + 1)) {
    try {
      return JSON.parse(text.slice(0, end + 1));
    } catch {
      // The object is not closed yet.
    }
  }
  throw new Error(`a guide has a spec without an end: ${text.slice(0, 60)}`);
}

/** All types of all specs in one document, because each run of a generator takes seconds. */
function joined(specs: readonly JsonObject[]): JsonObject {
  const types = specs.flatMap((spec, index) =>
    Object.entries(spec.aggregate_types as JsonObject).map(([name, type]) => [
      `${name}${"_again".repeat(index)}`,
      type,
    ])
  );
  return { ...specs[0]!, aggregate_types: Object.fromEntries(types) };
}

function documentOf(spec: JsonObject): JsonObject {
  return openApiDocument(PATHS, { spec, spec_hash: "0".repeat(64), version: 1 });
}

async function generate({ package: name, args }: Generator, folder: string): Promise<void> {
  const { imports } = JSON.parse(await Deno.readTextFile(CONFIG));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", "--frozen", "--config", CONFIG.pathname, imports[name]]
      .concat(args),
    cwd: folder,
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
  }).output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.equal(code, 0, printed);
  assert.doesNotMatch(printed, /unhandled|INVALID_REFERENCE|can't resolve/i, printed);
}

/** What the compiler finds in these files and in everything that they import. */
function typeFaults(files: readonly string[]): string[] {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const place = file && start !== undefined
      ? `${file.fileName}:${file.getLineAndCharacterOfPosition(start).line + 1}: `
      : "";
    return place + ts.flattenDiagnosticMessageText(messageText, "\n");
  });
}

const DOCUMENTS: readonly (readonly [name: string, document: JsonObject, isUsed: boolean])[] = [
  ["of every keyword", documentOf(everyKeywordSpec), true],
  ["of the guides' specs", documentOf(joined(specsOfGuides())), false],
  ["without a spec", openApiDocument(PATHS), false],
];

for (const [name, document, isUsed] of DOCUMENTS) {
  Deno.test(`three generators make clients that compile of the document ${name}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/document.json`, JSON.stringify(document));
      await Promise.all(GENERATORS.map((generator) => generate(generator, folder)));
      const files = [`${folder}/openapi-typescript.ts`, `${folder}/orval.ts`];
      files.push(`${folder}/hey-api/index.ts`, `${folder}/hey-api/client.gen.ts`);
      for (const [index, { usage }] of GENERATORS.entries()) {
        if (!isUsed) continue;
        files.push(`${folder}/usage_${index}.ts`);
        await Deno.writeTextFile(files.at(-1)!, usage);
      }
      assert.deepEqual(typeFaults(files), []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

function keywordsIn(schema: unknown, found: Set<string>): Set<string> {
  if (Array.isArray(schema)) { for (const item of schema) keywordsIn(item, found); }
  else if (isJsonObject(schema as JsonObject)) {
    for (const [key, value] of Object.entries(schema as JsonObject)) {
      found.add(key);
      keywordsIn(value, found);
    }
  }
  return found;
}

Deno.test("the spec of every keyword has each keyword and format, and passes its deploy", () => {
  const found = keywordsIn(EVERY_KEYWORD, new Set());
  assert.deepEqual([...KEYWORDS.keys()].filter((keyword) => !found.has(keyword)), ["format"]);
  const text = JSON.stringify(everyKeywordSpec);
  for (const format of FORMAT_NAMES) assert.ok(text.includes(`{"format":"${format}"}`), format);
  const compiled = compileSpec(everyKeywordSpec);
  assert.ok(compiled.ok, JSON.stringify(compiled));
  assert.equal(specsOfGuides().length, 3);
});
