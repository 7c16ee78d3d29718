/**
 * The README's first session, executed as printed: every `sh` block of it in one shell, in order,
 * against a real server; where a `json` block follows, it is the answer. `…` stands for any value.
 */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "./support/server_process.ts";

interface Step {
  readonly command: string;
  /** Undefined where the README shows no answer. */
  readonly answer?: string;
}

const README = await Deno.readTextFile(new URL("../README.md", import.meta.url));
const SEPARATOR = "----- next step -----";

function sectionOf(title: string): string {
  const begin = README.indexOf(`## ${title}\n`);
  assert.notEqual(begin, -1, `the README has a section "${title}"`);
  const end = README.indexOf("\n## ", begin);
  return README.slice(begin, end);
}

function stepsOf(section: string): Step[] {
  const steps: Step[] = [];
  for (const [, language, text] of section.matchAll(/^```(sh|json)\n([\s\S]*?)^```$/gm)) {
    if (language === "sh") steps.push({ command: text! });
    else steps.push({ ...steps.pop()!, answer: text!.trim() });
  }
  return steps;
}

/** Puts the test server's own addresses and data folder in the place of the printed ones. */
function adapt(command: string, { baseUrls, dataDir }: ServerProcess): string {
  return command
    .replaceAll("http://127.0.0.1:8000", baseUrls.production)
    .replaceAll("http://127.0.0.1:8001", baseUrls.staging)
    .replaceAll("http://127.0.0.1:8002", baseUrls.test)
    .replaceAll("./data/", `${dataDir}/`);
}

/** What each step printed, all run in one shell as a reader does. */
async function runInOneShell(commands: readonly string[]): Promise<string[]> {
  const script = ["set -eu", ...commands].join(`\necho; echo '${SEPARATOR}'\n`);
  const shell = new Deno.Command("bash", { args: ["-c", script], stdin: "null" });
  const { code, stdout, stderr } = await shell.output();
  const printed = new TextDecoder().decode(stdout);
  assert.equal(code, 0, printed + new TextDecoder().decode(stderr));
  return printed.split(`${SEPARATOR}\n`).slice(1).map((text) => text.trim());
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
      if (answer !== undefined) assert.match(printed[index]!, patternOf(answer));
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
