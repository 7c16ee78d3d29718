/**
 * One hostile exchange over a bare connection: bytes out in pieces, everything that comes back.
 */

export interface Exchange {
  /** The status of each answer, in order; empty if the server closed without an answer. */
  readonly statuses: readonly number[];
  readonly text: string;
  /** True if neither an answer nor an end came in time. */
  readonly hung: boolean;
}

export interface Sending {
  readonly pieces: readonly Uint8Array[];
  /** If false, the bytes may be an unfinished request, which the server may wait for. */
  readonly complete: boolean;
}

/** A longer wait is a hang. */
export const ANSWER_MS = 5_000;
/** An unfinished request waits this long before its sending side is closed. */
const UNFINISHED_MS = 80;
const STATUS_LINE = /HTTP\/1\.[01] ([1-5][0-9]{2}) /g;
const latin1 = new TextDecoder("latin1");

/** Sends, reads until the answer is whole or the server closes, then closes. */
export async function exchange(port: number, { pieces, complete }: Sending): Promise<Exchange> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const received = { text: "", ended: false, arrived: () => {} };
  const reading = readAll(connection, received);
  try {
    await sendAll(connection, pieces);
    if (!complete && !await answerWithin(received, UNFINISHED_MS)) await finish(connection);
    const answered = await answerWithin(received, ANSWER_MS);
    const statuses = [...received.text.matchAll(STATUS_LINE)].map((match) => Number(match[1]));
    return { statuses, text: received.text, hung: !answered };
  } finally {
    closeQuietly(connection);
    await reading;
  }
}

interface Received {
  text: string;
  ended: boolean;
  arrived: () => void;
}

async function readAll(connection: Deno.Conn, received: Received): Promise<void> {
  const buffer = new Uint8Array(64 * 1024);
  try {
    for (let read = 0; read !== null;) {
      received.text += latin1.decode(buffer.subarray(0, read));
      received.arrived();
      read = await connection.read(buffer) as number;
    }
  } catch {
    // A reset is an end like any other.
  }
  received.ended = true;
  received.arrived();
}

async function sendAll(connection: Deno.Conn, pieces: readonly Uint8Array[]): Promise<void> {
  try {
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await new Promise((resolve) => setTimeout(resolve, 2));
      for (let sent = 0; sent < piece.length;) sent += await connection.write(piece.subarray(sent));
    }
  } catch {
    // The server rejected the request before its end.
  }
}

/** Returns true as soon as one whole answer is there or the connection has ended. */
async function answerWithin(received: Received, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  while (!received.ended && !isWholeAnswer(received.text)) {
    const left = until - performance.now();
    if (left <= 0) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, left);
    received.arrived = resolve;
    await promise;
    clearTimeout(timer);
  }
  return true;
}

/** Answers to HEAD have a length and no body; those end when the server closes. */
function isWholeAnswer(text: string): boolean {
  const start = text.startsWith("HTTP/1.1 100 ") ? text.indexOf("\r\n\r\n") + 4 : 0;
  const headEnd = text.indexOf("\r\n\r\n", start);
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: *([0-9]+)/i.exec(text.slice(start, headEnd))?.[1];
  return text.length >= headEnd + 4 + Number(length ?? 0);
}

async function finish(connection: Deno.Conn): Promise<void> {
  try {
    await connection.closeWrite();
  } catch {
    // The other side has closed meanwhile.
  }
}

function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // Already closed.
  }
}
