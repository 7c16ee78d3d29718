/** Commands printed in a document, run as a reader runs them: all in one shell, in order. */

import assert from "node:assert/strict";
import { fencedBlocks } from "../documentation/markdown.ts";
import type { ServerProcess } from "./server_process.ts";

/** A command of a document, and what the document says it prints. */
export interface Step {
  readonly command: string;
  /** Undefined where no answer is shown. */
  readonly answer?: string;
}

const SEPARATOR = "----- next step -----";

/** A `json` block belongs to the `sh` block that stands right before it. */
export function stepsOf(markdown: string): Step[] {
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
export function adapt(command: string, { baseUrls, dataDir }: ServerProcess): string {
  return command
    .replaceAll("http://127.0.0.1:8000", baseUrls.production)
    .replaceAll("http://127.0.0.1:8001", baseUrls.staging)
    .replaceAll("http://127.0.0.1:8002", baseUrls.test)
    .replaceAll("./data/", `${dataDir}/`);
}

/** What each command printed, all run in one shell as a reader does. */
export async function runInOneShell(commands: readonly string[]): Promise<string[]> {
  const script = ["set -eu", ...commands].join(`\necho; echo '${SEPARATOR}'\n`);
  const shell = new Deno.Command("bash", { args: ["-c", script], stdin: "null" });
  const { code, stdout, stderr } = await shell.output();
  const printed = new TextDecoder().decode(stdout);
  assert.equal(code, 0, printed + new TextDecoder().decode(stderr));
  return printed.split(`${SEPARATOR}\n`).slice(1).map((text) => text.trim());
}
