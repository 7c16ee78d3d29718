/**
 * Reads `strace -f -y` output and checks that a write is acknowledged only after it was synced.
 * It follows requests by the tokens in their bodies: from the socket they arrive at, into the
 * store's files, through a sync, back to the reply's socket.
 */

/** One system call of one thread. `begin` and `end` are line numbers of the trace. */
export interface SystemCall {
  readonly thread: string;
  readonly name: string;
  readonly begin: number;
  end: number;
  /** The file descriptor with its target, e.g. `12</data/daybook.sqlite-wal>`. */
  readonly descriptor: string;
  /** The arguments as printed, including the data. */
  text: string;
  result: number;
}

export interface OrderReport {
  /** Replies with status 201 to a request with a token. */
  readonly acknowledged: number;
  /** Completed syncs of the store's files. */
  readonly syncs: number;
  readonly violations: readonly string[];
}

const READS = new Set(["read", "readv", "recvfrom", "recvmsg"]);
const WRITES = new Set(["write", "writev", "pwrite64", "pwritev", "sendto", "sendmsg"]);
const SYNCS = new Set(["fdatasync", "fsync"]);
export const TRACED_CALLS = [...READS, ...WRITES, ...SYNCS];

/** A token as it appears in a body and in the store; nothing else looks like it. */
export const TOKEN = /traced-[0-9]+-token/g;

/** Returns the calls in order of their begin. A call that never ends has the end `Infinity`. */
export function parseTrace(trace: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const open = new Map<string, SystemCall>();
  for (const [number, line] of trace.split("\n").entries()) {
    const [, thread, rest] = /^(?:\[pid\s+)?(\d+)\]?\s+(.*)$/.exec(line) ?? [];
    if (thread === undefined || rest === undefined) continue;
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const call = resumed === null ? beginCall(thread, rest, number) : open.get(thread);
    if (call === undefined) continue;
    if (resumed === null) calls.push(call);
    else call.text += resumed[1];
    if (rest.endsWith("<unfinished ...>")) {
      open.set(thread, call);
      continue;
    }
    open.delete(thread);
    call.end = number;
    call.result = Number(/ = (-?\d+)[^"]*$/.exec(rest)?.[1] ?? NaN);
  }
  return calls;
}

function beginCall(thread: string, rest: string, number: number): SystemCall | undefined {
  const [, name, descriptor, text] = /^(\w+)\((\d+<[^>]*(?:->[^>]*)?>)?(.*)$/.exec(rest) ?? [];
  if (name === undefined || descriptor === undefined) return undefined;
  return {
    thread,
    name,
    begin: number,
    end: Infinity,
    descriptor,
    text: text ?? "",
    result: NaN,
  };
}

/**
 * Compares each acknowledgement with the syncs before it. `dataDir` identifies the store's
 * files.
 */
export function checkSyncOrder(calls: readonly SystemCall[], dataDir: string): OrderReport {
  const isStore = (call: SystemCall) => call.descriptor.includes(`<${dataDir}/`);
  const isSocket = (call: SystemCall) => /<(socket|TCP|UNIX)/.test(call.descriptor);
  const stored = storedTokens(calls.filter((call) => WRITES.has(call.name) && isStore(call)));
  const syncs = calls.filter((call) => SYNCS.has(call.name) && isStore(call) && call.result === 0);
  const asked = new Map<string, Set<string>>();
  const violations: string[] = [];
  let acknowledged = 0;
  const traffic = calls
    .filter(isSocket)
    .sort((a, b) => momentOf(a) - momentOf(b));
  for (const call of traffic) {
    if (READS.has(call.name)) {
      const tokens = asked.get(call.descriptor) ?? new Set<string>();
      for (const [token] of call.text.matchAll(TOKEN)) tokens.add(token);
      asked.set(call.descriptor, tokens);
      continue;
    }
    const status = /HTTP\/1\.1 (\d{3})/.exec(call.text)?.[1];
    if (status === undefined || !WRITES.has(call.name)) continue;
    const tokens = asked.get(call.descriptor) ?? new Set<string>();
    asked.delete(call.descriptor);
    if (status !== "201" || tokens.size === 0) continue;
    acknowledged++;
    for (const token of tokens) {
      const fault = orderFault(stored.get(token) ?? [], syncs, call);
      if (fault !== undefined) violations.push(`${token}, line ${call.begin + 1}: ${fault}`);
    }
  }
  return { acknowledged, syncs: syncs.length, violations };
}

/** A request counts once it has been read, a reply once it begins to be sent. */
function momentOf(call: SystemCall): number {
  return READS.has(call.name) ? call.end : call.begin;
}

function storedTokens(writes: readonly SystemCall[]): Map<string, SystemCall[]> {
  const stored = new Map<string, SystemCall[]>();
  for (const write of writes) {
    for (const token of new Set(write.text.match(TOKEN))) {
      stored.set(token, [...stored.get(token) ?? [], write]);
    }
  }
  return stored;
}

/**
 * Returns undefined if a write of the token, then a sync of the same file, ended before the
 * reply.
 */
function orderFault(
  writes: readonly SystemCall[],
  syncs: readonly SystemCall[],
  reply: SystemCall,
): string | undefined {
  const before = writes.filter((write) => write.end < reply.begin);
  if (before.length === 0) return "acknowledged before it was written to a file of the store";
  const isSynced = before.some((write) =>
    syncs.some((sync) =>
      fileOf(sync) === fileOf(write) && write.end < sync.begin && sync.end < reply.begin
    )
  );
  return isSynced ? undefined : "acknowledged before the file that holds it was synced";
}

/** A file may be written through one descriptor and synced through another. */
function fileOf({ descriptor }: SystemCall): string {
  return descriptor.slice(descriptor.indexOf("<"));
}
