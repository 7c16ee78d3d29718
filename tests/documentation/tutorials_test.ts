/**
 * The first five minutes and the tutorials, executed as printed: every `sh` block of a page in one
 * shell, in order, in an empty folder, against a new server. Where a `text`, `json` or `csv` block
 * follows, the command prints it; `…` stands for any value. Only the blocks that fetch and start
 * the server are left to this test, and commands run without npm.
 */

import assert from "node:assert/strict";
import { markdownFiles, readText } from "./markdown.ts";
import { startServer } from "../support/server_process.ts";
import { adapt, openShell, runStep, type Step, stepsOf } from "../support/shell_session.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** The pages, and how many steps each has at least. */
const PAGES = [
  ["docs/start/five-minutes.md", 5],
  ["docs/tutorials/audit.md", 8],
  ["docs/tutorials/from-crud.md", 8],
  ["docs/tutorials/shop.md", 15],
] as const;
/** Tutorials that continue the first session and run with it. */
const CONTINUED = ["docs/tutorials/read-model.md"];
const STARTS = /^(git clone|cd daybook|npx --yes deno@2\.9\.6 task start)/;
const NPX = "npx --yes deno@2.9.6";
const DAYBOOK = `${NPX} task -q daybook`;
const OURS = `"${Deno.execPath()}" run -A --config "${ROOT}deno.json" "${ROOT}main.ts"`;

/** A refusal ends neither a reader's session nor this one. What a terminal shows is one text. */
function asAtTerminal(step: Step): Step {
  const isRefused = /^(error|refused)/m.test(step.answer ?? "");
  const tolerant = isRefused ? `set +e\n${step.command}\nset -e` : step.command;
  return { ...step, command: `{ ${tolerant}\n} 2>&1` };
}

for (const [path, stepsMin] of PAGES) {
  Deno.test(`${path} works as printed`, async () => {
    const steps = stepsOf(readText(path), ["text", "json", "csv"])
      .filter(({ command }) => !STARTS.test(command));
    assert.ok(steps.length >= stepsMin, "its steps are found");
    const server = await startServer();
    const folder = await Deno.makeTempDir({ prefix: "daybook_tutorial_" });
    const shell = openShell();
    try {
      await shell.run(`cd "${folder}"; export NO_COLOR=1 DAYBOOK_DATA_DIR="${server.dataDir}"`);
      for (const step of steps.map(asAtTerminal)) {
        const command = adapt(step.command, server)
          .replaceAll(DAYBOOK, OURS)
          .replaceAll(NPX, `"${Deno.execPath()}"`)
          .replaceAll(" scripts/", ` "${ROOT}"scripts/`);
        await runStep(shell, { ...step, command });
      }
    } finally {
      await shell.close();
      await server.remove();
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("every page of the start and every tutorial is executed", () => {
  const executed = [...PAGES.map(([path]) => path), ...CONTINUED].toSorted();
  assert.deepEqual(executed, [...markdownFiles("docs/start"), ...markdownFiles("docs/tutorials")]);
});
