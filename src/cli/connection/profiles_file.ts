/**
 * The file of profiles in the user's configuration: which servers there are, and with which
 * credentials to call them. Only its owner may read it.
 */

import { type Environment, ENVIRONMENTS } from "../../domain/tenant.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export interface Profile {
  /** The address of the server, or of one of its environments. */
  readonly url: string;
  /** Id or slug; needed where the server has several. */
  readonly instance?: string;
  /** The environment of commands without `--env`. */
  readonly environment?: Environment;
  readonly token?: string;
  /** ISO 8601 UTC. */
  readonly token_expires_at?: string;
  readonly keys?: Readonly<Partial<Record<Environment, string>>>;
}

export interface Profiles {
  /** The profile of commands without `--profile`. */
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const OWNER_ONLY = 0o600;
const FOLDER_MODE = 0o700;
const OTHERS = 0o077;
const NAME = "profiles.json";
export const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function profilesPath(folder: string): string {
  return `${folder}/${NAME}`;
}

/**
 * The profiles of the folder; none if there is no file.
 * @throws {Error} if the file is not one of ours.
 */
export async function readProfiles(folder: string | undefined): Promise<Profiles> {
  if (folder === undefined) return { profiles: {} };
  const path = profilesPath(folder);
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { profiles: {} };
    throw error;
  }
  await closeToOthers(path);
  return parseProfiles(text, path);
}

/** Somebody may have copied the file without its mode. */
async function closeToOthers(path: string): Promise<void> {
  const { mode } = await Deno.stat(path);
  if (((mode ?? 0) & OTHERS) !== 0) await Deno.chmod(path, OWNER_ONLY);
}

/** @throws {Error} if the text is not what `writeProfiles` writes. */
export function parseProfiles(text: string, path: string): Profiles {
  let file: unknown;
  try {
    file = parseJson(text);
  } catch {
    file = undefined;
  }
  if (isProfiles(file)) return file;
  throw new Error(`${path} is not a file of profiles: correct it, or remove it and log in again`);
}

function isProfiles(file: unknown): file is Profiles {
  if (!isRecord(file) || !isRecord(file.profiles)) return false;
  if (file.current !== undefined && typeof file.current !== "string") return false;
  return Object.values(file.profiles).every(isProfile);
}

function isProfile(profile: unknown): boolean {
  if (!isRecord(profile) || typeof profile.url !== "string") return false;
  const texts = [profile.instance, profile.token, profile.token_expires_at, profile.environment];
  const keys = isRecord(profile.keys) ? profile.keys : {};
  return [...texts, ...ENVIRONMENTS.map((name) => keys[name])].every((text) =>
    text === undefined || typeof text === "string"
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Writes to another name and renames, so that a reader sees the old or the new file, whole. */
export async function writeProfiles(folder: string, profiles: Profiles): Promise<void> {
  await Deno.mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const path = profilesPath(folder);
  const part = `${path}.part`;
  await Deno.writeTextFile(part, JSON.stringify(profiles, null, 2) + "\n", { mode: OWNER_ONLY });
  // `mode` applies only if the file did not exist.
  await Deno.chmod(part, OWNER_ONLY);
  await Deno.rename(part, path);
}

/** The profiles with one of them changed or added. */
export function withProfile(
  profiles: Profiles,
  name: string,
  change: (before: Profile | undefined) => Profile,
): Profiles {
  const changed = change(profiles.profiles[name]);
  return { ...profiles, profiles: { ...profiles.profiles, [name]: changed } };
}
