/**
 * Runs the commands of src/wasm/examples/README.md against a real server, in order, with the module
 * that its build command makes. Where a `json` block follows, the answer is that, but for digests
 * and times.
 */

import assert from "node:assert/strict";
import { startServer } from "../support/server_process.ts";
import { adapt, runInOneShell, stepsOf } from "../support/shell_session.ts";
import { EXAMPLES_README, findExamples } from "../support/wasm/build_example.ts";
import { readText, sectionOf } from "./markdown.ts";

let built: Promise<Uint8Array<ArrayBuffer>> | undefined;

/** The example that can be built on every machine. */
async function builtModule(): Promise<Uint8Array<ArrayBuffer>> {
  const [example] = await findExamples();
  return await (built ??= example!.build());
}

const VOLATILE = ["sha256", "created_at", "updated_at", "at", "milliseconds"];

Deno.test("the commands of the examples' README work in the order in which they are printed", async () => {
  const session = stepsOf(sectionOf(readText("README.md"), "## First session")).slice(0, 2);
  const readme = readText(EXAMPLES_README);
  const steps = ["## Upload, name, use", "## Debugging"].flatMap((title) =>
    stepsOf(sectionOf(readme, title))
  );
  assert(steps.length >= 8, "the commands are found");
  const folder = await Deno.makeTempDir({ prefix: "daybook_module_" });
  const server = await startServer();
  try {
    await Deno.writeFile(`${folder}/order.wasm`, await builtModule());
    const commands = [...session, { command: `cd ${folder}` }, ...steps]
      .map(({ command }) => adapt(command, server));
    const printed = (await runInOneShell(commands)).slice(-steps.length);
    for (const [index, { command, answer }] of steps.entries()) {
      if (answer === undefined) continue;
      const expected = steady(JSON.parse(answer));
      assert.deepEqual(
        steady(JSON.parse(printed[index]!)),
        expected,
        `${command}\n${printed[index]}`,
      );
    }
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
});

/** The fields in their order, without what differs from run to run. */
function steady(value: unknown): string {
  return JSON.stringify(value, (key, inner) => VOLATILE.includes(key) ? typeof inner : inner);
}

Deno.test("the script of the examples' README calls the module as a server would", async () => {
  const readme = readText(EXAMPLES_README);
  const [, script] = /^```js\n([\s\S]*?)^```$/m.exec(readme)!;
  const folder = await Deno.makeTempDir({ prefix: "daybook_module_" });
  try {
    await Deno.writeFile(`${folder}/order.wasm`, await builtModule());
    await Deno.writeTextFile(`${folder}/call.mjs`, script!);
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-config", "--no-lock", "--allow-read=order.wasm", "call.mjs"],
      cwd: folder,
    }).output();
    const printed = new TextDecoder().decode(stdout).trim();
    assert.equal(
      printed,
      '{"state":{"items":1,"total_cents":900}}',
      new TextDecoder().decode(stderr),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
