/** The npm package of the program, run by Node as an installed one is. */

import assert from "node:assert/strict";
import { writeProgramPackage } from "../../scripts/pack_program.ts";
import { reservePorts } from "../support/reserve_ports.ts";

const ASK_FOR_NODE = { args: ["-c", "command -v node"] };
const { success: hasNode } = new Deno.Command("sh", ASK_FOR_NODE).outputSync();

/** Installs the package without a registry; this runtime stands for the one npm would bring. */
async function install(folder: string): Promise<void> {
  await writeProgramPackage(`${folder}/node_modules/daybook`);
  const runtime = `${folder}/node_modules/deno`;
  await Deno.mkdir(runtime);
  const path = JSON.stringify(Deno.execPath());
  await Deno.writeTextFile(`${runtime}/package.json`, '{"name": "deno", "version": "2.9.6"}');
  await Deno.writeTextFile(`${runtime}/install_api.cjs`, `exports.runInstall = () => ${path};`);
  await Deno.writeTextFile(`${folder}/package.json`, '{"dependencies": {"left-pad": "*"}}');
}

function daybook(folder: string, args: readonly string[], env: Record<string, string>) {
  return new Deno.Command("node", {
    args: ["node_modules/daybook/bin/daybook.js", ...args],
    cwd: folder,
    env: { NO_COLOR: "1", ...env },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test({
  name: "the package serves, and its commands find the server, in a project of its own",
  ignore: !hasNode,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "daybook_package_" });
    const ports = reservePorts();
    const env = { DAYBOOK_PORT: String(ports.first), XDG_CONFIG_HOME: `${folder}/config` };
    try {
      await install(folder);
      const server = daybook(folder, ["serve"], env);
      await untilReady(`http://127.0.0.1:${ports.first}/health/ready`);
      assert.ok(
        Deno.statSync(`${folder}/data/credentials.json`).isFile,
        "the data is in the project",
      );
      const source = `export const spec = { agent_types: ["user"], aggregate_types: {
        order: { events: { was_placed: { schema: {}, handler: [] } } } } };`;
      await Deno.writeTextFile(`${folder}/spec.ts`, source);
      const decoder = new TextDecoder();
      const deployed = await daybook(folder, ["deploy", "spec.ts", "--json"], env).output();
      assert.equal(deployed.code, 0, decoder.decode(deployed.stdout));
      assert.equal(JSON.parse(decoder.decode(deployed.stdout)).version, 1);
      const sql = await daybook(folder, ["sql", "SELECT 1 AS a", "--csv"], env).output();
      assert.equal(decoder.decode(sql.stdout), "a\r\n1\n");
      const tail = ["events", "tail", "--from", "start", "--no-follow"];
      const followed = await daybook(folder, tail, env).output();
      assert.equal(followed.code, 0, decoder.decode(followed.stderr));
      const wrong = await daybook(folder, ["deploy", "none.json"], env).output();
      assert.equal(wrong.code, 2, "the exit code of the program is that of the package");
      server.kill("SIGTERM");
      assert.equal((await server.output()).code, 0, "SIGTERM is passed on");
    } finally {
      ports.release();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    assert.ok(performance.now() < deadline, "the server was not ready in time");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
