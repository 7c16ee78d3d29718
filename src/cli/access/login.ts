/** `login` and `logout`: keep credentials of a server in a profile, and remove them. */

import type { JsonObject } from "../../domain/json.ts";
import { type Environment, parseEnvironment } from "../../domain/tenant.ts";
import { systemHost } from "../../host.ts";
import { askLine, askSecret, readFirstLine, requireTerminal } from "../terminal/ask_person.ts";
import { readClientSettings } from "../connection/client_settings.ts";
import { isAddress } from "../connection/find_server.ts";
import { openOutput, type Output } from "../terminal/output.ts";
import {
  type Profile,
  PROFILE_NAME,
  type Profiles,
  readProfiles,
  withProfile,
  writeProfiles,
} from "../connection/profiles_file.ts";
import { ask, type Call, environmentOfKey, expiryOf } from "../connection/remote.ts";
import { EXIT_MISUSED, reasonOf } from "../terminal/settings.ts";

export interface LoginOptions {
  readonly url?: string;
  readonly profile?: string;
  readonly env?: string;
  readonly instance?: string;
  readonly email?: string;
  readonly passwordStdin?: boolean;
  readonly tokenStdin?: boolean;
  readonly keyStdin?: boolean;
  readonly json?: boolean;
}

const FIRST_PROFILE = "default";

export async function logInAndKeep(options: LoginOptions): Promise<void> {
  const output = openOutput(options);
  const { folder, profiles } = await profilesOrExit(output);
  const settings = readClientSettings();
  const name = options.profile ?? settings.profile ?? profiles.current ?? FIRST_PROFILE;
  if (!PROFILE_NAME.test(name)) {
    return misused(output, `'${name}' is no name for a profile: use letters, digits, . _ and -`);
  }
  const before = profiles.profiles[name];
  const url = addressOrExit(output, options.url ?? settings.url ?? before?.url);
  const environment = options.env === undefined ? undefined : parseEnvironment(options.env);
  if (options.env !== undefined && environment === undefined) {
    return misused(output, `There is no environment '${options.env}'.`);
  }
  // What was kept for another server must not be sent to this one.
  const kept = before?.url === url ? before : undefined;
  const learned = options.keyStdin
    ? await takeKey(output, url, kept)
    : options.tokenStdin
    ? await takeToken(output, url, (await readFirstLine()).trim())
    : await logInWithPassword(output, url, options);
  const { instance } = options;
  const changed = { ...kept, url, ...learned, ...(instance && { instance }) };
  const ofKey = Object.keys(learned.keys ?? {}).length === 1
    ? environmentOfKey(Object.values(learned.keys!)[0]!)
    : undefined;
  const place = environment ?? kept?.environment ?? ofKey;
  const profile = { ...changed, ...(place && { environment: place }) };
  const all = withProfile(profiles, name, () => profile);
  await writeProfiles(folder, { ...all, current: name });
  const { token_expires_at } = learned;
  output.result({ profile: name, url, ...(token_expires_at && { token_expires_at }) }, () => {
    const until = token_expires_at === undefined ? "" : `, until ${token_expires_at}`;
    return `Logged in to ${url}${until}. Commands use the profile '${name}' from now on, and its ` +
      `environment ${place ?? "test"} unless --env names another.`;
  });
}

function misused(output: Output, error: string, hint?: string): never {
  return output.fail({ error, error_type: "misused", ...(hint && { hint }) }, EXIT_MISUSED);
}

function addressOrExit(output: Output, url: string | undefined): string {
  if (url === undefined) {
    requireTerminal("Give the address with --url");
    url = askLine("Address of the server: ");
  }
  if (isAddress(url)) return new URL(url).origin;
  return misused(output, `'${url}' is not an address such as https://daybook.example.com`);
}

async function callOrExit(
  output: Output,
  credentials: { readonly token?: string; readonly key?: string },
  call: Call,
): Promise<JsonObject> {
  const answer = await ask(systemHost(), credentials, call);
  return answer.ok ? answer.body : output.fail(answer.failure);
}

type Learned = Pick<Profile, "token" | "token_expires_at" | "keys">;

async function logInWithPassword(
  output: Output,
  url: string,
  { email: given, passwordStdin }: LoginOptions,
): Promise<Learned> {
  if (!passwordStdin || given === undefined) {
    requireTerminal("Use --email and --password-stdin, or --token-stdin");
  }
  const email = given ?? askLine("Email: ");
  const password = passwordStdin ? await readFirstLine() : askSecret("Password: ");
  const body = { email, password };
  const { token, expires_at } = await callOrExit(output, {}, {
    method: "POST",
    base: url,
    path: "/api/login",
    body,
    as: "nobody",
  });
  return { token: String(token), token_expires_at: String(expires_at) };
}

async function takeToken(output: Output, url: string, token: string): Promise<Learned> {
  const query = { limit: 1 };
  await callOrExit(output, { token }, { base: url, path: "/api/instances", query, as: "operator" });
  const ends = expiryOf(token);
  return { token, ...(ends && { token_expires_at: new Date(ends).toISOString() }) };
}

/** A key names its environment itself. */
async function takeKey(
  output: Output,
  url: string,
  before: Profile | undefined,
): Promise<Learned> {
  const key = (await readFirstLine()).trim();
  const environment: Environment | undefined = environmentOfKey(key);
  if (environment === undefined) {
    return misused(
      output,
      "This is no API key: those begin with dbk_0_prod_, dbk_0_staging_ or " +
        "dbk_0_test_.",
    );
  }
  const root = await callOrExit(output, {}, { base: url, path: "/", as: "nobody" });
  if (root.environment === environment) {
    const query = { from: "now", limit: 1 };
    await callOrExit(output, { key }, { base: url, path: "/_feed", query, as: "key" });
  }
  return { keys: { ...before?.keys, [environment]: key } };
}

export interface LogoutOptions {
  readonly profile?: string;
  readonly json?: boolean;
}

/** The address stays, so that the next login needs no more than the name. */
export async function logout(options: LogoutOptions): Promise<void> {
  const output = openOutput(options);
  const { folder, profiles } = await profilesOrExit(output);
  const name = options.profile ?? readClientSettings().profile ?? profiles.current;
  if (name === undefined || profiles.profiles[name] === undefined) {
    const error = name === undefined ? "There is no profile." : `There is no profile '${name}'.`;
    return misused(output, error, "List them with: daybook profiles");
  }
  const all = withProfile(profiles, name, (before) => {
    const { token: _, token_expires_at: __, keys: ___, ...rest } = before!;
    return rest;
  });
  await writeProfiles(folder, all);
  const hint = "A token ends within a day by itself; keys work on until they are revoked.";
  output.result({ profile: name }, () => `Removed the credentials of '${name}'. ${hint}`);
}

/** The profiles and where they are; ends the process if they cannot be read. */
export async function profilesOrExit(
  output: Output,
): Promise<{ readonly folder: string; readonly profiles: Profiles }> {
  const { folder } = readClientSettings();
  if (folder === undefined) {
    return misused(output, "There is no place for profiles.", "Set HOME or XDG_CONFIG_HOME.");
  }
  try {
    return { folder, profiles: await readProfiles(folder) };
  } catch (error) {
    return output.fail({
      error: `The profiles cannot be read: ${reasonOf(error)}`,
      error_type: "profiles_unreadable",
    }, EXIT_MISUSED);
  }
}
