/**
 * A reader of a live answer on a bare TCP connection, so light that a hundred of them leave time
 * for the writes that they wait for.
 */

import { parseHead } from "./http_connection.ts";

const BUFFER_BYTES = 256 * 1024;
const LF = 10;
const decoder = new TextDecoder("latin1");
const encoder = new TextEncoder();

export interface FeedReaderOptions {
  readonly port: number;
  readonly authorization: string;
  /** With its query. */
  readonly path: string;
  /** Sees what has come of the body; the bytes hold until it returns. */
  readonly onBytes: (bytes: Uint8Array) => void;
  /** Takes so many bytes once a second. Absent: all, at once. */
  readonly bytesPerSecond?: number;
}

export interface FeedReader {
  close(): void;
}

/** Resolves when the answer has begun. The server may not end it before `close`. */
export async function openFeedReader(options: FeedReaderOptions): Promise<FeedReader> {
  const { port, path, authorization, onBytes, bytesPerSecond } = options;
  const socket = await Deno.connect({ hostname: "127.0.0.1", port });
  await socket.write(encoder.encode(
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/x-ndjson\r\n` +
      `authorization: ${authorization}\r\n\r\n`,
  ));
  const buffer = new Uint8Array(bytesPerSecond ?? BUFFER_BYTES);
  const takeChunks = openChunks(onBytes);
  // The head is short, and comes in one piece.
  const first = buffer.subarray(0, await socket.read(buffer) ?? 0);
  const head = decoder.decode(first);
  if (parseHead(head).status !== 200) throw new Error(`a live answer: ${head}`);
  takeChunks(first.subarray(head.indexOf("\r\n\r\n") + 4));
  let isClosed = false;

  async function run(): Promise<void> {
    for (;;) {
      if (bytesPerSecond !== undefined) await new Promise((done) => setTimeout(done, 1_000));
      // Closing the socket ends a read under way with an error.
      const length = await socket.read(buffer).catch(() => null);
      if (isClosed) return;
      if (length === null) throw new Error("the server closed a live answer");
      takeChunks(buffer.subarray(0, length));
    }
  }

  // A failure ends the bench: its figures would be those of fewer readers.
  void run();
  return {
    close() {
      isClosed = true;
      socket.close();
    },
  };
}

/** Takes the framing of a chunked body off. */
function openChunks(onBytes: (bytes: Uint8Array) => void): (bytes: Uint8Array) => void {
  /** What the chunk under way still has. */
  let left = 0;
  /** The line under way: the size of a chunk, or the end of the one before. */
  let line = "";
  return (bytes) => {
    for (let at = 0; at < bytes.length;) {
      if (left > 0) {
        const payload = bytes.subarray(at, at + left);
        onBytes(payload);
        at += payload.length;
        left -= payload.length;
        continue;
      }
      const end = bytes.indexOf(LF, at);
      line += decoder.decode(bytes.subarray(at, end < 0 ? undefined : end));
      if (end < 0) return;
      if (line !== "\r") left = Number.parseInt(line, 16);
      line = "";
      at = end + 1;
    }
  };
}
