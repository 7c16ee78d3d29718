/**
 * Durability seen from outside: every acknowledgement leaves after a sync of its event's file.
 * The proof is a system call trace of the real server. `kill -9` alone cannot show this,
 * because the operating system keeps what a killed process has written.
 */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { connectApi } from "./api.ts";
import { createJournal, type Write } from "./journal.ts";
import { checkSyncOrder, parseTrace, TRACED_CALLS } from "./system_call_trace.ts";
import { CRASH_SPEC } from "./workload.ts";

const SEQUENTIAL_WRITES = 30;
const CLIENTS = 8;
const WRITES_OF_EACH_CLIENT = 15;

const reason = await whyNotTraced();
if (reason !== undefined) console.log(`fsync order is not tested: ${reason}`);

Deno.test({
  name: "no acknowledgement leaves the server before the event is synced to disk",
  ignore: reason !== undefined,
  async fn() {
    const traceFile = await Deno.makeTempFile({ prefix: "daybook_trace_" });
    const server = await startServer({
      // -D makes the tracer a grandchild, so that the started process is the server itself.
      wrapper: ["strace", "-D", "-f", "-y", "-s", "70000", "-o", traceFile, ...traceOptions()],
      readyTimeoutMs: 60_000,
    });
    try {
      const sent = await sendWrites(server);
      assert.equal(await server.stop(), 0);
      const calls = parseTrace(await readWhenComplete(traceFile));
      const report = checkSyncOrder(calls, await Deno.realPath(server.dataDir));
      assert.deepEqual(report.violations, []);
      assert.equal(report.acknowledged, sent, "the trace does not show every acknowledgement");
      assert.ok(report.syncs >= SEQUENTIAL_WRITES, `only ${report.syncs} syncs`);
      console.log(`${sent} acknowledged writes, ${report.syncs} syncs, each in order`);
    } finally {
      await server.remove();
      await Deno.remove(traceFile);
    }
  },
});

function traceOptions(): string[] {
  return ["--seccomp-bpf", "-e", `trace=${TRACED_CALLS.join(",")}`, "-e", "signal=none"];
}

/** Returns undefined if strace is installed and permitted. */
async function whyNotTraced(): Promise<string | undefined> {
  try {
    const { success, stderr } = await new Deno.Command("strace", {
      args: ["-D", "-f", "-o", "/dev/null", ...traceOptions(), "true"],
      stdout: "null",
      stderr: "piped",
    }).output();
    return success ? undefined : `strace: ${new TextDecoder().decode(stderr).trim()}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "strace is not installed";
    throw error;
  }
}

/**
 * Sends single, batch and atomic writes, alone and from many connections; returns their number.
 */
async function sendWrites(server: ServerProcess): Promise<number> {
  const api = connectApi(server);
  await api.deploySpec(CRASH_SPEC);
  const journal = createJournal();
  let tokens = 0;
  const write = async (client: number) => {
    const operation = journal.record(writeOf(client, () => `traced-${++tokens}-token`));
    const reply = await api.write(operation);
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
  };
  for (let i = 0; i < SEQUENTIAL_WRITES; i++) await write(0);
  await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = 0; i < WRITES_OF_EACH_CLIENT; i++) await write(client);
  }));
  api.close();
  return journal.operations.length;
}

/** Clients differ in what they write; those with even numbers share a stream. */
function writeOf(client: number, nextToken: () => string): Write {
  const id = client % 2 === 0
    ? "global"
    : `5b0e8f6c-3d1a-4c2b-9f7e-0a1b2c3d4e${client.toString().padStart(2, "0")}`;
  const event = () => {
    const token = nextToken();
    // The token is written three times, some way apart: a page boundary can split only one of
    // them.
    const note = `${token}${"-".repeat(90)}${token}`;
    return { type: "was_credited", data: { token, amount: 1, note } };
  };
  const target = { aggregateType: "account", id, events: [event()] };
  const key = { idempotencyKey: `${client}/${target.events[0]!.data.token}` };
  if (client % 3 === 1) {
    return { form: "batch", targets: [{ ...target, events: [event(), event()] }] };
  }
  if (client % 3 === 2) {
    const other = { aggregateType: "ledger", id, events: [event()] };
    return { form: "atomic", targets: [target, other], ...key };
  }
  return { form: "single", targets: [target], ...key };
}

/** The tracer is a grandchild and may end a moment after the server. */
async function readWhenComplete(path: string): Promise<string> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const text = await Deno.readTextFile(path);
    if (/\+\+\+ exited with 0 \+\+\+\s*$/.test(text)) return text;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return await Deno.readTextFile(path);
}
