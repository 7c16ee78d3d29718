/** Runs something when files change: once they have been quiet for a moment, one run at a time. */

/** Editors write a file in several steps. */
const QUIET_MS = 100;
const MODULE = /\.[cm]?[jt]sx?$/;

export interface WatchedFile {
  readonly path: string;
  /** Runs after a change. A number of milliseconds asks for another run after so long. */
  readonly run: () => Promise<number | void>;
}

export interface Watching {
  /** Runs for the path as if it had changed; resolves when that is done. */
  trigger(path: string): Promise<void>;
  /** Resolves when the watching has ended, which it does not do by itself. */
  readonly ended: Promise<void>;
  stop(): void;
}

/**
 * Watches folders, because editors replace files. For a module, any module beside it counts, since
 * it may import it.
 */
export function watchFiles(files: readonly WatchedFile[]): Watching {
  const watcher = Deno.watchFs([...new Set(files.map(({ path }) => folderOf(path)))], {
    recursive: false,
  });
  const timers = new Map<WatchedFile, ReturnType<typeof setTimeout>>();
  let last: Promise<void> = Promise.resolve();

  function plan(file: WatchedFile, milliseconds: number): void {
    clearTimeout(timers.get(file));
    timers.set(file, setTimeout(() => void enqueue(file), milliseconds));
  }

  function enqueue(file: WatchedFile): Promise<void> {
    return last = last.then(async () => {
      const againMs = await file.run();
      if (typeof againMs === "number") plan(file, againMs);
    });
  }

  async function listen(): Promise<void> {
    for await (const { kind, paths } of watcher) {
      if (kind === "access") continue;
      for (const file of files) {
        if (paths.some((path) => concerns(file.path, path))) plan(file, QUIET_MS);
      }
    }
  }

  return {
    trigger: async (path) => {
      const file = files.find((each) => each.path === path);
      if (file !== undefined) await enqueue(file);
    },
    ended: listen(),
    stop() {
      for (const timer of timers.values()) clearTimeout(timer);
      watcher.close();
    },
  };
}

function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) || "/" : ".";
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function concerns(watched: string, changed: string): boolean {
  return nameOf(changed) === nameOf(watched) || (MODULE.test(watched) && MODULE.test(changed));
}
