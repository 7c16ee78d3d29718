/**
 * Audits the packages. Each must keep the rules of `checks/dependency_rules.ts`, and none may
 * have a known vulnerability (`deno audit`), as far as the registry answers. Prints what it
 * found, and exits with 1 if there are faults.
 */

import { ARCHITECTURE, checkDependencies } from "./checks/dependency_rules.ts";
import { readSources, reportAndExit } from "./checks/source_tree.ts";

const AUDIT_MS_MAX = 30_000;

async function readJson(path: string) {
  return JSON.parse(await Deno.readTextFile(path));
}

/** Returns true if the registry knows no vulnerability, or cannot be asked. */
async function auditAdvisories(): Promise<boolean> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["audit"],
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
    signal: AbortSignal.timeout(AUDIT_MS_MAX),
  });
  const { code, stdout, stderr } = await child.output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  if (code === 0) {
    console.log("advisories: none known");
    return true;
  }
  const isAnswered = !/error sending request|timed out|dns error/i.test(text) && text !== "";
  if (isAnswered) console.log(text.trim());
  else console.log("advisories: not checked, for the registry cannot be asked from here");
  return !isAnswered;
}

const { imports } = await readJson("deno.json");
const manifest = {
  imports,
  lock: await readJson("deno.lock"),
  architecture: await Deno.readTextFile(ARCHITECTURE),
};
const sources = await readSources(["main.ts", "src", "sdk", "console/src", "tests", "scripts"]);
const faults = checkDependencies(manifest, sources);
if (!await auditAdvisories()) {
  const message = "the registry knows a vulnerability: see above";
  faults.push({ path: "deno.lock", line: 1, rule: "advisory", message });
}
reportAndExit("dependencies", Object.keys(manifest.lock.npm).length, faults, "packages");
