/**
 * The two files of the data folder that hold secrets: both have mode 0600 and are written
 * whole.
 */

import type { Credentials, CredentialsPlace } from "./features/access/bootstrap.ts";
import type { PrivateFile } from "./features/backup/write_backup.ts";
import { syncNamesIn, writeAll } from "./files.ts";
import type { Host } from "./host.ts";
import { parseJson } from "./domain/json_text/parse_json.ts";

const CREDENTIALS = "credentials.json";
const JWT_SECRET = "jwt_secret";
const PENDING = ".pending";
const OWNER_ONLY = 0o600;
const OTHERS = 0o077;
const SECRET_BYTES = 32;
const SECRET_TEXT = /^[0-9a-f]{64}$/;

export interface CredentialsFile extends CredentialsPlace {
  readonly path: string;
  /** Writes where the server is now, if that is elsewhere than the file says. */
  moveTo(urlsOf: (slug: string) => Credentials["base_urls"]): Promise<void>;
}

/**
 * The API keys of the first start, in `credentials.json`. Until they are valid, the file's name
 * ends in the id of their instance and `.pending`, because several processes may share a
 * folder.
 */
export function credentialsFile(dataDir: string): CredentialsFile {
  const path = `${dataDir}/${CREDENTIALS}`;
  const pendingPath = (instanceId: string) => `${path}.${instanceId}${PENDING}`;

  return {
    path,
    async describe() {
      await Deno.mkdir(dataDir, { recursive: true, mode: 0o700 });
      return `${await Deno.realPath(dataDir)}/${CREDENTIALS}${machine()}`;
    },
    readPublished: async () => parseCredentials(await readIfThere(path)),
    async listPending() {
      const texts = await Promise.all(
        (await namesIn(dataDir))
          .filter((name) => name.startsWith(`${CREDENTIALS}.`) && name.endsWith(PENDING))
          .map((name) => readIfThere(`${dataDir}/${name}`)),
      );
      return texts.map(parseCredentials).filter((one) => one !== undefined);
    },
    writePending: (credentials) =>
      writePrivateFile(
        pendingPath(credentials.instance_id),
        JSON.stringify(credentials, undefined, 2) + "\n",
      ),
    async publish(instanceId) {
      try {
        await Deno.rename(pendingPath(instanceId), path);
      } catch (error) {
        const published = parseCredentials(await readIfThere(path));
        if (published?.instance_id !== instanceId) throw error;
      }
      await syncNamesIn(dataDir);
    },
    async moveTo(urlsOf) {
      const published = parseCredentials(await readIfThere(path));
      if (published === undefined) return;
      const base_urls = urlsOf(published.slug);
      if (JSON.stringify(base_urls) === JSON.stringify(published.base_urls)) return;
      await writePrivateFile(
        path,
        JSON.stringify({ ...published, base_urls }, undefined, 2) + "\n",
      );
    },
    async discardPending(instanceId) {
      try {
        await Deno.remove(pendingPath(instanceId));
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    },
  };
}

/** The files of the data folder that a backup has beside the store. */
export async function readPrivateFiles(dataDir: string): Promise<PrivateFile[]> {
  const files: PrivateFile[] = [];
  for (const name of [CREDENTIALS, JWT_SECRET]) {
    const text = await readIfThere(`${dataDir}/${name}`);
    if (text !== undefined) files.push({ name, content: new TextEncoder().encode(text) });
  }
  return files;
}

/** Writes what {@link readPrivateFiles} has read into the folder of a restored deployment. */
export async function writePrivateFiles(
  dataDir: string,
  files: readonly PrivateFile[],
): Promise<void> {
  for (const { name, content } of files) {
    if (name !== CREDENTIALS && name !== JWT_SECRET) continue;
    await writePrivateFile(`${dataDir}/${name}`, new TextDecoder().decode(content));
  }
}

function parseCredentials(text: string | undefined): Credentials | undefined {
  try {
    return text === undefined ? undefined : parseJson(text) as Credentials;
  } catch {
    // Our files are written whole, so this one is not ours.
    return undefined;
  }
}

/** The machine's name for messages; empty if this process may not read it. */
function machine(): string {
  try {
    return ` on ${Deno.hostname()}`;
  } catch {
    return "";
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** The secret of operator tokens, 32 bytes, from `jwt_secret`; the first call creates the file. */
export async function readOrMakeJwtSecret(dataDir: string, host: Host): Promise<Uint8Array> {
  const path = `${dataDir}/${JWT_SECRET}`;
  const existing = await readIfThere(path);
  if (existing !== undefined) return await decodeSecret(path, existing);
  const made = `${path}.${host.randomBytes(8).toHex()}`;
  await writePrivateFile(made, host.randomBytes(SECRET_BYTES).toHex() + "\n");
  try {
    // Unlike a rename, a link never replaces a file that another process made meanwhile.
    await Deno.link(made, path);
    await syncNamesIn(dataDir);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  } finally {
    await Deno.remove(made);
  }
  return await decodeSecret(path, await Deno.readTextFile(path));
}

async function decodeSecret(path: string, text: string): Promise<Uint8Array> {
  const hex = text.trim();
  if (!SECRET_TEXT.test(hex)) {
    throw new Error(`${path} must hold 64 hex characters; remove it to have a new one made`);
  }
  const { mode } = await Deno.stat(path);
  if (((mode ?? 0) & OTHERS) !== 0) await Deno.chmod(path, OWNER_ONLY);
  return Uint8Array.fromHex(hex);
}

/** Writes to another name, syncs and renames, so a reader sees the old or the new file, whole. */
async function writePrivateFile(path: string, text: string): Promise<void> {
  const folder = path.slice(0, path.lastIndexOf("/"));
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const part = `${path}.part`;
  const options = { write: true, create: true, truncate: true, mode: OWNER_ONLY };
  const file = await Deno.open(part, options);
  try {
    // `mode` applies only if the file did not exist.
    await Deno.chmod(part, OWNER_ONLY);
    await writeAll(file, new TextEncoder().encode(text));
    await file.sync();
  } finally {
    file.close();
  }
  await Deno.rename(part, path);
  await syncNamesIn(folder);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
