/** Reads the settings for every command, or prints what is wrong and exits with code 2. */

import { type Config, readConfig } from "../../config.ts";
import type { Host } from "../../host.ts";
import { CAPABILITIES } from "../../kv/capabilities.ts";
import type { Engine } from "../../kv/engine.ts";
import { readOrMakeJwtSecret } from "../../private_files.ts";
import { shareSecret } from "../../features/access/operator_token.ts";
import { complain } from "./print.ts";

/** Exit codes: 1 for a failure, 2 for invalid settings or options. */
export const EXIT_FAILED = 1;
export const EXIT_MISUSED = 2;

const JWT_SECRET = "jwt";

/** Returns the settings, or prints every fault in them and ends the process. */
export function settingsOrExit(): Config {
  const parsed = readConfig();
  if (parsed.ok) return parsed.config;
  complain("Daybook cannot start with these settings:");
  for (const problem of parsed.problems) complain(`  ${problem}`);
  Deno.exit(EXIT_MISUSED);
}

/** Prints the message and ends the process. */
export function exitWith(code: number, message: string): never {
  complain(message);
  Deno.exit(code);
}

/**
 * The secret that signs operator tokens, at least 32 bytes: the configured one, or else one
 * that is kept with the data.
 */
export async function tokenSecret(
  config: Config,
  host: Host,
  engine: () => Promise<Engine>,
): Promise<Uint8Array> {
  if (config.jwtSecret !== undefined) return config.jwtSecret;
  if (!CAPABILITIES[config.store].isShared) return await readOrMakeJwtSecret(config.dataDir, host);
  return await shareSecret(await engine(), host, JWT_SECRET);
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
