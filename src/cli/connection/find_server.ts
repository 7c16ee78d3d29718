/**
 * Decides which server a command calls, and as whom: `--url` or `DAYBOOK_URL`, else a profile, else
 * the server on this machine whose data folder is here. Credentials are sent only to the server
 * that they were kept for, or that was named together with them.
 */

import { baseUrls } from "../../addresses.ts";
import { type Config, readConfig } from "../../config.ts";
import { type Environment, ENVIRONMENTS } from "../../domain/tenant.ts";
import { mintOperatorToken } from "../../features/access/operator_token.ts";
import type { Host } from "../../host.ts";
import type { ClientSettings } from "./client_settings.ts";
import { type Profile, readProfiles } from "./profiles_file.ts";
import { readOrMakeJwtSecret } from "../../private_files.ts";
import { ask } from "./remote.ts";
import { reasonOf } from "../terminal/settings.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export interface Server {
  /** Where operator calls go. */
  readonly url: string;
  /** Where data calls go, as far as it is known. */
  readonly urls: Readonly<Partial<Record<Environment, string>>>;
  readonly keys: Readonly<Partial<Record<Environment, string>>>;
  readonly token?: string;
  /** Id or slug. */
  readonly instance?: string;
  /** The environment to use if none is named. */
  readonly environment?: Environment;
  readonly profile?: string;
  /** Where all this is from, for people. */
  readonly origin: string;
}

export interface ServerOptions {
  readonly url?: string;
  readonly profile?: string;
}

export type FoundServer =
  | { readonly ok: true; readonly server: Server }
  | { readonly ok: false; readonly error: string; readonly hint?: string };

const LOCAL_TOKEN_SECONDS = 3600;
/** The folder of this program, whose server keeps its data beside it by default. */
const ROOT_DATA = new URL("../../../data", import.meta.url);

export async function findServer(
  host: Host,
  settings: ClientSettings,
  options: ServerOptions,
): Promise<FoundServer> {
  const url = options.url ?? settings.url;
  if (url !== undefined && !isAddress(url)) {
    return { ok: false, error: `'${url}' is not an address such as https://daybook.example.com` };
  }
  let known;
  try {
    known = await readProfiles(settings.folder);
  } catch (error) {
    return { ok: false, error: `The profiles cannot be read: ${reasonOf(error)}` };
  }
  const named = options.profile ?? settings.profile;
  if (named !== undefined && known.profiles[named] === undefined) {
    const names = Object.keys(known.profiles).join(", ") || "none yet";
    const hint = `There are: ${names}. Make one with: daybook login --profile ${named} --url ...`;
    return { ok: false, error: `There is no profile '${named}'.`, hint };
  }
  if (url !== undefined) {
    const name = named ?? profileOf(known.profiles, url);
    const kept = name === undefined ? undefined : known.profiles[name]!;
    return found(settings, await serverAt(host, settings, url, kept && { name: name!, kept }));
  }
  const current = named ?? known.current;
  const profile = current === undefined ? undefined : known.profiles[current];
  if (profile !== undefined) return found(settings, ofProfile(current!, profile));
  const local = await findLocalServer(host, settings);
  if (local !== undefined) return found(settings, local);
  return {
    ok: false,
    error: "There is no server to call: no profile, no DAYBOOK_URL, and no data folder of a " +
      "server on this machine.",
    hint: "Start a server in the folder of Daybook (deno task start) and run this there, or log " +
      "in to another one: daybook login --url <address>.",
  };
}

function found(settings: ClientSettings, server: Server): FoundServer {
  return { ok: true, server: { ...server, token: settings.token ?? server.token } };
}

export function isAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function profileOf(profiles: Readonly<Record<string, Profile>>, url: string): string | undefined {
  return Object.keys(profiles).find((name) => isSameServer(profiles[name]!.url, url));
}

function isSameServer(one: string, other: string): boolean {
  return isAddress(one) && new URL(one).origin === new URL(other).origin;
}

function ofProfile(
  name: string,
  { url, keys = {}, token, instance, environment }: Profile,
): Server {
  const origin = `profile '${name}'`;
  // Whoever wants production says so.
  const place = environment ?? "test";
  return { url, urls: {}, keys, token, instance, environment: place, profile: name, origin };
}

