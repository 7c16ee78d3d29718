/** Reads and writes files in whole chunks, and makes their names last. */

const CHUNK_BYTES = 1024 * 1024;

/** The bytes of a file, in chunks of up to 1 MiB. */
export async function* readChunks(path: string): AsyncGenerator<Uint8Array> {
  using file = await Deno.open(path, { read: true });
  for (;;) {
    const chunk = new Uint8Array(CHUNK_BYTES);
    const read = await file.read(chunk);
    if (read === null) return;
    yield chunk.subarray(0, read);
  }
}

/** A single `write` may take fewer bytes than it is given. */
export async function writeAll(
  file: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

/** Makes what was created or renamed in a folder survive a power cut. */
export async function syncNamesIn(path: string): Promise<void> {
  using folder = await Deno.open(path, { read: true });
  await folder.sync();
}
