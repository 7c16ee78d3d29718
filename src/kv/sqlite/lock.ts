/**
 * Locks a store so that only one process owns it. The lock is the operating system's and on an
 * open file, so it ends with its process, however that ends. Used by `sqlite/file.ts` and by the
 * checks of a closed store.
 */

/** Another process, or another engine in this one, has the store open. */
export class StoreInUse extends Error {
  override readonly name = "StoreInUse";
}

/**
 * Takes the lock of the store at `path` (the database file) until `release` is called.
 * @throws {StoreInUse} when it is taken.
 */
export function lockStore(path: string): { release(): void } {
  const file = Deno.openSync(`${path}.lock`, {
    create: true,
    read: true,
    write: true,
    mode: 0o600,
  });
  if (!file.tryLockSync(true)) {
    file.close();
    throw new StoreInUse(
      `The store ${path} is in use by another process. Stop that process, or choose another ` +
        "data folder for this one. The lock ends with its process: nothing needs to be deleted",
    );
  }
  // Closing the file releases the lock. The file stays: removing it would let two owners in.
  return { release: () => file.close() };
}
