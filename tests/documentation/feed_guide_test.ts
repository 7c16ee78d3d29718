/**
 * The program of docs/tutorials/read-model.md, to the letter: killed again and again while events
 * are written, it counts each of them once.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { readText, sectionOf } from "./markdown.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { adapt, runInOneShell, stepsOf } from "../support/shell_session.ts";

const KILLS = 8;
const WRITERS = 4;
const WRITES = 60;
const FOLLOW_MS_MAX = 20_000;

/** The code between the marks of its `cat`. */
function program(): string {
  const [, code] = /totals\.mjs" <<'END'\n([\s\S]*?)\nEND\n/.exec(
    readText("docs/tutorials/read-model.md"),
  )!;
  return code!;
}

async function writeLine(server: ServerProcess, order: number, price: number): Promise<void> {
  const key = `ABCDEFGH${order}`;
  const response = await fetch(`${server.baseUrls.test}/order/${key}/line_was_added`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${server.credentials.keys.test.write}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      data: { sku: "TEA-1", price },
      metadata: { actor: { type: "user", id: "global" } },
    }),
  });
  assert.equal(response.status, 201, await response.text());
}

/** All rows of the program's table; none while there is no table yet. */
function rowsOf(folder: string): unknown[] {
  const db = new DatabaseSync(`${folder}/totals.sqlite`, { timeout: 5_000 });
  try {
    return db.prepare("SELECT key, lines, total FROM totals ORDER BY key").all()
      .map((row) => ({ ...row }));
  } catch (error) {
    if (/no such table/.test(String(error))) return [];
    throw error;
  } finally {
    db.close();
  }
}

Deno.test("the program of the guide survives being killed: each event is counted once", async () => {
  const server = await startServer();
  const folder = await Deno.makeTempDir({ prefix: "daybook_guide_" });
  await Deno.writeTextFile(`${folder}/totals.mjs`, program());
  const env = {
    BASE: server.baseUrls.test,
    KEY: server.credentials.keys.test.read,
    FOLDER: folder,
  };
  function start(): Deno.ChildProcess {
    const args = ["run", "-A", "--no-config", `${folder}/totals.mjs`];
    return new Deno.Command(Deno.execPath(), { args, env, stdout: "null", stderr: "null" }).spawn();
  }
  let child = start();
  try {
    const deploy = stepsOf(sectionOf(readText("README.md"), "## First session")).slice(0, 2);
    await runInOneShell(deploy.map(({ command }) => adapt(command, server)));
    let isWriting = true;
    const written = Promise.all(
      Array.from({ length: WRITERS }, async (_, order) => {
        for (let price = 1; price <= WRITES; price++) {
          await writeLine(server, order, price);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }),
    ).finally(() => isWriting = false);
    let kills = 0;
    for (; kills < KILLS || isWriting; kills++) {
      await new Promise((resolve) => setTimeout(resolve, 100 + 60 * (kills % 5)));
      child.kill("SIGKILL");
      assert.equal((await child.status).signal, "SIGKILL", "it ran until it was killed");
      child = start();
    }
    await written;
    const wanted = Array.from({ length: WRITERS }, (_, order) => ({
      key: `order:ABCDEFGH${order}`,
      lines: WRITES,
      total: WRITES * (WRITES + 1) / 2,
    }));
    const untilMs = performance.now() + FOLLOW_MS_MAX;
    while (JSON.stringify(rowsOf(folder)) !== JSON.stringify(wanted)) {
      if (performance.now() > untilMs) assert.deepEqual(rowsOf(folder), wanted);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    child.kill("SIGKILL");
    await child.status;
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
});
