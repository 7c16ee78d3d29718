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

export interface Shell {
  /** What the command prints, without space at either end; rejects when it ends the shell. */
  run(command: string): Promise<string>;
  close(): Promise<void>;
}

/** Printed after each command, on a line of its own. */
const SEPARATOR = "----- next step -----";

/** A `json` or `csv` block belongs to the `sh` block that stands right before it. */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  const blocks = fencedBlocks(markdown);
  for (const [index, { language, text }] of blocks.entries()) {
    const next = blocks[index + 1];
    if (language !== "sh") continue;
    const isAnswer = next?.language === "json" || next?.language === "csv";
    steps.push({ command: text, answer: isAnswer ? next.text : undefined });
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
  const shell = openShell();
  const printed: string[] = [];
  try {
    for (const command of commands) printed.push(await shell.run(command));
  } finally {
    await shell.close();
  }
  return printed;
}

/** A shell that keeps its variables between commands, and ends at the first one that fails. */
export function openShell(): Shell {
  const piped = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const child = new Deno.Command("bash", { args: ["-eu"], ...piped }).spawn();
  const input = child.stdin.getWriter();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const complaints = new Response(child.stderr).text();
  let printed = "";

  async function run(command: string): Promise<string> {
    // A command that reads its standard input must not get the commands after it.
    const script = `{ ${command}\n} < /dev/null\necho; echo '${SEPARATOR}'\n`;
    await input.write(new TextEncoder().encode(script)).catch(() => {});
    for (;;) {
      const end = printed.indexOf(`${SEPARATOR}\n`);
      if (end !== -1) {
        const answer = printed.slice(0, end).trim();
        printed = printed.slice(end + SEPARATOR.length + 1);
        return answer;
      }
      const { done, value } = await output.read();
      if (done) assert.fail(`${command}\n${printed}${await complaints}`);
      printed += value;
    }
  }

  async function close(): Promise<void> {
    await input.close().catch(() => {});
    await output.cancel();
    await Promise.all([child.status, complaints]);
  }

  return { run, close };
}
