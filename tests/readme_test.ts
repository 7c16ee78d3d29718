/**
 * The README's sessions, executed as printed: every `sh` block of them in one shell, in order,
 * against a real server; where a `json` block follows, it is the answer. `…` stands for any value.
 */

import assert from "node:assert/strict";
import { startServer } from "./support/server_process.ts";
import { adapt, openShell, type Shell, type Step, stepsOf } from "./support/shell_session.ts";

const README = await Deno.readTextFile(new URL("../README.md", import.meta.url));

function sectionOf(title: string): string {
  const begin = README.indexOf(`## ${title}\n`);
  assert.notEqual(begin, -1, `the README has a section "${title}"`);
  const end = README.indexOf("\n## ", begin);
  return README.slice(begin, end);
}

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

Deno.test("the README's sessions work as printed", async () => {
  const first = stepsOf(sectionOf("First session"));
  const second = stepsOf(sectionOf("Second session: what follows from an event"));
  assert.ok(first.length >= 8, "the session deploys, writes, reads, lists, replays and conflicts");
  assert.ok(second.length >= 12, "the session shows implied, scheduled and awaited events");
  const third = stepsOf(sectionOf("Third session: tables"));
  assert.ok(third.length >= 5, "the session deploys a projection, reads, exports and queries it");
  const fourth = stepsOf(sectionOf("Fourth session: history from elsewhere"));
  assert.ok(fourth.length >= 5, "the session imports a file, reads what came of it, repeats it");
  const server = await startServer();
  const shell = openShell();
  try {
    for (const step of [...first, ...second, ...third, ...fourth]) {
      await runStep(shell, { ...step, command: adapt(step.command, server) });
    }
  } finally {
    await shell.close();
    await server.remove();
  }
});

Deno.test("the README names the two commands that need nothing but Node and npm", () => {
  assert.ok(sectionOf("Run it").includes("npx --yes deno@2.9.6 task start"));
  assert.ok(sectionOf("Test it").includes("npx --yes deno@2.9.6 task test"));
});

Deno.test("the README leads only to files that are there", async () => {
  for (const [, path] of README.matchAll(/\]\(([^)]+)\)/g)) {
    await Deno.stat(new URL(`../${path}`, import.meta.url));
  }
});
