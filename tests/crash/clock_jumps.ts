/**
 * A real server whose clock is set forward and back under load, and what its clients remember.
 * The clock moves by up to hours, while the server runs and while it is dead.
 */

import { createRandom, type Random } from "./random.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

export interface ClockedServer {
  /** The process that runs now. */
  process(): ServerProcess;
  /** How far the server's clock is ahead of ours, in milliseconds. */
  aheadMs(): number;
  setAhead(milliseconds: number): Promise<void>;
  /** `kill -9`; the next process starts with its clock this far ahead. */
  killAndStart(milliseconds: number): Promise<void>;
}

const PRELOAD = new URL("../support/moved_clock.ts", import.meta.url).pathname;

export async function startClocked(
  dataDir: string,
  env: Readonly<Record<string, string>>,
): Promise<ClockedServer> {
  const path = `${dataDir}/clock`;
  let ahead = 0;

  async function setAhead(milliseconds: number): Promise<void> {
    ahead = milliseconds;
    await Deno.writeTextFile(path, `${milliseconds}\n`);
  }

  const start = () =>
    startServer({
      dataDir,
      env: { ...env, TEST_CLOCK_FILE: path },
      runtimeOptions: [`--preload=${PRELOAD}`],
    });

  await setAhead(0);
  let server = await start();
  return {
    process: () => server,
    aheadMs: () => ahead,
    setAhead,
    async killAndStart(milliseconds) {
      await server.kill();
      await setAhead(milliseconds);
      server = await start();
    },
  };
}

/** One write of a client. */
export interface ClockedWrite {
  readonly n: number;
  readonly order: string;
  readonly type: string;
  isAcknowledged: boolean;
}

interface Client {
  readonly server: ClockedServer;
  readonly random: Random;
  readonly writes: ClockedWrite[];
}

interface Load extends Client {
  isOver(): boolean;
}

const CLIENTS = 4;
const ORDERS_EACH = 3;
const TRIES_MAX = 40;
const RETRY_MS = 50;
const THINK_MS_MAX = 15;
const ACTOR = { actor: { type: "user", id: "global" } };

/** Clients that write until `isOver`. Each write has a key and is resent until it is answered. */
export async function runLoad(
  server: ClockedServer,
  seed: number,
  isOver: () => boolean,
): Promise<ClockedWrite[]> {
  const writes: ClockedWrite[] = [];
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    const random = createRandom(seed).fork(index);
    const orders = Array.from({ length: ORDERS_EACH }, () => random.uuid());
    return writeOn({ server, random, writes, isOver }, orders);
  });
  await Promise.all(clients);
  return writes;
}

/** Sends one more write, to an order of its own. */
export async function writeLast(
  server: ClockedServer,
  writes: ClockedWrite[],
  type: string,
): Promise<void> {
  const random = createRandom(writes.length);
  await write({ server, random, writes }, random.uuid(), type);
}

async function writeOn(load: Load, orders: readonly string[]): Promise<void> {
  const { random, isOver } = load;
  while (!isOver()) {
    const order = random.pick(orders);
    const type = random.pick(["was_placed", "was_promised", "was_promised", "was_paid"]);
    await write(load, order, type);
    await pause(random.next() * THINK_MS_MAX);
  }
}

async function write(client: Client, order: string, type: string): Promise<void> {
  const written = { n: client.writes.length + 1, order, type, isAcknowledged: false };
  client.writes.push(written);
  await send(client, written);
}

/** Occasionally sends the write again after the answer; the second answer must be the same. */
async function send({ server, random }: Client, write: ClockedWrite): Promise<void> {
  let first: string | undefined;
  const again = random.chance(0.2);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const reply = await post(server.process(), write);
    if (reply === undefined || reply.status >= 500 || reply.status === 409) {
      await pause(RETRY_MS);
      continue;
    }
    if (reply.status !== 201) throw new Error(`write ${write.n}: ${reply.status} ${reply.text}`);
    write.isAcknowledged = true;
    if (first !== undefined && first !== reply.text) {
      throw new Error(`write ${write.n} was answered ${first} and ${reply.text}`);
    }
    if (!again || first !== undefined) return;
    first = reply.text;
  }
}

async function post(
  { baseUrls, credentials }: ServerProcess,
  { n, order, type }: ClockedWrite,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const reply = await fetch(`${baseUrls.test}/order/${order}/${type}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${credentials.keys.test.write}`,
        "content-type": "application/json",
        "x-idempotency-key": `write-${n}`,
      },
      body: JSON.stringify({ data: { n }, metadata: ACTOR }),
      signal: AbortSignal.timeout(10_000),
    });
    return { status: reply.status, text: await reply.text() };
  } catch {
    // The server was killed.
    return undefined;
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