async function serverAt(
  host: Host,
  settings: ClientSettings,
  url: string,
  profile: { readonly name: string; readonly kept: Profile } | undefined,
): Promise<Server> {
  if (profile !== undefined && isSameServer(profile.kept.url, url)) {
    const { environment } = profile.kept;
    return { ...ofProfile(profile.name, profile.kept), url, environment };
  }
  const local = await findLocalServer(host, settings);
  const environment = ENVIRONMENTS.find((name) => local && isSameServer(local.urls[name], url));
  if (local !== undefined && environment !== undefined) return { ...local, url, environment };
  return { url, urls: {}, keys: {}, origin: "the address that was given" };
}

/** The server on this machine, as the file of its first start and the settings describe it. */
export async function findLocalServer(
  host: Host,
  { namesServer, namesData }: ClientSettings,
): Promise<LocalServer | undefined> {
  const parsed = readConfig();
  if (!parsed.ok) return undefined;
  const { config } = parsed;
  const folders = namesData ? [config.dataDir] : [config.dataDir, rootData()];
  for (const folder of folders) {
    // A server for development is here only while it runs.
    const development = await serverOf(host, config, developmentFolder(folder));
    if (development !== undefined && await answers(host, development.url)) return development;
    const server = await serverOf(host, config, folder);
    if (server === undefined) continue;
    return namesServer ? { ...server, ...placesOf(baseUrls(config, server.slug)) } : server;
  }
}

/** Where `dev` keeps its store while it runs, inside of the data folder. */
export function developmentFolder(dataDir: string): string {
  return `${dataDir}/dev`;
}

export interface LocalServer extends Server {
  readonly slug: string;
  readonly urls: Readonly<Record<Environment, string>>;
}

function placesOf(urls: LocalServer["urls"]): Pick<LocalServer, "url" | "urls"> {
  return { url: urls.test, urls };
}

/** The server whose data folder this is, as its first start has written it down. */
export async function serverOf(
  host: Host,
  config: Config,
  folder: string,
): Promise<LocalServer | undefined> {
  const file = await readCredentials(`${folder}/credentials.json`);
  if (file === undefined) return undefined;
  const keys = Object.fromEntries(
    ENVIRONMENTS.map((name) => [name, file.keys[name].write]),
  ) as Record<Environment, string>;
  return {
    ...placesOf(file.base_urls),
    keys,
    token: await localToken(host, config, folder) ?? file.operator_token,
    instance: file.instance_id,
    slug: file.slug,
    origin: `the server of ${folder}`,
  };
}

async function answers(host: Host, url: string): Promise<boolean> {
  const answer = await ask(host, {}, { base: url, path: "/health/live", as: "nobody" });
  return answer.ok;
}

function rootData(): string {
  return decodeURIComponent(ROOT_DATA.pathname);
}

interface CredentialsFile {
  readonly instance_id: string;
  readonly slug: string;
  readonly base_urls: Readonly<Record<Environment, string>>;
  readonly keys: Readonly<Record<Environment, { readonly write: string }>>;
  readonly operator_token: string;
}

async function readCredentials(path: string): Promise<CredentialsFile | undefined> {
  try {
    return parseJson(await Deno.readTextFile(path)) as CredentialsFile;
  } catch {
    return undefined;
  }
}

/** The token in the file lasts a day; who may read the secret beside it needs none from there. */
async function localToken(
  host: Host,
  config: Config,
  folder: string,
): Promise<string | undefined> {
  const secret = config.jwtSecret ?? await readSecret(host, folder);
  if (secret === undefined) return undefined;
  const lifetimeSeconds = LOCAL_TOKEN_SECONDS;
  return (await mintOperatorToken({ secret, subject: "cli", nowMs: host.nowMs(), lifetimeSeconds }))
    .token;
}

/** Undefined where the secret is elsewhere, as with a cluster, or is not ours to read. */
async function readSecret(host: Host, folder: string): Promise<Uint8Array | undefined> {
  try {
    await Deno.stat(`${folder}/jwt_secret`);
    return await readOrMakeJwtSecret(folder, host);
  } catch {
    return undefined;
  }
}

/** Where the address of another environment of the same server must be, by either scheme. */
export function siblingUrl(url: string, from: Environment, to: Environment): string | undefined {
  const address = new URL(url);
  if (address.port !== "") {
    const port = Number(address.port) + ENVIRONMENTS.indexOf(to) - ENVIRONMENTS.indexOf(from);
    address.port = String(port);
    return address.origin;
  }
  const [label, ...rest] = address.hostname.split(".");
  if (rest.length === 0) return undefined;
  const slug = from === "production" ? label! : label!.replace(new RegExp(`-${from}$`), "");
  address.hostname = [to === "production" ? slug : `${slug}-${to}`, ...rest].join(".");
  return address.origin;
}
