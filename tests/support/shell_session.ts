/** Runs the commands printed in a document as a reader runs them: in one shell, in order. */

import assert from "node:assert/strict";
import { fencedBlocks } from "../documentation/markdown.ts";
import type { ServerProcess } from "./server_process.ts";

/** A command of a document, and what the document says it prints. */
export interface Step {
  readonly command: string;
  /** Undefined if the document shows no answer. */
  readonly answer?: string;
}

export interface Shell {
  /** Returns what the command prints, trimmed; rejects if the command ends the shell. */
  run(command: string): Promise<string>;
  close(): Promise<void>;
}

/** How long an event that follows from another may take on a busy machine. */
const FOLLOW_MS_MAX = 20_000;
/** What shows that a command writes, so that it is not run twice. */
const WRITES = / -d | -X |\b(write|deploy|backup|keys) /;

/** Printed after each command, on its own line. */
const SEPARATOR = "----- next step -----";

/** A `json` or `csv` block, or one of another `answers`, belongs to the `sh` block before it. */
export function stepsOf(markdown: string, answers = ["json", "csv"]): Step[] {
  const steps: Step[] = [];
  const blocks = fencedBlocks(markdown);
  for (const [index, { language, text }] of blocks.entries()) {
    const next = blocks[index + 1];
    if (language !== "sh") continue;
    const isAnswer = next !== undefined && answers.includes(next.language);
    steps.push({ command: text, answer: isAnswer ? next.text : undefined });
  }
  return steps;
}

/** Replaces the printed addresses and data folder by the test server's own. */
export function adapt(command: string, { baseUrls, dataDir }: ServerProcess): string {
  return command
    .replaceAll("http://127.0.0.1:8000", baseUrls.production)
    .replaceAll("http://127.0.0.1:8001", baseUrls.staging)
    .replaceAll("http://127.0.0.1:8002", baseUrls.test)
    .replaceAll("./data/", `${dataDir}/`);
}

/** A pattern in which `…` is any number or text, and the rest is to the letter. */
function patternOf(answer: string): RegExp {
  const escaped = answer.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("…", '[^",}]+')}$`);
}

/**
 * Runs the step as it is printed. What follows from an event is normally there at once, but nothing
 * promises that: a step that only reads is read again until the answer is the one that is shown.
 */
export async function runStep(shell: Shell, { command, answer }: Step): Promise<void> {
  const isRead = !WRITES.test(command);
  const pattern = answer === undefined ? /^/ : patternOf(answer.trim());
  const refuses = /"ok":false/.test(answer ?? "");
  const untilMs = performance.now() + FOLLOW_MS_MAX;
  for (;;) {
    // A terminal shows no difference between the two ends of a line.
    const printed = (await shell.run(command)).replaceAll("\r\n", "\n");
    if (isRead && !pattern.test(printed) && performance.now() < untilMs) continue;
    assert.match(printed, pattern, `${command}\nprinted:\n${printed}`);
    if (!refuses) assert.doesNotMatch(printed, /"ok":false/, command);
    return;
  }
}

/** Runs all commands in one shell, as a reader does; returns what each printed. */
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

/** Opens a shell that keeps its variables between commands and ends at the first failure. */
export function openShell(): Shell {
  const piped = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const child = new Deno.Command("bash", { args: ["-eu"], ...piped }).spawn();
  const input = child.stdin.getWriter();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const complaints = new Response(child.stderr).text();
  let printed = "";

  async function run(command: string): Promise<string> {
    // A command that reads its standard input must not swallow the commands after it.
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
