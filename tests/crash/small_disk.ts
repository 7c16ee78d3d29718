/** A disk of a few megabytes that a test can fill. */

export interface SmallDisk {
  readonly folder: string;
  /** Takes `bytes` of it, at most what is free. */
  takeBallast(bytes: number): Promise<void>;
  dropBallast(): Promise<void>;
}

const BLOCK_BYTES = 64 * 1024;

async function run(command: string, ...args: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, { args, stderr: "null" }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** False if this user may not mount, as in most containers without privileges. */
export async function canMount(): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_mount_" });
  const isMounted = await mountMemory(folder, 1);
  if (isMounted) await run("umount", folder);
  await Deno.remove(folder);
  return isMounted;
}

function mountMemory(folder: string, megabytes: number): Promise<boolean> {
  return run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder);
}

/** Removes the disk when `body` ends; no process may have files on it then. */
export async function withSmallDisk(
  megabytes: number,
  body: (disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_small_disk_" });
  if (!await mountMemory(folder, megabytes)) throw new Error("mounting failed");
  const ballast = `${folder}/ballast`;
  try {
    await body({
      folder,
      takeBallast: (bytes) => fill(ballast, bytes),
      dropBallast: () => Deno.remove(ballast),
    });
  } finally {
    await run("umount", folder);
    await Deno.remove(folder);
  }
}

async function fill(path: string, bytes: number): Promise<void> {
  using file = await Deno.open(path, { create: true, append: true });
  const block = new Uint8Array(BLOCK_BYTES);
  try {
    for (let left = bytes; left > 0; left -= BLOCK_BYTES) await file.write(block);
  } catch (error) {
    if (!String(error).includes("No space left")) throw error;
  }
}
