/** The memory of a process and of its children, as Linux counts it, in MiB. */

/** The largest resident size since the last {@link forgetPeak}; undefined if it has ended. */
export function peakMemory(pid: number): number | undefined {
  return statusField(pid, "VmHWM");
}

export function residentMemory(pid: number): number | undefined {
  return statusField(pid, "VmRSS");
}

function statusField(pid: number, name: string): number | undefined {
  try {
    const status = Deno.readTextFileSync(`/proc/${pid}/status`);
    const kilobytes = new RegExp(`^${name}:\\s*(\\d+) kB`, "m").exec(status)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}

/** Starts counting the peak anew. */
export function forgetPeak(pid: number): void {
  try {
    Deno.writeTextFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // If that is not permitted, the peak is that of the whole lifetime.
  }
}

/** All processes below this one. */
export function descendants(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const isBelow = (each: number): boolean => {
    const parent = parents.get(each);
    return parent !== undefined && (parent === pid || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

/**
 * Kills those of these processes that still run although their server is gone, and returns how
 * many they were: a child must not outlive its parent.
 */
export function endOrphans(pids: readonly number[]): number {
  let count = 0;
  for (const pid of pids) {
    if (residentMemory(pid) === undefined) continue;
    count++;
    Deno.kill(pid, "SIGKILL");
  }
  return count;
}

export interface MemoryWatch {
  /** Peaks of the server itself, and of the child with the highest one. */
  end(): { readonly serverMiB: number; readonly childMiB: number };
}

const SAMPLE_MS = 100;

/** Watches a server and its children until `end`; calls `tooMuch` once if the limit is exceeded. */
export function watchMemory(pid: number, limitMiB: number, tooMuch: () => void): MemoryWatch {
  forgetPeak(pid);
  let serverMiB = 0;
  let childMiB = 0;
  let isTold = false;
  const look = () => {
    serverMiB = Math.max(serverMiB, peakMemory(pid) ?? 0);
    for (const child of descendants(pid)) childMiB = Math.max(childMiB, peakMemory(child) ?? 0);
    if (isTold || (residentMemory(pid) ?? 0) <= limitMiB) return;
    isTold = true;
    tooMuch();
  };
  const timer = setInterval(look, SAMPLE_MS);
  return {
    end() {
      look();
      clearInterval(timer);
      return { serverMiB, childMiB };
    },
  };
}
