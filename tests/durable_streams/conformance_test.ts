/**
 * Pages, offsets, long polls and tails of streams, judged by the conformance tests of the protocol
 * Durable Streams, which others have written. They run as their users run them, against a real
 * server behind `adapter.ts`. `differences.json` lists what is left out or differs, each with its
 * reason. A difference that is not listed fails, and so does a listed one that no longer exists.
 */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { startAdapter } from "./adapter.ts";
import { spec } from "./envelope.ts";

const FOLDER = new URL("./", import.meta.url);
/** The origin from which one of the tests asks as a browser would. */
const ORIGIN = "https://example.com";
/** For a machine that does other work; without it, tests have five seconds. */
const TEST_MS_MAX = 30_000;
const RUN_MS_MAX = 300_000;
/** Some of the tests wait until a long poll has ended without data. */
const SHORT_WAIT_SECONDS = 2;
/** Longer than the 21 seconds that the tests give a long poll for which something comes. */
const LONG_WAIT_SECONDS = 30;

interface Difference {
  readonly why: string;
  /** Groups that are not run. */
  readonly groups?: readonly string[];
  /** Tests that fail, with their groups in front. */
  readonly tests?: readonly string[];
}

/** A test in Vitest's report. */
interface Result {
  readonly ancestorTitles: readonly [group: string, ...string[]];
  readonly title: string;
  readonly status: "passed" | "failed" | "skipped" | "pending" | "todo";
  readonly failureMessages?: readonly string[];
}

const differences: readonly Difference[] = JSON.parse(
  Deno.readTextFileSync(new URL("differences.json", FOLDER)),
);
const leftOut = new Set(differences.flatMap(({ groups = [] }) => groups));
const differing = new Set(differences.flatMap(({ tests = [] }) => tests));

function nameOf({ ancestorTitles, title }: Result): string {
  return [...ancestorTitles, title].join(" > ");
}

async function deploySpec({ baseUrls, credentials }: ServerProcess): Promise<void> {
  const { instance_id, operator_token } = credentials;
  const response = await fetch(`${baseUrls.test}/api/instances/${instance_id}/spec`, {
    method: "POST",
    headers: { authorization: `Bearer ${operator_token}`, "content-type": "application/json" },
    body: JSON.stringify({ environment: "test", spec }),
  });
  assert.equal(response.status, 200, await response.text());
}

/** A folder in which the packages and the tests are found. */
async function writeSuite(folder: string): Promise<void> {
  for (const file of ["deno.json", "deno.lock"]) {
    await Deno.copyFile(new URL(file, FOLDER), `${folder}/${file}`);
  }
  await Deno.writeTextFile(
    `${folder}/conformance.test.js`,
    `import { runConformanceTests } from "@durable-streams/server-conformance-tests";
     runConformanceTests({ baseUrl: process.env.ADAPTER });`,
  );
}

/** Runs the tests whose names, with their groups in front, match the pattern. */
async function runTests(url: string, folder: string, pattern: string): Promise<Result[]> {
  const { imports } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  const file = `${folder}/report.json`;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", "--frozen", "--node-modules-dir=auto", imports.vitest]
      .concat("run", "--reporter=json", `--outputFile=${file}`)
      .concat(`--testTimeout=${TEST_MS_MAX}`, `--testNamePattern=${pattern}`),
    cwd: folder,
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1", ADAPTER: url },
    signal: AbortSignal.timeout(RUN_MS_MAX),
  }).output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  const report = await Deno.readTextFile(file).catch(() => assert.fail(printed));
  await Deno.remove(file);
  const { testResults } = JSON.parse(report);
  assert.equal(testResults.length, 1, printed);
  return testResults[0].assertionResults;
}

type Run = (waitSeconds: number, pattern: string) => Promise<Result[]>;

async function withDaybook(body: (run: Run) => Promise<void>): Promise<void> {
  const server = await startServer({ env: { DAYBOOK_CORS_ORIGINS: ORIGIN } });
  const folder = await Deno.makeTempDir({ prefix: "daybook_conformance_" });
  try {
    await deploySpec(server);
    await writeSuite(folder);
    const { test: url } = server.baseUrls;
    const { write: key } = server.credentials.keys.test;
    await body(async (waitSeconds, pattern) => {
      const adapter = startAdapter({ url, key, waitSeconds });
      try {
        return await runTests(adapter.url, folder, pattern);
      } finally {
        await adapter.stop();
      }
    });
  } finally {
    await server.stop();
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
}

function wasRun({ status }: Result): boolean {
  return status === "passed" || status === "failed";
}

async function checkAll(t: Deno.TestContext, results: readonly Result[]): Promise<void> {
  const groups = Map.groupBy(results, ({ ancestorTitles: [group] }) => group);
  for (const [group, tests] of groups) {
    if (leftOut.has(group)) continue;
    await t.step(group, () => {
      const other = tests.filter(({ status }) => status !== "passed");
      const unlisted = other.filter((test) => !differing.has(nameOf(test)));
      assert.deepEqual(unlisted.map((test) => [nameOf(test), test.failureMessages]), []);
    });
  }
  await t.step("each listed group is there, and was left out", () => {
    const isLeftOut = (group: string) => groups.get(group)?.some(wasRun) === false;
    assert.deepEqual([...leftOut].filter((group) => !isLeftOut(group)), []);
  });
  await t.step("each listed test is there, and fails", () => {
    const failed = results.filter(({ status }) => status === "failed").map(nameOf);
    assert.deepEqual([...differing].filter((name) => !failed.includes(name)), []);
  });
}

Deno.test("streams pass the conformance tests of Durable Streams, but for what is listed", async (t) => {
  await withDaybook(async (run) => {
    const unwanted = [...leftOut].map((group) => RegExp.escape(group)).join("|");
    await checkAll(t, await run(SHORT_WAIT_SECONDS, `^(?!(?:${unwanted}) )`));
    await t.step(
      "a long poll answers when something comes, not when its wait is over",
      async () => {
        const results = await run(LONG_WAIT_SECONDS, "^Long-Poll Operations ");
        const ran = results.filter(wasRun);
        assert.deepEqual(ran.map(({ status }) => status), ["passed", "passed"]);
      },
    );
  });
});
