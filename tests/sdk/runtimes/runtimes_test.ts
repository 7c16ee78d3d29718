/**
 * The package on the runtimes of users: installed from what `npm pack` makes, it passes the
 * portable suite on Node, Bun and Chromium, type-checks under each way of resolving modules, and is
 * bundled by esbuild and vite. Deno runs the same suite on the sources.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import ts from "typescript";
import { threeFreePorts } from "../../../sdk/src/test/free_ports.ts";
import { startDaybook } from "../../../sdk/src/test/mod.ts";
import { exampleSpec } from "../../support/example_spec.ts";
import { runSuite, type SuiteResult } from "../portable/suite.ts";
import { suiteInput } from "../portable/suite_input.ts";
import {
  findCommand,
  isFile,
  missingForProject,
  openProject,
  type Project,
} from "./installed_package.ts";
import { visitPage } from "./visit_page.ts";

const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];
const missing = await missingForProject();
if (missing !== undefined) console.log(`SKIPPED: the package on other runtimes: ${missing}`);
const chromium = findCommand(BROWSERS);
if (chromium === undefined) {
  console.log(`SKIPPED: the package in a browser: none of ${BROWSERS.join(", ")} is on the PATH`);
}

const pagePort = await threeFreePorts();
const daybook = await startDaybook({
  spec: exampleSpec,
  env: { DAYBOOK_CORS_ORIGINS: `http://localhost:${pagePort}` },
});
Deno.test.afterAll(() => daybook.stop());
let opened: Promise<Project> | undefined;
Deno.test.afterAll(async () => await (await opened)?.[Symbol.asyncDispose]());

/** One project for all tests. */
async function project(): Promise<Project> {
  return await (opened ??= openProject());
}

const SUITE = new URL("../portable/suite.ts", import.meta.url);

