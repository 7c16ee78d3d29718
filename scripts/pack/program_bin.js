#!/usr/bin/env node
/**
 * Runs the program with the runtime that this package brings, and with no more permissions than its
 * tasks in `app/deno.json` have.
 */

import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

const app = fileURLToPath(new URL("../app/", import.meta.url));
const config = `${app}deno.json`;
const deno = createRequire(import.meta.url)("deno/install_api.cjs").runInstall();
const { tasks } = JSON.parse(readFileSync(config, "utf8"));
/** The package.json of the project around it is not the program's. */
const env = { ...process.env, DENO_NO_PACKAGE_JSON: "1" };

/** The variables that the task sets for the runtime. */
function writtenVariables(task) {
  const assignment = /^([A-Z_]+)=(\S*)$/;
  const words = (tasks[task].command ?? tasks[task]).split(" ");
  return Object.fromEntries(
    words.map((word) => assignment.exec(word)?.slice(1)).filter((found) => found),
  );
}

/** The options of a task that are written out; `serve` computes the rest from its settings. */
function writtenOptions(task) {
  const ofTheTask = ["--no-config", "--no-lock", "--allow-run=deno"];
  return (tasks[task].command ?? tasks[task]).split(" ").filter((word) =>
    word.startsWith("--") && !ofTheTask.includes(word)
  );
}

function computedOptions() {
  return ["read", "write", "run", "ffi"].map((asked) => {
    const script = `${app}scripts/start_permissions.ts`;
    const args = ["run", "-A", "-q", "--no-config", "--no-lock", script, asked];
    const { status, stdout, stderr } = spawnSync(deno, args, { encoding: "utf8", env });
    if (status === 0) return stdout.trim();
    process.stderr.write(stderr);
    process.exit(status ?? 1);
  });
}

const args = process.argv.slice(2);
if (args[0] === "serve") {
  Object.assign(env, writtenVariables("start"));
  // Permissions are computed from absolute paths, because the app lies elsewhere.
  env.DAYBOOK_DATA_DIR = resolve(env.DAYBOOK_DATA_DIR || "data");
  for (const name of ["DAYBOOK_TLS_CERT", "DAYBOOK_TLS_KEY"]) {
    if (env[name]) env[name] = resolve(env[name]);
  }
}
const options = args[0] === "serve"
  ? [...writtenOptions("start"), ...computedOptions()]
  : [...writtenOptions("daybook"), `--allow-run=${deno},/usr/bin/prlimit`];
const child = spawn(deno, ["run", `--config=${config}`, ...options, `${app}main.ts`, ...args], {
  stdio: "inherit",
  env,
});
// A terminal sends Ctrl-C to both; what is sent to this process alone has to be passed on.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});
