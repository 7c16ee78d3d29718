/** `daybook types`: of the deployed spec or a file, into a file or not, and the check for CI. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { firstDifference } from "../../../src/cli/spec/types_command.ts";
import { compileTypes } from "../../support/compile_types.ts";
import { runCli } from "../../support/run_cli.ts";
import { startServer } from "../../support/server_process.ts";

const SPEC = {
  agent_types: ["user"],
  aggregate_types: {
    order: {
      events: {
        was_placed: {
          schema: {
            type: "object",
            properties: { customer: { type: "string" } },
            required: ["customer"],
            additionalProperties: false,
          },
          handler: { set: { target: "customer", value: "$.data.customer" } },
        },
      },
    },
  },
};

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_types_" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The spec with one more field in the data of its event. */
function widened(): JsonObject {
  const copy = structuredClone(SPEC);
  Object.assign(copy.aggregate_types.order.events.was_placed.schema.properties, {
    note: { type: "string" },
  });
  return copy as unknown as JsonObject;
}

Deno.test("types of a file are written, checked, found stale and written again", async () => {
  await inFolder(async (folder) => {
    const [spec, out] = [`${folder}/spec.json`, `${folder}/shop.ts`];
    await Deno.writeTextFile(spec, JSON.stringify(SPEC));
    const args = ["types", "--spec", spec, "--out", out, "--name", "Shop"];
    const missing = await runCli([...args, "--check"]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /There is no file/);
    const written = await runCli(args);
    assert.deepEqual([written.code, written.stdout, written.stderr], [
      0,
      `Wrote ${out} from ${spec}.\n`,
      "",
    ]);
    const text = await Deno.readTextFile(out);
    assert.match(text, /export interface Shop \{/);
    assert.match(text, /readonly customer\?: string;/);
    assert.deepEqual(compileTypes({ "/memory/shop.ts": text }).faults, []);
    assert.equal((await runCli([...args, "--check"])).code, 0);

    await Deno.writeTextFile(out, text.replaceAll("\n", "\r\n"));
    assert.equal((await runCli([...args, "--check"])).code, 0, "a checkout on Windows is the same");

    await Deno.writeTextFile(spec, JSON.stringify(widened()));
    const stale = await runCli([...args, "--check"]);
    assert.equal(stale.code, 1);
    assert.match(
      stale.stderr,
      /is not current\.\n +Line \d+:\n +- }\n +\+ +readonly note\?: string;/,
    );
    assert.equal(await Deno.readTextFile(out), text.replaceAll("\n", "\r\n"), "it wrote nothing");
    const json = JSON.parse((await runCli([...args, "--check", "--json"])).stdout);
    assert.deepEqual([json.ok, json.error_type, json.file], [false, "types_differ", out]);
  });
});

Deno.test("types of the deployed spec are those of its file", async () => {
  const server = await startServer();
  try {
    await inFolder(async (folder) => {
      const env = { DAYBOOK_DATA_DIR: server.dataDir, XDG_CONFIG_HOME: `${folder}/config` };
      const spec = `${folder}/spec.json`;
      await Deno.writeTextFile(spec, JSON.stringify(SPEC));
      const none = await runCli(["types"], { env });
      assert.equal(none.code, 1);
      assert.match(none.stderr, /test has no spec yet/);
      assert.equal((await runCli(["deploy", spec], { env })).code, 0);
      const deployed = await runCli(["types", "--name", "Shop"], { env });
      const ofFile = await runCli(["types", "--name", "Shop", "--spec", spec], { env });
      assert.deepEqual([deployed.code, deployed.stderr], [0, ""]);
      assert.equal(deployed.stdout, ofFile.stdout);
      assert.match(deployed.stdout, /readonly was_placed: OrderWasPlaced;/);
    });
  } finally {
    await server.remove();
  }
});

Deno.test("what cannot be written is refused with a reason, before any server is asked", async () => {
  await inFolder(async (folder) => {
    const faulty = `${folder}/faulty.json`;
    await Deno.writeTextFile(faulty, JSON.stringify({ ...SPEC, agent_types: [] }));
    const cases: readonly [args: readonly string[], code: number, message: RegExp][] = [
      [["--name", "class"], 2, /"class" is no name of an interface/],
      [["--check"], 2, /--check compares a file/],
      [["--spec", `${folder}/none.json`], 2, /There is no file/],
      [["--spec", faulty], 4, /agent_types must not be empty/],
    ];
    for (const [args, code, message] of cases) {
      const ran = await runCli(["types", ...args]);
      assert.equal(ran.code, code, ran.stderr);
      assert.match(ran.stderr, message);
    }
  });
});

Deno.test("firstDifference() shows the first line that differs, or that one side lacks", () => {
  assert.equal(firstDifference("a\nb\nc", "a\nx\nc"), "Line 2:\n- b\n+ x");
  assert.equal(firstDifference("a", "a\nb"), "Line 2:\n+ b");
  assert.equal(firstDifference("a\nb", "a"), "Line 2:\n- b");
});
