/**
 * The usual log of event stores and outboxes, as a control. Each event takes the next number of
 * a sequence while its transaction runs, and becomes visible when it commits. As with a
 * Postgres sequence or an identity column, a rollback does not return a number. So a test can
 * show that its schedule breaks something, before it shows that it does not break Daybook.
 */

import type { Bytes, Engine, Transaction } from "../../src/kv/engine.ts";

export interface SequencedEvent {
  readonly number: number;
  /** Milliseconds since 1970, by the clock of its writer. */
  readonly atMs: number;
}

export interface SequenceLog {
  /** The next number, from 1, whatever happens to the transaction that took it. */
  take(): number;
  append(tx: Transaction, event: SequencedEvent): void;
  remove(tx: Transaction, number: number): void;
  list(): Promise<SequencedEvent[]>;
}

/** `name` keeps several logs in one store apart. */
export function openSequenceLog(engine: Engine, name: string): SequenceLog {
  let taken = 0;
  return {
    take: () => ++taken,
    append: (tx, { number, atMs }) => tx.set(keyOf(name, number), encode(atMs)),
    remove: (tx, number) => tx.clear(keyOf(name, number)),
    async list() {
      const range = { begin: keyOf(name, 0), end: keyOf(name, NUMBER_MAX) };
      const pairs = await engine.snapshot((tx) => tx.getRange(range));
      return pairs.map(({ key, value }) => ({
        number: Number(decoder.decode(key).slice(-DIGITS)),
        atMs: Number(decoder.decode(value)),
      }));
    },
  };
}

export interface SequenceReader {
  /** Numbers of all events it has handled, in the order of handling. */
  readonly handled: readonly number[];
  /** Handles what is visible behind its checkpoint, up to a hole that it does not cross. */
  read(): Promise<void>;
}

/** Decides whether to skip a hole, given the event behind it. */
export type CrossesHole = (behind: SequencedEvent) => boolean;

/** A reader whose checkpoint is the last number that it has handled. */
export function openSequenceReader(log: SequenceLog, crosses: CrossesHole): SequenceReader {
  const handled: number[] = [];
  let checkpoint = 0;
  return {
    handled,
    async read() {
      for (const event of await log.list()) {
        if (event.number <= checkpoint) continue;
        if (event.number > checkpoint + 1 && !crosses(event)) return;
        handled.push(event.number);
        checkpoint = event.number;
      }
    },
  };
}

const DIGITS = 9;
const NUMBER_MAX = 10 ** DIGITS - 1;
const decoder = new TextDecoder();

function keyOf(name: string, number: number): Bytes {
  return encode(`sequence ${name} ${number.toString().padStart(DIGITS, "0")}`);
}

function encode(text: string | number): Bytes {
  return new TextEncoder().encode(String(text));
}
