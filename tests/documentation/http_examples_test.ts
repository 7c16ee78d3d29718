/**
 * Runs the examples of docs/errors/, docs/how-to/ and docs/reference/ against real servers, after
 * the deploy of the README's first session: every `sh` block, those of the reference page by page
 * in the order of the index. Those of errors are answered as printed, where `…` stands for any
 * text. Elsewhere the answer has the shape of the `json` block that follows: the same fields, in
 * the same order, of the same types; lists as long.
 */

import assert from "node:assert/strict";
import { startServer } from "../support/server_process.ts";
import { adapt, runInOneShell, type Step, stepsOf } from "../support/shell_session.ts";
import { markdownFiles, readText, sectionOf } from "./markdown.ts";

/** Fields in order, with the type of each scalar in the place of its value. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]);
}

/** What readers have run before: the keys, the deploy of the first session, and the addresses. */
function beginning(): Step[] {
  const session = stepsOf(sectionOf(readText("README.md"), "## First session")).slice(0, 2);
  assert.ok(session[1]?.command.includes("/spec"), "the first session begins with a deploy");
  return [...session, stepsOf(readText("docs/reference/basics.md"))[0]!];
}

/** `…` in a printed text stands for any other. */
function fits(got: unknown, printed: unknown): boolean {
  if (typeof printed === "string" && typeof got === "string") {
    const parts = printed.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`, "s").test(got);
  }
  if (typeof printed !== "object" || printed === null) return got === printed;
  if (typeof got !== "object" || got === null) return false;
  const [mine, theirs] = [Object.entries(got), Object.entries(printed)];
  return mine.length === theirs.length &&
    theirs.every(([key, value], index) => mine[index]![0] === key && fits(mine[index]![1], value));
}

Deno.test("the examples of errors are answered as their pages print them", async () => {
  const steps = markdownFiles("docs/errors").flatMap((path) =>
    stepsOf(readText(path)).map((step) => ({ ...step, path }))
  );
  assert.ok(steps.length >= 20, `the examples are found: ${steps.length}`);
  const before = beginning();
  const server = await startServer();
  try {
    const commands = [...before, ...steps].map(({ command }) => adapt(command, server));
    const printed = (await runInOneShell(commands)).slice(before.length);
    for (const [index, { path, answer }] of steps.entries()) {
      const about = `${path}: ${printed[index]}`;
      assert.ok(fits(JSON.parse(printed[index]!), JSON.parse(answer!)), about);
    }
  } finally {
    await server.remove();
  }
});

/** As a reader who has tried other specs in the test environment: by force. */
function redeployed(deploy: string): string {
  return deploy.replace('"spec": {', '"environment": "test", "force": true, "spec": {');
}

Deno.test("the examples of the how-tos work, each page after the first session's deploy", async () => {
  const pages = markdownFiles("docs/how-to").map((path) => ({
    path,
    steps: stepsOf(readText(path)),
  }));
  assert.ok(pages.length >= 25, `the pages are found: ${pages.length}`);
  const before = beginning();
  const server = await startServer();
  try {
    const steps = pages.flatMap(({ path, steps }) => [
      { path, command: redeployed(before[1]!.command), answer: undefined },
      ...steps.map((step) => ({ ...step, path })),
    ]);
    const commands = [...before, ...steps].map(({ command }) => adapt(command, server));
    const printed = (await runInOneShell(commands)).slice(before.length);
    for (const [index, { path, command, answer }] of steps.entries()) {
      if (answer === undefined) continue;
      const about = `${path}: ${command}\n${printed[index]}`;
      if (!answer.startsWith("{")) assert.equal(printed[index], answer.trim(), about);
      else {
        assert.deepEqual(shapeOf(JSON.parse(printed[index]!)), shapeOf(JSON.parse(answer)), about);
      }
    }
  } finally {
    await server.remove();
  }
});

/** In the order in which the index lists them. */
function pagesOfReference(): string[] {
  const index = sectionOf(readText("docs/README.md"), "## Reference");
  return [...index.matchAll(/^\| \[[^\]]+\]\((reference\/[a-z-]+\.md)\)/gm)]
    .map(([, path]) => `docs/${path}`);
}

Deno.test("the index lists every page of the reference once", () => {
  assert.deepEqual(pagesOfReference().toSorted(), markdownFiles("docs/reference"));
});

Deno.test("the examples of the reference work in the order in which they are printed", async () => {
  const session = stepsOf(sectionOf(readText("README.md"), "## First session")).slice(0, 2);
  assert.ok(session[1]?.command.includes("/spec"), "the first session begins with a deploy");
  const steps = pagesOfReference().flatMap((path) =>
    stepsOf(readText(path)).map((step) => ({ ...step, path }))
  );
  assert.ok(steps.length >= 30, `the examples are found: ${steps.length}`);
  const server = await startServer();
  try {
    const commands = [...session, ...steps].map(({ command }) => adapt(command, server));
    const printed = (await runInOneShell(commands)).slice(session.length);
    for (const [index, { path, command, answer }] of steps.entries()) {
      if (answer === undefined) continue;
      const got = JSON.parse(printed[index]!);
      const about = `${path}: ${command}\n${printed[index]}`;
      assert.deepEqual(shapeOf(got), shapeOf(JSON.parse(answer)), about);
    }
  } finally {
    await server.remove();
  }
});
