/**
 * The README's first session and the guides that continue it, executed as printed: every `sh` block
 * of them in one shell, in order, against a real server; where a `json` or `csv` block follows, it
 * is the answer. `…` stands for any value.
 */

import assert from "node:assert/strict";
import { markdownFiles, readText, sectionOf } from "./documentation/markdown.ts";
import { startServer } from "./support/server_process.ts";
import { adapt, openShell, type Shell, type Step, stepsOf } from "./support/shell_session.ts";

const README = readText("README.md");
const README_LINES_MAX = 200;
/** In their order, and how many steps each has at least. */
const GUIDES = [
  ["docs/guide/reactions.md", 12],
  ["docs/guide/projections.md", 5],
  ["docs/guide/history.md", 5],
  ["docs/guide/feed.md", 7],
  ["docs/guide/move-in.md", 8],
] as const;

/** A pattern in which `…` is any number or text, and the rest is to the letter. */
function patternOf(answer: string): RegExp {
  const escaped = answer.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("…", '[^",}]+')}$`);
}

/** How long an event that follows from another may take on a busy machine. */
const FOLLOW_MS_MAX = 20_000;

/**
 * Runs the step as it is printed. What follows from an event is normally there at once, but nothing
 * promises that: a step that only reads is read again until the answer is the one that is shown.
 */
async function runStep(shell: Shell, { command, answer }: Step): Promise<void> {
  const isRead = !/ -d | -X /.test(command);
  const pattern = answer === undefined ? /^/ : patternOf(answer.trim());
  const refuses = /"ok":false/.test(answer ?? "");
  const untilMs = performance.now() + FOLLOW_MS_MAX;
  for (;;) {
    // A terminal shows no difference between the two ends of a line.
    const printed = (await shell.run(command)).replaceAll("\r\n", "\n");
    if (isRead && !pattern.test(printed) && performance.now() < untilMs) continue;
    assert.match(printed, pattern, command);
    if (!refuses) assert.doesNotMatch(printed, /"ok":false/, command);
    return;
  }
}

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
  assert.deepEqual(GUIDES.map(([path]) => path).toSorted(), markdownFiles("docs/guide"));
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
