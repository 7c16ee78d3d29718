/**
 * The README's first session, executed as printed: every `sh` block of it in one shell, in order,
 * against a real server; where a `json` block follows, it is the answer. `…` stands for any value.
 */

import assert from "node:assert/strict";
import { startServer } from "./support/server_process.ts";
import { adapt, runInOneShell, stepsOf } from "./support/shell_session.ts";

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

Deno.test("the README's first session works as printed", async () => {
  const steps = stepsOf(sectionOf("First session"));
  assert.ok(steps.length >= 8, "the session deploys, writes, reads, lists, replays and conflicts");
  const server = await startServer();
  try {
    const printed = await runInOneShell(steps.map(({ command }) => adapt(command, server)));
    for (const [index, { answer }] of steps.entries()) {
      assert.doesNotMatch(printed[index]!, /"ok":false/.test(answer ?? "") ? /^$/ : /"ok":false/);
      if (answer !== undefined) assert.match(printed[index]!, patternOf(answer.trim()));
    }
  } finally {
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
