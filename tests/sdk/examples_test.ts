/**
 * Every public name of the package has a comment with an example. All examples, and those of
 * docs/sdk, type-check, and run beside a real server. They may import the client that is the
 * first example of docs/sdk/client.md, and the types of the server's spec.
 */

import assert from "node:assert/strict";
import { createAdmin } from "@daybook/client/admin";
import { createClient } from "@daybook/client";
import { type RunningDaybook, startDaybook } from "../../sdk/src/test/mod.ts";
import { markdownFiles, readText } from "../documentation/markdown.ts";
import { exampleSpec } from "../support/example_spec.ts";
import { ACTOR, type Shop } from "./shop_server.ts";
import { examplesIn, type PublicSymbol, publicSymbols } from "./public_symbols.ts";

const ROOT = new URL("../../", import.meta.url);
const { exports } = JSON.parse(await Deno.readTextFile(new URL("sdk/deno.json", ROOT)));
const entries = Object.values<string>(exports).map((path) => path.split("/").at(-2)!);
const symbols: readonly PublicSymbol[] = entries.flatMap((entry) => publicSymbols(entry));

Deno.test("each entry point has public names, and each of these a comment", () => {
  for (const entry of entries) assert.ok(symbols.some((one) => one.entry === entry), entry);
  const bare = symbols.filter(({ comment }) => comment === "");
  assert.deepEqual(bare.map(({ entry, name }) => `${entry}: ${name}`), []);
});

Deno.test("each public name has an example in its comment", () => {
  const bare = symbols.filter(({ examples }) => examples.length === 0);
  assert.deepEqual(bare.map(({ entry, name }) => `${entry}: ${name}`), []);
});

interface Example {
  readonly place: string;
  readonly code: string;
}

const examples: readonly Example[] = [
  ...symbols.flatMap(({ entry, name, examples }) =>
    examples.map((code, at) => ({ place: `${entry}_${name}_${at}`, code }))
  ),
  ...["sdk/README.md", ...markdownFiles("docs/sdk")].flatMap((path) =>
    examplesIn(readText(path)).map((code, at) => ({
      place: `${path.replaceAll(/[/.]/g, "_")}_${at}`,
      code,
    }))
  ),
];

const folder = await Deno.makeTempDir({ prefix: "daybook_examples_" });
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** A project with no more options than `strict`, as most users have it. */
async function writeConfig(): Promise<void> {
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const own = Object.entries<string>(exports).map(([subpath, path]) => [
    `@daybook/client${subpath.slice(1)}`,
    new URL(`sdk/${path}`, ROOT).href,
  ]);
  const config = {
    imports: { ...imports, ...Object.fromEntries(own) },
    compilerOptions: { strict: true },
    unstable: ["no-legacy-abort"],
  };
  await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(config));
  await Deno.copyFile(new URL("deno.lock", ROOT), `${folder}/deno.lock`);
}

/** Writes each example as a module of its own; `change` puts the server's address into it. */
async function writeExamples(change: (code: string) => string = (code) => code): Promise<string[]> {
  await writeConfig();
  const files = examples.map(({ place }) => `${folder}/${place}.ts`);
  const shop = new URL("tests/sdk/shop_server.ts", ROOT).href;
  await Deno.writeTextFile(`${folder}/shop.ts`, `export type * from "${shop}";\n`);
  const [db] = examplesIn(readText("docs/sdk/client.md"));
  await Deno.writeTextFile(`${folder}/db.ts`, change(db!));
  for (const [at, { code }] of examples.entries()) {
    await Deno.writeTextFile(files[at]!, `${change(code)}\nexport {};\n`);
  }
  return files;
}

async function deno(args: readonly string[]): Promise<{ success: boolean; output: string }> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { success, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

Deno.test(`the ${examples.length} examples type-check`, async () => {
  assert.ok(examples.length > 60);
  const files = await writeExamples();
  const { success, output } = await deno(["check", ...files]);
  assert.ok(success, output);
});

/** Imports one file after the other; none of them may throw or hang. */
const RUNNER = `
const failed: string[] = [];
for (const file of Deno.args) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("it hangs")), 60_000));
  try {
    await Promise.race([import("file://" + file), late]);
  } catch (error) {
    failed.push(file + ": " + (error as Error).stack);
  }
}
console.log(failed.join("\\n"));
Deno.exit(failed.length === 0 ? 0 : 1);
`;

Deno.test(`the ${examples.length} examples run`, async () => {
  await using daybook = await startDaybook({ spec: exampleSpec });
  await fill(daybook);
  const files = await writeExamples((code) =>
    code.replaceAll("http://127.0.0.1:8002", daybook.url).replaceAll("dbk_0_test_...", daybook.key)
  );
  await Deno.writeTextFile(`${folder}/run_examples.ts`, RUNNER);
  const runner = ["run", "-A", "--no-check", `${folder}/run_examples.ts`];
  const { success, output } = await deno([...runner, ...files]);
  assert.ok(success, output);
});

const TOTALS = {
  name: "order_totals",
  for_each: "order",
  sources: { order: "$key" },
  select: {
    customer: "$.order.customer",
    total: { path: "$.order.total", type: "number" },
  },
};

/** Events and a projection, for what the examples read and wait for. */
async function fill({ url, key, token, instanceId }: RunningDaybook): Promise<void> {
  const admin = createAdmin({ url, token, instanceId });
  await admin.projections.deploy(TOTALS).orThrow();
  const db = createClient<Shop>({ url, key, actor: ACTOR });
  await db.order("main").batch([
    { type: "was_placed", data: { customer: "Ada", total: 12.5 } },
    { type: "was_paid", data: { amount: 12.5 } },
  ]).orThrow();
  await db.inventory("main").was_stocked({ by: 5 }).orThrow();
  await db.customer("main").was_registered({ name: "Ada" }).orThrow();
  // It is built in the background.
  for (;;) {
    const found = await db.$sql("SELECT 1 FROM order_totals");
    if (found.ok) return;
    assert.equal(found.error_type, "sql_not_allowed", found.error);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
