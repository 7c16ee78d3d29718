/** What every command starts with: checked settings, or a clear message and exit code 2. */

import { type Config, readConfig } from "../config.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { readOrMakeJwtSecret } from "../private_files.ts";
import { shareSecret } from "../features/access/share_secret.ts";
import { complain } from "./print.ts";

/** Exit codes: 1 for what went wrong, 2 for settings or options that cannot be. */
export const EXIT_FAILED = 1;
export const EXIT_MISUSED = 2;

const JWT_SECRET = "jwt";

/** The settings; prints every fault and ends the process when there is one. */
export function settingsOrExit(): Config {
  const parsed = readConfig();
  if (parsed.ok) return parsed.config;
  complain("Daybook cannot start with these settings:");
  for (const problem of parsed.problems) complain(`  ${problem}`);
  Deno.exit(EXIT_MISUSED);
}

/** Prints why, and ends the process. */
export function exitWith(code: number, message: string): never {
  complain(message);
  Deno.exit(code);
}

/** The secret of operator tokens: as set, else kept with the data. At least 32 bytes. */
export async function tokenSecret(
  config: Config,
  host: Host,
  engine: () => Promise<Engine>,
): Promise<Uint8Array> {
  if (config.jwtSecret !== undefined) return config.jwtSecret;
  if (config.store === "sqlite") return await readOrMakeJwtSecret(config.dataDir, host);
  return await shareSecret(await engine(), host, JWT_SECRET);
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
