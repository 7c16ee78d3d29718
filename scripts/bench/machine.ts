/** The machine under the bench: what it is, who runs on which core, what its disk's sync costs. */

/** True when there are two cores and `taskset`: then the server gets core 0, the load core 1. */
export async function pinLoadGenerator(): Promise<boolean> {
  if (navigator.hardwareConcurrency < 2) return false;
  try {
    const { success } = await new Deno.Command("taskset", {
      args: ["-a", "-c", "-p", "1", String(Deno.pid)],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

export function serverWrapper(isPinned: boolean): string[] {
  return isPinned ? ["taskset", "-c", "0"] : [];
}

export async function describeMachine(isPinned: boolean): Promise<string[]> {
  const processor = /model name\s*: (.*)/.exec(await readOr("/proc/cpuinfo", ""))?.[1] ?? "unknown";
  const memory = Deno.systemMemoryInfo().total / 2 ** 30;
  const load = Deno.loadavg()[0]!;
  return [
    `${new Date().toISOString()}  Deno ${Deno.version.deno}, V8 ${Deno.version.v8}, ` +
    `TypeScript ${Deno.version.typescript}`,
    `${processor}, ${navigator.hardwareConcurrency} cores, ${memory.toFixed(0)} GiB, ` +
    `${Deno.build.os} ${Deno.osRelease()}, load before ${load.toFixed(2)}`,
    isPinned
      ? "server on core 0, load generator on core 1"
      : "NOT pinned to cores: figures vary with the scheduler",
  ];
}

/** Milliseconds of each of many 4 KiB appends, each with an fdatasync, in the given folder. */
export function measureSync(folder: string, count: number): number[] {
  const path = `${folder}/sync_probe`;
  const file = Deno.openSync(path, { create: true, write: true });
  const page = new Uint8Array(4096).fill(1);
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now();
    file.writeSync(page);
    file.syncDataSync();
    times.push(performance.now() - startedAt);
  }
  file.close();
  Deno.removeSync(path);
  return times;
}

/** Processor time that a process has used, in microseconds; Linux counts it in hundredths. */
export function processorMicros(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13);
  return (Number(user) + Number(system)) * 10_000;
}

/** Resident memory of a process in MiB. */
export async function residentMemory(pid: number): Promise<number> {
  const status = await readOr(`/proc/${pid}/status`, "");
  return Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1] ?? NaN) / 1024;
}

async function readOr(path: string, otherwise: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => otherwise);
}
