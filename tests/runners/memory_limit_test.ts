/**
 * The operating system limits a runner's memory: 300 MiB in all, whatever allocates it. The
 * system reports how much a process used at most.
 */

import assert from "node:assert/strict";
import { limits } from "../../src/domain/limits.ts";
import { canLimitMemory, LIMITER_PATH, limitMemory } from "../../src/runners/memory_limit.ts";
import {
  type AnswerMessage,
  denoCommand,
  RunnerGoneError,
  type RunnerProcess,
  startRunner,
} from "../../src/runners/runner_process.ts";

const PROMISED_MEGABYTES = 300;
const WITHIN_MS = 60_000;
const LOOK_MS = 2;
const PROGRAM = new URL("../support/runners/memory_hog.ts", import.meta.url);
/** An engine that would take all it can get: only the system limits it. */
const COMMAND = denoCommand(PROGRAM, {
  engineFlags: ["--max-old-space-size=8192"],
  memoryBytesMax: limits.sqlProcessBytesMax,
});

type Hog = RunnerProcess<{ kind: string }, AnswerMessage>;

const options = { ignore: !canLimitMemory() };

async function withHog(test: (hog: Hog) => Promise<void>): Promise<void> {
  const hog = await startRunner<{ kind: string }, AnswerMessage>(COMMAND);
  try {
    await test(hog);
  } finally {
    hog.kill();
    await hog.ended;
  }
}

async function take(hog: Hog, kind: string): Promise<string> {
  const question = { message: { kind }, body: new Uint8Array(0), withinMs: WITHIN_MS };
  return (await hog.ask([question])[0]!).message.kind;
}

/** The peak memory of the process; undefined once it has ended. */
function peakMegabytes(hog: Hog): number | undefined {
  try {
    const status = Deno.readTextFileSync(`/proc/${hog.pid}/status`);
    const peak = /VmHWM:\s+(\d+)/.exec(status)?.[1];
    return peak === undefined ? undefined : Number(peak) / 1024;
  } catch {
    return undefined;
  }
}

/** How it ended, and its peak memory. */
async function exhaust(hog: Hog, kind: string): Promise<{ end: string; peak: number }> {
  let peak = 0;
  const look = setInterval(() => peak = Math.max(peak, peakMegabytes(hog) ?? 0), LOOK_MS);
  try {
    return { end: await take(hog, kind), peak: Math.max(peak, peakMegabytes(hog) ?? 0) };
  } catch (error) {
    assert(error instanceof RunnerGoneError && error.why === "lost");
    return { end: "gone", peak };
  } finally {
    clearInterval(look);
  }
}

/** At the limit any allocation may be the one that fails; the engine dies at one of its own. */
const ENDS = [["buffers", /no_memory|gone/], ["sqlite", /no_memory|gone/], [
  "engine",
  /gone/,
]] as const;

for (const [kind, ends] of ENDS) {
  Deno.test(`a runner gets no more memory for its ${kind} than the limit`, options, async () => {
    await withHog(async (hog) => {
      const { end, peak } = await exhaust(hog, kind);
      assert.match(end, ends);
      assert(peak > 150 && peak <= PROMISED_MEGABYTES, `${peak} MiB`);
    });
  });
}

Deno.test("the process that is killed is the runner itself", options, async () => {
  await withHog((hog) => {
    const name = Deno.readTextFileSync(`/proc/${hog.pid}/comm`).trim();
    assert.match(name, /^deno/);
    return Promise.resolve();
  });
});

Deno.test(
  "a limited command leaves no core file, which would hold what users sent",
  options,
  () => {
    const limited = limitMemory({ path: "/bin/true", args: ["a"], env: { B: "c" } }, 1);
    assert.equal(limited.path, LIMITER_PATH);
    assert.deepEqual(limited.env, { B: "c" });
    assert(limited.args.includes("--core=0"));
    assert.deepEqual(limited.args.slice(-2), ["/bin/true", "a"]);
  },
);

const PARENT = new URL("../support/runners/runner_parent.ts", import.meta.url);

/** Whether the process exists; one that has ended and was not reaped counts as gone. */
function isThere(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}

Deno.test(
  "a runner that is busy ends with a parent that is killed",
  options,
  async () => {
    const parent = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", PARENT.href],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const { value } = await parent.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    assert(isThere(pid));
    parent.kill("SIGKILL");
    await parent.status;
    for (let tries = 0; isThere(pid) && tries < 100; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert(!isThere(pid));
  },
);
