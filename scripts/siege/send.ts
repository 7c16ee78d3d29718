/**
 * The attackers: each sends the requests of a wave in its manner until it is told to stop. All
 * traffic goes to this machine. Their answers are counted by status.
 */

import { endOfHead, parseHead } from "../bench/http_connection.ts";
import type { Credential, HostileRequest, Manner, Wave } from "./attack.ts";

export interface Target {
  /** The port of the test environment; staging listens on the port before it. */
  readonly port: number;
  readonly instance: string;
  readonly credentials: Readonly<Record<Credential, string | undefined>>;
}

/** How often each answer came: a status, or what came instead. */
export type Answers = Map<string, number>;

const ATTACKER_ADDRESS = "10.0.0.1";
const WITHHELD_BYTES = 4;
const DRIP_MS = 500;
const HANG_UP_MS = 5;
const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");

export function count(answers: Answers, answer: string): void {
  answers.set(answer, (answers.get(answer) ?? 0) + 1);
}

/** Resolves when the signal is given, or when all clients have sent all their requests. */
export async function sendWaves(
  waves: readonly Wave[],
  target: Target,
  signal: AbortSignal,
  answers: Answers,
): Promise<void> {
  const clients = waves.flatMap((wave) => {
    const turns = { next: 0 };
    const client = () => runClient(wave, { turns, target, signal, answers });
    return Array.from({ length: wave.clients ?? 4 }, client);
  });
  await Promise.all(clients);
}

interface ClientRun {
  readonly turns: { next: number };
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly answers: Answers;
}

async function runClient(
  wave: Wave,
  { turns, target, signal, answers }: ClientRun,
): Promise<void> {
  const { manner = "ask", times = holdsOn(manner) ? 1 : Infinity } = wave;
  const line = new Line(signal);
  for (let sent = 0; sent < times && !signal.aborted; sent++) {
    const request = typeof wave.request === "function" ? wave.request(turns.next++) : wave.request;
    try {
      count(answers, await sendOne(line, encode(request, target, manner), wave, manner));
    } catch (error) {
      line.close();
      if (signal.aborted) count(answers, "unanswered");
      else if (error instanceof Deno.errors.ConnectionRefused) {
        count(answers, "refused");
        await pause(100, signal);
      } else count(answers, "closed");
    }
    if (wave.pauseMs !== undefined && manner === "ask") await pause(wave.pauseMs, signal);
  }
  if (holdsOn(manner)) await pause(Infinity, signal);
  line.close();
}

/** Whether the manner keeps its connection until the end. */
function holdsOn(manner: Manner): boolean {
  return manner === "never_read" || manner === "never_finish";
}

interface Encoded {
  readonly port: number;
  readonly head: Uint8Array;
  readonly body: Uint8Array;
  /** The answer to HEAD has a length but no body. */
  readonly isHead: boolean;
}

function encode(request: HostileRequest, target: Target, manner: Manner): Encoded {
  const { body, as = "write", path, address = ATTACKER_ADDRESS } = request;
  const bytes = typeof body === "string" ? encoder.encode(body) : body ?? new Uint8Array();
  const credential = target.credentials[as];
  const length = manner === "drip_chunks"
    ? "Transfer-Encoding: chunked"
    : `Content-Length: ${bytes.length}`;
  const type = request.contentType ?? "application/json";
  const lines = [
    `${request.method ?? (body === undefined ? "GET" : "POST")} ${fill(path, target)} HTTP/1.1`,
    "Host: 127.0.0.1",
    `X-Forwarded-For: ${address}`,
    ...(credential === undefined ? [] : [`Authorization: Bearer ${credential}`]),
    ...(body === undefined ? [] : [length, `Content-Type: ${type}`]),
    ...Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ];
  const head = encoder.encode(`${lines.join("\r\n")}\r\n\r\n`);
  return { port: portFor(as, target), head, body: bytes, isHead: request.method === "HEAD" };
}

export function portFor(credential: Credential, { port }: Target): number {
  return credential === "staging" ? port - 1 : port;
}

function fill(path: string, { instance }: Target): string {
  return path.replaceAll("{instance}", instance);
}

