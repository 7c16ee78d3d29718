/**
 * `daybook migrate run`, killed with `kill -9` at random moments, and its server with it at some of
 * them. The same command goes on each time, and at the end every event is there once, in the order
 * of its stream. `MIGRATE_KILLS=1000` kills as often; `MIGRATE_SEED` repeats a run.
 */

import assert from "node:assert/strict";
import { assertMoved, linesOf, messageRows } from "../support/migrate_fixtures.ts";
import { runCli } from "../support/run_cli.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { createRandom } from "./random.ts";

const KILLS = Number(Deno.env.get("MIGRATE_KILLS") ?? 12);
const SEED = Number(Deno.env.get("MIGRATE_SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const KILLS_OF_A_FILE = 6;
/** On a machine whose pace changes, the first kills may all come before or after the writing. */
const KILLS_MAX = 4 * KILLS;
const EVENTS = 25_000;
const STREAMS = 300;
/** A machine that others use, too, may take long to start a server again. */
const READY_MS = 300_000;
const ROOT = new URL("../../", import.meta.url);

/** How long a run takes, at first; what the kills show corrects it for the machine. */
const RUN_MS = 2_000;

Deno.test("a run killed at random moments, and its server too, has every event once and in order", async () => {
  const random = createRandom(SEED);
  const folder = await Deno.makeTempDir({ prefix: "daybook_migrate_crash_" });
  const dataDir = `${folder}/data`;
  await Deno.mkdir(dataDir);
  let server = await startServer({ dataDir, readyTimeoutMs: READY_MS });
  let [killed, midway, cursor, runMs] = [0, 0, "start", RUN_MS];
  try {
    for (let number = 0; killed < KILLS || midway === 0 && killed < KILLS_MAX; number++) {
      const rows = messageRows(EVENTS, STREAMS, `f${number}x`);
      const file = `${folder}/file.ndjson`;
      await Deno.writeTextFile(file, linesOf(rows));
      const run = await prepare(server, folder, file, `file-${number}`);
      for (let kill = 0; kill < KILLS_OF_A_FILE; kill++) {
        const child = start(run, environmentOf(server));
        await new Promise((resolve) => setTimeout(resolve, random.below(runMs)));
        const isServers = random.below(3) === 0;
        if (isServers) await server.kill();
        try {
          child.kill("SIGKILL");
        } catch {
          // It has ended before.
        }
        await child.status;
        killed++;
        if (isServers) server = await startServer({ dataDir, readyTimeoutMs: READY_MS });
        const stored = await storedOf(server, `file-${number}`);
        if (stored > 0 && stored < EVENTS) midway++;
        if (stored === 0) runMs *= 1.5;
        if (stored === EVENTS) {
          runMs /= 1.5;
          break;
        }
      }
      const done = await runCli(run, { env: environmentOf(server) });
      assert.equal(done.code, 0, `seed ${SEED}: ${done.stdout}${done.stderr}`);
      const { stored, counts } = JSON.parse(done.stdout);
      assert.deepEqual([stored, counts.events], [EVENTS, EVENTS]);
      cursor = await assertMoved(server, rows, cursor);
    }
    console.log(`${killed} kills, ${midway} of them midway (seed ${SEED})`);
    assert.ok(midway > 0, "some kills came midway");
  } finally {
    await server.kill();
    await Deno.remove(folder, { recursive: true });
  }
});

/** The plan and, for the first file, its spec; the arguments of the run. */
async function prepare(server: ServerProcess, folder: string, file: string, name: string) {
  const env = environmentOf(server);
  const drafts = `${folder}/drafts`;
  const source = ["--from", "message-db"];
  const planned = await runCli(["migrate", "plan", ...source, "--out", drafts, "--json", file], {
    env,
  });
  assert.equal(planned.code, 0, planned.stdout);
  const deployed = await runCli(["deploy", `${drafts}/spec.json`], { env });
  assert.equal(deployed.code, 0, deployed.stderr);
  const options = ["--map", `${drafts}/map.json`, "--append", "--name", name, "--json"];
  return ["migrate", "run", ...source, ...options, file];
}

/** A restarted server has other ports, so the commands are told where it is. */
function environmentOf({ baseUrls, credentials }: ServerProcess): Record<string, string> {
  return { DAYBOOK_URL: baseUrls.test, DAYBOOK_TOKEN: credentials.operator_token };
}

function start(args: readonly string[], env: Record<string, string>): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "-q", "main.ts", ...args],
    cwd: ROOT,
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

/** How much of the file is stored, over all of its parts. */
async function storedOf(server: ServerProcess, name: string): Promise<number> {
  const { operator_token } = server.credentials;
  const headers = { authorization: `Bearer ${operator_token}` };
  let stored = 0;
  for (let part = 0;; part++) {
    const id = `${name}-${String(part).padStart(6, "0")}`;
    const reply = await fetch(`${server.baseUrls.test}/_admin/imports/${id}`, { headers });
    const body = await reply.json();
    if (!reply.ok) return stored;
    stored += body.import.written;
  }
}
