/**
 * Runs the examples of src/http/README.md against a real server: every `sh` block in order, after
 * the deploy of the README's first session. Where a `json` block follows, the answer has its shape:
 * the same fields, in the same order, of the same types; lists as long.
 */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { fencedBlocks, readText, sectionOf } from "./markdown.ts";

interface Step {
  readonly command: string;
  /** Undefined where no answer is shown. */
  readonly answer?: string;
}

const SEPARATOR = "----- next step -----";

/** A `json` block belongs to the `sh` block that stands right before it. */
function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  const blocks = fencedBlocks(markdown);
  for (const [index, { language, text }] of blocks.entries()) {
    const next = blocks[index + 1];
    if (language !== "sh") continue;
    steps.push({ command: text, answer: next?.language === "json" ? next.text : undefined });
  }
  return steps;
}

/** Puts the test server's own addresses and data folder in the place of the printed ones. */
function adapt(command: string, { baseUrls, dataDir }: ServerProcess): string {
  return command
    .replaceAll("http://127.0.0.1:8002", baseUrls.test)
    .replaceAll("./data/", `${dataDir}/`);
}

/** What each command printed, all run in one shell as a reader does. */
async function runInOneShell(commands: readonly string[]): Promise<string[]> {
  const script = ["set -eu", ...commands].join(`\necho; echo '${SEPARATOR}'\n`);
  const shell = new Deno.Command("bash", { args: ["-c", script], stdin: "null" });
  const { code, stdout, stderr } = await shell.output();
  const printed = new TextDecoder().decode(stdout);
  assert.equal(code, 0, printed + new TextDecoder().decode(stderr));
  return printed.split(`${SEPARATOR}\n`).slice(1).map((text) => text.trim());
}

/** Fields in order, with the type of each scalar in the place of its value. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]);
}

Deno.test("the examples of the API reference work in the order in which they are printed", async () => {
  const session = stepsOf(sectionOf(readText("README.md"), "## First session")).slice(0, 2);
  assert.ok(session[1]?.command.includes("/spec"), "the first session begins with a deploy");
  const steps = stepsOf(readText("src/http/README.md"));
  assert.ok(steps.length >= 12, "the examples are found");
  const server = await startServer();
  try {
    const commands = [...session, ...steps].map(({ command }) => adapt(command, server));
    const printed = (await runInOneShell(commands)).slice(session.length);
    for (const [index, { command, answer }] of steps.entries()) {
      if (answer === undefined) continue;
      const got = JSON.parse(printed[index]!);
      assert.deepEqual(shapeOf(got), shapeOf(JSON.parse(answer)), `${command}\n${printed[index]}`);
    }
  } finally {
    await server.remove();
  }
});