/** The suite as the JavaScript that a user would have written. */
async function suiteScript(): Promise<string> {
  const { outputText } = ts.transpileModule(await Deno.readTextFile(SUITE), {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  return outputText;
}

const RUN_SUITE = `
import { readFileSync } from "node:fs";
import { runSuite } from "./suite.mjs";
const input = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(await runSuite(input)));
`;

function needPassed({ passed, failed }: SuiteResult, count: number): void {
  assert.deepEqual(failed, []);
  assert.equal(passed.length, count);
}

const own = await runSuite(suiteInput(daybook, "0"));
Deno.test("the portable suite passes on Deno, on the sources", () => {
  assert.deepEqual(own.failed, []);
  assert.ok(own.passed.length >= 14);
});

/** The program itself: what starts it elsewhere is made by a script, and none are run. */
function findBun(folder: string): string | undefined {
  const builds = join(folder, "node_modules", "@oven");
  try {
    return [...Deno.readDirSync(builds)].map(({ name }) => join(builds, name, "bin", "bun"))
      .find(isFile);
  } catch {
    return undefined;
  }
}

async function runOn(command: string, run: string): Promise<SuiteResult> {
  const { write, run: execute } = await project();
  await write("suite.mjs", await suiteScript());
  await write("run_suite.mjs", RUN_SUITE);
  await write(`input_${run}.json`, JSON.stringify(suiteInput(daybook, run)));
  return JSON.parse(await execute(command, ["run_suite.mjs", `input_${run}.json`]));
}

Deno.test({
  name: "the portable suite passes on Node, on the installed package",
  ignore: missing !== undefined,
  fn: async () => needPassed(await runOn("node", "1"), own.passed.length),
});

Deno.test({
  name: "the portable suite passes on Bun, on the installed package",
  ignore: missing !== undefined,
  async fn() {
    const bun = findBun((await project()).folder) ?? findCommand(["bun"]);
    if (bun === undefined) return console.log("SKIPPED: Bun: npm has none for this machine");
    needPassed(await runOn(bun, "2"), own.passed.length);
  },
});

Deno.test({
  name: "the portable suite passes in Chromium, on the installed package",
  ignore: missing !== undefined || chromium === undefined,
  async fn() {
    const { folder, write, run } = await project();
    await write("suite.mjs", await suiteScript());
    await write(
      "page.mjs",
      'import { runSuite } from "./suite.mjs";\nglobalThis.runSuite = runSuite;',
    );
    await run("npx", ["esbuild", "page.mjs", "--bundle", "--format=esm", "--outfile=page.js"]);
    const script = await Deno.readTextFile(join(folder, "page.js"));
    const result = await visitPage<SuiteResult>(chromium!, {
      port: pagePort,
      script: `${script}\nconst result = await runSuite(${
        JSON.stringify(suiteInput(daybook, "3"))
      });`,
    });
    needPassed(result, own.passed.length);
  },
});

const CONSUMER = `
import { createClient, DaybookError, type Refusal } from "@daybook/client";
import { createAdmin } from "@daybook/client/admin";
import { testSpec, startDaybook, ScenarioError } from "@daybook/client/test";
import { verifyBundle, verifyReceipt } from "@daybook/client/verify";
import { verifyWebhook } from "@daybook/client/webhooks";

interface Shop {
  readonly aggregates: {
    readonly order: {
      readonly state: { readonly total?: number };
      readonly events: { readonly was_placed: { readonly total: number } };
    };
  };
  readonly actors: "user";
  readonly targets: never;
}

const db = createClient<Shop>({ url: "http://127.0.0.1:8002", key: "k", actor: { type: "user", id: "global" } });
export async function place(total: number): Promise<string | Refusal> {
  const written = await db.order("7KD2M9QXA").was_placed({ total });
  return written.ok ? written.stream_id : written;
}
// @ts-expect-error the type of an event's data is known
export const wrong = () => db.order("7KD2M9QXA").was_placed({ total: "five" });
// @ts-expect-error so are the names of events
export const unknown = () => db.order("7KD2M9QXA").was_plced({ total: 5 });
export async function hook(request: Request): Promise<number> {
  const verdict = await verifyWebhook<Shop>(request, { secret: "a secret of 16 or more" });
  return verdict.ok ? verdict.delivery.event.data.total : 0;
}
// @ts-expect-error the key must be given
export const unpinned = () => verifyBundle("{}", {});
export const pinned = [verifyBundle("{}", { publicKey: "k" }).ok, verifyReceipt("{}", { publicKey: "k" }).ok];
export const admin = createAdmin({ url: "http://127.0.0.1:8002", token: "t" });
const { order } = testSpec<Shop>({ agent_types: ["user"], aggregate_types: { order: { events: {} } } });
order.given([]).thenState({});
export { DaybookError, ScenarioError, startDaybook };
`;

for (const resolution of ["node16", "nodenext", "bundler"] as const) {
  Deno.test({
    name: `a strict project type-checks with moduleResolution ${resolution}`,
    ignore: missing !== undefined,
    async fn() {
      const { write, run } = await project();
      await write(`consumer_${resolution}.ts`, CONSUMER);
      const compilerOptions = {
        strict: true,
        noEmit: true,
        exactOptionalPropertyTypes: true,
        target: "es2022",
        // A project of Node has no types of browsers, and one of browsers none of Node.
        ...(resolution === "node16"
          ? { lib: ["es2023"], types: ["node"] }
          : { lib: ["es2023", "dom", "dom.iterable"], types: [] }),
        skipDefaultLibCheck: true,
        module: resolution === "bundler" ? "esnext" : resolution,
        moduleResolution: resolution,
      };
      const config = { compilerOptions, files: [`consumer_${resolution}.ts`] };
      await write(`tsconfig_${resolution}.json`, JSON.stringify(config));
      await run("npx", ["tsc", "--project", `tsconfig_${resolution}.json`]);
    },
  });
}

const APP = `
import { createClient } from "@daybook/client";
const db = createClient({ url: "http://127.0.0.1:8002", key: "k" });
globalThis.answer = typeof db.order("7KD2M9QXA").get;
`;

Deno.test({
  name: "esbuild and vite bundle an app, which runs, and leave out what it does not use",
  ignore: missing !== undefined,
  async fn() {
    const { folder, write, run } = await project();
    await write("app/main.js", APP);
    await write("app/index.html", '<!doctype html><script type="module" src="/main.js"></script>');
    await run("npx", [
      "esbuild",
      "app/main.js",
      "--bundle",
      "--format=esm",
      "--outfile=app/esbuild.mjs",
    ]);
    const plain = { build: { modulePreload: { polyfill: false } } };
    await write("app/vite.config.mjs", `export default ${JSON.stringify(plain)};`);
    await run("npx", ["vite", "build", "app", "--logLevel=error"]);
    const assets = join(folder, "app", "dist", "assets");
    const [{ name }] = [...Deno.readDirSync(assets)] as [Deno.DirEntry];
    for (const path of [join(folder, "app", "esbuild.mjs"), join(assets, name)]) {
      const print = `await import(${JSON.stringify(path)}); console.log(globalThis.answer);`;
      assert.equal(
        (await run("node", ["--input-type=module", "--eval", print])).trim(),
        "function",
      );
      assert.doesNotMatch(await Deno.readTextFile(path), /ed25519|verifyBundle|small order/);
    }
  },
});

Deno.test({
  name: "Node runs scenarios and starts a server for tests with the installed package",
  ignore: missing !== undefined,
  async fn() {
    const { write, run } = await project();
    await write(
      "tests.mjs",
      `
import { createClient } from "@daybook/client";
import { startDaybook, testSpec } from "@daybook/client/test";
const handler = { set: { target: "", value: "$.data" } };
const spec = { agent_types: ["user"], aggregate_types: { order: { events: { was_placed: { schema: true, handler } } } } };
testSpec(spec).order.given([{ type: "was_placed", data: { total: 5 } }]).thenState({ total: 5 });
const daybook = await startDaybook({ spec });
const { url, key } = daybook;
const db = createClient({ url, key, actor: { type: "user", id: "global" } });
await db.order("7KD2M9QXA").was_placed({ total: 5 }).orThrow();
const { data } = await db.order("7KD2M9QXA").get().orThrow();
await daybook.stop();
console.log(data.total);
`,
    );
    const main = new URL("../../../main.ts", import.meta.url).pathname;
    const env = { DAYBOOK_MAIN: main, DENO: Deno.execPath() };
    assert.equal((await run("node", ["tests.mjs"], env)).trim(), "5");
  },
});
