/**
 * A keep-alive HTTP/1.1 client on a bare TCP connection. It is so light that one core asks for
 * more than the server's core can answer. It reads what our servers send, not everything that
 * HTTP allows.
 */

export interface Reply {
  status: number;
  /** Offsets in `bytes`. Both, and the bytes, hold until the next exchange on the connection. */
  bodyStart: number;
  bodyEnd: number;
  bytes: Uint8Array<ArrayBuffer>;
}

export interface HttpConnection {
  /** Sends the parts of one request and reads its reply. One exchange at a time. */
  exchange(...parts: readonly Uint8Array[]): Promise<Reply>;
  close(): void;
}

const BUFFER_BYTES = 64 * 1024;
const CR = 13;
const LF = 10;
const decoder = new TextDecoder("latin1");

export async function openConnection(port: number): Promise<HttpConnection> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port });
  socket.setNoDelay(true);
  const reply: Reply = { status: 0, bodyStart: 0, bodyEnd: 0, bytes: new Uint8Array(BUFFER_BYTES) };

  async function fill(length: number): Promise<number> {
    if (length === reply.bytes.length) grow(reply, length * 2);
    const read = await socket.read(reply.bytes.subarray(length));
    if (read === null) throw new Error("the server closed the connection");
    return length + read;
  }

  return {
    async exchange(...parts) {
      for (const part of parts) await writeAll(socket, part);
      let length = await fill(0);
      let headEnd = endOfHead(reply.bytes, length);
      while (headEnd < 0) {
        length = await fill(length);
        headEnd = endOfHead(reply.bytes, length);
      }
      const head = parseHead(decoder.decode(reply.bytes.subarray(0, headEnd)));
      reply.status = head.status;
      reply.bodyStart = headEnd;
      if (head.contentLength !== undefined) {
        reply.bodyEnd = headEnd + head.contentLength;
        if (reply.bodyEnd > reply.bytes.length) grow(reply, reply.bodyEnd);
        while (length < reply.bodyEnd) length = await fill(length);
        return reply;
      }
      // Chunked: the framing stays between the chunks, because nothing here reads such a body.
      while (!endsChunked(reply.bytes, length)) length = await fill(length);
      reply.bodyEnd = length;
      return reply;
    },
    close: () => socket.close(),
  };
}

/** The body as text, for inspection; it is not fast. */
export function bodyText(reply: Reply): string {
  return new TextDecoder().decode(reply.bytes.subarray(reply.bodyStart, reply.bodyEnd));
}

async function writeAll(socket: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) {
    sent += await socket.write(sent === 0 ? bytes : bytes.subarray(sent));
  }
}

function grow(reply: Reply, size: number): void {
  const bytes = new Uint8Array(Math.max(size, reply.bytes.length * 2));
  bytes.set(reply.bytes);
  reply.bytes = bytes;
}

/** The offset at which the body begins, or -1. */
export function endOfHead(bytes: Uint8Array, length: number): number {
  for (let i = 3; i < length; i++) {
    if (
      bytes[i] === LF && bytes[i - 1] === CR && bytes[i - 2] === LF && bytes[i - 3] === CR
    ) return i + 1;
  }
  return -1;
}

export function parseHead(head: string): { status: number; contentLength?: number } {
  const status = Number(head.slice(9, 12));
  const contentLength = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (contentLength !== undefined) return { status, contentLength: Number(contentLength) };
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return { status };
  return { status, contentLength: 0 };
}

function endsChunked(bytes: Uint8Array, length: number): boolean {
  return length >= 5 && decoder.decode(bytes.subarray(length - 5, length)) === "0\r\n\r\n";
}
