/** Messages for people are printed even if the runtime sends its console elsewhere. */

import assert from "node:assert/strict";

const ROOT = new URL("../../../", import.meta.url);
/** Nobody listens there: whatever is sent there is lost. */
const REPLACED = {
  OTEL_DENO: "true",
  OTEL_DENO_CONSOLE: "replace",
  OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
};

async function outputOf(args: readonly string[]) {
  const options = { args: ["run", "-A", "--no-config", ...args], env: REPLACED, cwd: ROOT };
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), options).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

function program(call: string): string {
  const source = new URL("src/cli/terminal/print.ts", ROOT);
  return `data:text/typescript,import { complain, print } from "${source}"; ${call}`;
}

Deno.test("print() and complain() are heard where the console is replaced", async () => {
  const long = "é".repeat(100_000);
  const said = await outputOf([program(`print("${"é"}".repeat(100_000)); complain("no");`)]);
  assert.equal(said.stdout, `${long}\n`);
  assert.equal(said.stderr, "no\n");
});

Deno.test("the start's permissions are told where the console is replaced", async () => {
  const said = await outputOf(["scripts/start_permissions.ts", "write"]);
  assert.match(said.stdout, /^--allow-write=/);
  const wrong = await outputOf(["scripts/start_permissions.ts", "all"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /^usage: /);
});
