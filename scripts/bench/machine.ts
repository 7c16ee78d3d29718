/**
 * The machine under the bench: what it is, which core runs what, and what a sync of its disk
 * costs.
 */

/** From this share on, a thread has no time left: the rest goes to the scheduler. */
const BUSY = 0.85;

/** Returns true if there are two cores and `taskset`: the server gets core 0, the load core 1. */
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

/** The time of each of `count` 4 KiB appends with an fdatasync in the folder, in milliseconds. */
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

/**
 * Processor time that a process has used, in microseconds; Linux counts it in hundredths of a
 * second.
 */
export function processorMicros(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13);
  return (Number(user) + Number(system)) * 10_000;
}

/**
 * The share of one core that each process uses during the work, above 1 with several threads.
 * `others` is the share of everything else on the machine.
 */
export async function measureShares(
  processes: Readonly<Record<string, number>>,
  delayMs: number,
  ms: number,
): Promise<Record<string, number>> {
  const pause = (length: number) => new Promise((resolve) => setTimeout(resolve, length));
  const names = Object.keys(processes);
  const read = () => [...names.map((name) => processorMicros(processes[name]!)), machineMicros()];
  await pause(delayMs);
  const [before, startedAt] = [read(), performance.now()];
  await pause(ms);
  const [after, micros] = [read(), (performance.now() - startedAt) * 1000];
  const shares = after.map((value, index) => (value - before[index]!) / micros);
  const own = shares.slice(0, -1);
  const others = shares.at(-1)! - own.reduce((sum, share) => sum + share, 0);
  return {
    ...Object.fromEntries(names.map((name, index) => [name, own[index]!])),
    others: Math.max(0, others),
  };
}

/** Names the process that had no time left, or the whole machine, by the shares of one core. */
export function nameLimit(shares: Readonly<Record<string, number>>, cores: number): string {
  const entries = Object.entries(shares);
  const sum = entries.reduce((total, [, share]) => total + share, 0);
  if (sum >= cores * BUSY) return `the machine's ${cores} cores`;
  const [name, share] = entries.reduce((most, each) => each[1] > most[1] ? each : most);
  return share >= BUSY ? name : "no processor";
}

/** Processor time that the whole machine has used, in microseconds. */
function machineMicros(): number {
  const [line] = Deno.readTextFileSync("/proc/stat").split("\n");
  const [user, nice, system, , , irq, softirq, steal] = line!.split(/\s+/).slice(1).map(Number);
  const used = [user, nice, system, irq, softirq, steal].map((ticks) => ticks ?? 0);
  return used.reduce((sum, ticks) => sum + ticks, 0) * 10_000;
}

/** Resident memory of a process in MiB. */
export async function residentMemory(pid: number): Promise<number> {
  const status = await readOr(`/proc/${pid}/status`, "");
  return Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1] ?? NaN) / 1024;
}

async function readOr(path: string, otherwise: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => otherwise);
}
