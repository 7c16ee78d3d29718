/**
 * `deno task console`: builds the console into `dist/console`, and prints the size of what a first
 * view loads and of all of it. With `--if-changed`, as `deno task start` calls it, it builds only
 * if the sources have changed; a fault is then told, and the server starts without the console.
 */

import { buildConsole, isConsoleCurrent } from "./console/build_files.ts";
import { BUDGETS, measureConsole } from "./console/sizes.ts";

const FOLDER = "dist/console";

if (import.meta.main) {
  const isOptional = Deno.args.includes("--if-changed");
  try {
    if (!isOptional || !await isConsoleCurrent(FOLDER)) await build(!isOptional);
  } catch (error) {
    console.error(`The console could not be built: ${(error as Error).message}`);
    if (!isOptional) Deno.exit(1);
  }
}

async function build(isStrict: boolean): Promise<void> {
  await buildConsole(FOLDER);
  if (!isStrict) return;
  const sizes = await measureConsole(FOLDER);
  let isTooLarge = false;
  for (const [name, most] of Object.entries(BUDGETS) as [keyof typeof BUDGETS, number][]) {
    isTooLarge ||= sizes[name] > most;
    console.log(`${name}: ${sizes[name]} bytes with brotli, at most ${most}`);
  }
  if (isTooLarge) Deno.exit(1);
}
