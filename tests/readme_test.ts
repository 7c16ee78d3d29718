/**
 * The README's first session and the pages that continue it, executed as printed: every `sh` block
 * of them in one shell, in order, against a real server; where a `json` or `csv` block follows, it
 * is the answer. `…` stands for any value.
 */

import assert from "node:assert/strict";
import { markdownFiles, readText, sectionOf } from "./documentation/markdown.ts";
import { startServer } from "./support/server_process.ts";
import { adapt, openShell, runStep, stepsOf } from "./support/shell_session.ts";

const README = readText("README.md");
const README_LINES_MAX = 200;
/** In their order, and how many steps each has at least. */
const GUIDES = [
  ["docs/guide/reactions.md", 12],
  ["docs/guide/projections.md", 5],
  ["docs/guide/history.md", 5],
  ["docs/tutorials/read-model.md", 7],
  ["docs/guide/move-in.md", 8],
] as const;

Deno.test("the README's session and the guides work as printed", async () => {
  const first = stepsOf(sectionOf(README, "## First session"));
  assert.ok(first.length >= 8, "the session deploys, writes, reads, lists, replays and conflicts");
  const guides = GUIDES.flatMap(([path, stepsMin]) => {
    const steps = stepsOf(readText(path));
    assert.ok(steps.length >= stepsMin, `the steps of ${path} are found`);
    return steps;
  });
  const server = await startServer();
  const shell = openShell();
  try {
    for (const step of [...first, ...guides]) {
      await runStep(shell, { ...step, command: adapt(step.command, server) });
    }
  } finally {
    await shell.close();
    await server.remove();
  }
});

Deno.test("every guide is executed, and says that it continues the first session", () => {
  const guides = GUIDES.map(([path]) => path).filter((path) => path.startsWith("docs/guide/"));
  assert.deepEqual(guides.toSorted(), markdownFiles("docs/guide"));
  for (const [path] of GUIDES) {
    const link = "continues the [first session](../../README.md#first-session)";
    assert.ok(readText(path).replaceAll("\n", " ").includes(link), path);
  }
});

Deno.test("the README names the two commands that need nothing but Node and npm", () => {
  const section = sectionOf(README, "## Run it");
  assert.ok(section.includes("npx --yes deno@2.9.6 task start"));
  assert.ok(section.includes("npx --yes deno@2.9.6 task test"));
});

Deno.test("the README is short", () => {
  assert.ok(README.trimEnd().split("\n").length <= README_LINES_MAX);
});
