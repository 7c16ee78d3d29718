/**
 * `user add`: adds an account that can log in. If a server on this machine has the embedded
 * store open, the command asks that server to add it, so nothing has to be stopped.
 */

import { createAccess } from "../../features/access/access_service.ts";
import { mintOperatorToken } from "../../features/access/operator_token.ts";
import { baseUrls } from "../../addresses.ts";
import { type Config } from "../../config.ts";
import { type Host, systemHost } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { openEngine } from "../../kv/open_engine.ts";
import { askSecret, readFirstLine, requireTerminal } from "../terminal/ask_person.ts";
import { print } from "../terminal/print.ts";
import {
  EXIT_FAILED,
  exitWith,
  reasonOf,
  settingsOrExit,
  tokenSecret,
} from "../terminal/settings.ts";
import { sendRefusal } from "../../http/reply.ts";

/** Any slug will do: operator calls are answered on every address. */
const ANY_SLUG = "default";
const NO_REQUEST = "cli";

interface UserOptions {
  readonly passwordStdin?: boolean;
}

export async function addUserOrExit(email: string, options: UserOptions): Promise<void> {
  const config = settingsOrExit();
  const host = systemHost();
  const password = options.passwordStdin ? await readFirstLine() : askPassword();
  try {
    const refused = await addHere(config, host, email, password);
    if (refused !== undefined) exitWith(EXIT_FAILED, `The account was not added: ${refused}`);
  } catch (error) {
    exitWith(EXIT_FAILED, `The account was not added: ${reasonOf(error)}`);
  }
  print(`Added ${email}. Log in with POST /api/login.`);
  Deno.exit(0);
}

/** Returns the reason for a refusal, or undefined on success. */
async function addHere(
  config: Config,
  host: Host,
  email: string,
  password: string,
): Promise<string | undefined> {
  let engine: Engine;
  try {
    engine = await openEngine(config, host);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "StoreInUse") throw error;
    return await askServer(config, host, email, password);
  }
  const jwtSecret = await tokenSecret(config, host, () => Promise.resolve(engine));
  const access = createAccess(engine, host, { jwtSecret });
  const outcome = await access.addUser(email, password);
  await access.close();
  await engine.close();
  if (outcome.ok) return undefined;
  const { error } = await sendRefusal(NO_REQUEST, outcome.refusal).json();
  return error;
}

async function askServer(
  config: Config,
  host: Host,
  email: string,
  password: string,
): Promise<string | undefined> {
  const unused = () => Promise.reject(new Error("The store is in use by a running server"));
  const secret = await tokenSecret(config, host, unused);
  const { token } = await mintOperatorToken({ secret, subject: "cli", nowMs: host.nowMs() });
  // Connect straight to the port: a base domain is then named only in the Host header.
  const { production } = baseUrls({ ...config, baseDomain: undefined }, ANY_SLUG);
  const headers = new Headers({
    "authorization": `Bearer ${token}`,
    "content-type": "application/json",
  });
  if (config.baseDomain !== undefined) headers.set("host", `api.${config.baseDomain}`);
  const body = JSON.stringify({ email, password });
  const request = new Request(`${production}/api/users`, { method: "POST", headers, body });
  const response = await host.fetch(request);
  const { ok, error } = await response.json();
  return ok ? undefined : error;
}

function askPassword(): string {
  requireTerminal("Use --password-stdin and pipe the password in");
  return askSecret("Password (at least 12 characters): ");
}
