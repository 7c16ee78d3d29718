/**
 * Starts a runner that never answers, prints its process id and waits. For tests of what
 * happens to the runner when this process is killed.
 */

import { limits } from "../../../src/domain/limits.ts";
import { denoCommand, startRunner } from "../../../src/runners/runner_process.ts";

const PROGRAM = new URL("./spinner.ts", import.meta.url);
const FOR_EVER_MS = 600_000;

const runner = await startRunner(
  denoCommand(PROGRAM, {
    engineFlags: ["--max-old-space-size=64"],
    memoryBytesMax: limits.sqlProcessBytesMax,
  }),
);
const message = { kind: "spin" };
await Promise.all([
  ...runner.ask([{ message, body: new Uint8Array(0), withinMs: FOR_EVER_MS }]),
  Deno.stdout.write(new TextEncoder().encode(`${runner.pid}\n`)),
]);
