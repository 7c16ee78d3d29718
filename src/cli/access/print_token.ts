/** `token`: prints an operator token and nothing else, so that a shell can put it in a variable. */

import { mintOperatorToken } from "../../features/access/operator_token.ts";
import { systemHost } from "../../host.ts";
import { openEngine } from "../../kv/open_engine.ts";
import { print } from "../terminal/print.ts";
import { EXIT_MISUSED, exitWith, settingsOrExit, tokenSecret } from "../terminal/settings.ts";

const SECONDS_PER_HOUR = 3600;
const HOURS_MAX = 24;

interface TokenOptions {
  readonly subject: string;
  readonly instance?: readonly string[];
  readonly hours: string;
}

export async function printToken(options: TokenOptions): Promise<void> {
  const config = settingsOrExit();
  const host = systemHost();
  const hours = Number(options.hours);
  if (!(hours > 0 && hours <= HOURS_MAX)) {
    const message = `--hours must be a number above 0 and at most ${HOURS_MAX}, e.g. --hours 8`;
    exitWith(EXIT_MISUSED, message);
  }
  const secret = await tokenSecret(config, host, () => openEngine(config, host));
  const { token } = await mintOperatorToken({
    secret,
    subject: options.subject,
    nowMs: host.nowMs(),
    instances: options.instance,
    lifetimeSeconds: Math.max(1, Math.floor(hours * SECONDS_PER_HOUR)),
  });
  print(token);
  Deno.exit(0);
}