async function sendOne(line: Line, sent: Encoded, wave: Wave, manner: Manner): Promise<string> {
  const { pauseMs } = wave;
  if (manner !== "ask") line.close();
  line.port = sent.port;
  switch (manner) {
    case "ask":
      for (let i = wave.pipelined ?? 1; i > 0; i--) await line.write(sent.head, sent.body);
      for (let i = wave.pipelined ?? 1; i > 1; i--) await line.hear(sent.isHead);
      return await line.hear(sent.isHead);
    case "never_read":
      for (let i = wave.pipelined ?? 1; i > 0; i--) await line.write(sent.head, sent.body);
      return "not read";
    case "never_finish":
      await line.write(sent.head, sent.body.subarray(0, sent.body.length - WITHHELD_BYTES));
      return "not finished";
    case "drip":
      await line.write(sent.head);
      await line.drip(sent.body, pauseMs ?? DRIP_MS);
      return await line.hear(sent.isHead);
    case "drip_head":
      await line.drip(sent.head, pauseMs ?? DRIP_MS);
      return await line.hear(sent.isHead);
    case "drip_chunks":
      await line.write(sent.head);
      await line.dripChunks(sent.body, pauseMs ?? DRIP_MS);
      return await line.hear(sent.isHead);
    case "half_close":
      await line.write(sent.head, sent.body);
      await line.closeWrite();
      return await line.hear(sent.isHead);
    case "hang_up":
      await line.write(sent.head, sent.body);
      await line.pause(pauseMs ?? HANG_UP_MS);
      line.close();
      return "hung up";
  }
}

/** One connection at a time, opened when it is needed. The signal closes it, even during a call. */
class Line {
  port = 0;
  readonly #signal: AbortSignal;
  #socket: Deno.TcpConn | undefined;
  #buffer = new Uint8Array(256 * 1024);
  #held = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.close());
  }

  async write(...parts: readonly Uint8Array[]): Promise<void> {
    const socket = await this.#open();
    for (const part of parts) {
      for (let sent = 0; sent < part.length;) sent += await socket.write(part.subarray(sent));
    }
  }

  async drip(bytes: Uint8Array, pauseMs: number): Promise<void> {
    for (let at = 0; at < bytes.length; at++) {
      await this.write(bytes.subarray(at, at + 1));
      await this.pause(pauseMs);
    }
  }

  async dripChunks(bytes: Uint8Array, pauseMs: number): Promise<void> {
    for (let at = 0; at < bytes.length; at++) {
      await this.write(encoder.encode(`1\r\n${decoder.decode(bytes.subarray(at, at + 1))}\r\n`));
      await this.pause(pauseMs);
    }
    await this.write(encoder.encode("0\r\n\r\n"));
  }

  pause(milliseconds: number): Promise<void> {
    return pause(milliseconds, this.#signal);
  }

  /** Reads one answer, keeps nothing of its body, and returns its status. */
  async hear(isHead = false): Promise<string> {
    let headEnd = endOfHead(this.#buffer, this.#held);
    while (headEnd < 0) {
      await this.#read();
      headEnd = endOfHead(this.#buffer, this.#held);
    }
    const text = decoder.decode(this.#buffer.subarray(0, headEnd));
    const { status, contentLength } = parseHead(text);
    this.#drop(headEnd);
    if (isHead) return String(status);
    if (contentLength !== undefined) await this.#passOver(contentLength);
    else await this.#passOverChunks();
    return String(status);
  }

  async closeWrite(): Promise<void> {
    await this.#socket?.closeWrite();
  }

  close(): void {
    try {
      this.#socket?.close();
    } catch {
      // It was closed already.
    }
    this.#socket = undefined;
    this.#held = 0;
  }

  async #open(): Promise<Deno.TcpConn> {
    if (this.#signal.aborted) throw new Error("the attack is over");
    this.#socket ??= await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    return this.#socket;
  }

  async #read(): Promise<void> {
    if (this.#socket === undefined) throw new Error("the connection is closed");
    if (this.#held === this.#buffer.length) throw new Error("the head is too long");
    const read = await this.#socket.read(this.#buffer.subarray(this.#held));
    if (read === null) throw new Error("the server closed the connection");
    this.#held += read;
  }

  #drop(length: number): void {
    this.#buffer.copyWithin(0, length, this.#held);
    this.#held -= length;
  }

  async #passOver(length: number): Promise<void> {
    for (let left = length; left > 0;) {
      if (this.#held === 0) await this.#read();
      const taken = Math.min(left, this.#held);
      this.#drop(taken);
      left -= taken;
    }
  }

  async #passOverChunks(): Promise<void> {
    for (;;) {
      let lineEnd = this.#buffer.subarray(0, this.#held).indexOf(10);
      while (lineEnd < 0) {
        await this.#read();
        lineEnd = this.#buffer.subarray(0, this.#held).indexOf(10);
      }
      const size = parseInt(decoder.decode(this.#buffer.subarray(0, lineEnd)), 16);
      this.#drop(lineEnd + 1);
      await this.#passOver(size + 2);
      if (size === 0) return;
    }
  }
}

/** Resolves early, and without an error, when the signal is given. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finite = Math.min(milliseconds, 2 ** 31 - 1);
    const timer = setTimeout(done, finite);
    signal?.addEventListener("abort", done);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}
