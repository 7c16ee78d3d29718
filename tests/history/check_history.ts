/**
 * Checks that one order of all operations explains every answer. Each operation must take
 * effect between its request and its answer. This is strict serializability, which for
 * operations on one stream is linearizability.
 *
 * Values are unique and streams only grow, so the final streams give the order of the writes in
 * each, and every read shows between which two writes it took place. A guard or a precondition
 * says that a stream has at most so many values: an accepted write is before the one that exceeds
 * this, a refused one is behind it. A total order exists exactly if these relations, together with
 * those of time, have no cycle.
 */

import { type Bound, boundsOf, type FinalStreams, type Operation } from "./history.ts";
import { findLanded, type LandedWrite } from "./landed_writes.ts";
import { findCircle } from "./circle.ts";

/**
 * One read of one stream: an answer with values or a length, or a conflict that names a length.
 */
interface Read {
  readonly name: string;
  readonly stream: string;
  readonly length: number;
  readonly invokedAt: number;
  readonly answeredAt: number;
}

/** A write that was refused: bounds that held, and the one that did not. */
interface Refused {
  readonly name: string;
  readonly held: readonly Bound[];
  readonly failed: Bound;
  readonly invokedAt: number;
  readonly answeredAt: number;
}

/** Returns what is wrong with a history, in words; empty if nothing is. */
export function checkHistory(history: readonly Operation[], streams: FinalStreams): string[] {
  const { writes, faults } = findLanded(history, streams);
  const found = [...faults, ...conflictFaults(history)];
  const reads: Read[] = [];
  const refused = history.flatMap(refusedOf);
  for (const operation of history) {
    const read = readOf(operation);
    if (read === undefined) continue;
    reads.push(read);
    found.push(...readFaults(operation, read, streams));
  }
  // Without sound writes, their order means nothing.
  return found.length > 0 ? found : orderFaults(writes, reads, refused);
}

function refusedOf({ client, asked, heard, invokedAt, answeredAt }: Operation): Refused[] {
  if (heard.kind !== "judged" || asked.kind !== "write") return [];
  const bounds = boundsOf(asked);
  const name = `the refusal of client ${client} at ${answeredAt}`;
  const held = bounds.slice(0, heard.failed);
  return [{ name, held, failed: bounds[heard.failed]!, invokedAt, answeredAt }];
}

function readOf({ client, asked, heard, invokedAt, answeredAt }: Operation): Read | undefined {
  const at = { invokedAt, answeredAt };
  if (heard.kind === "conflict") {
    const name = `the conflict of client ${client} at ${answeredAt}`;
    return { ...at, name, stream: heard.stream, length: heard.length };
  }
  if (asked.kind !== "read") return undefined;
  const name = `the read of client ${client} at ${answeredAt}`;
  if (heard.kind === "length") return { ...at, name, stream: asked.stream, length: heard.length };
  if (heard.kind !== "values") return undefined;
  return { ...at, name, stream: asked.stream, length: heard.values.length };
}

function conflictFaults(history: readonly Operation[]): string[] {
  return history.flatMap(({ asked, heard, answeredAt }) => {
    if (heard.kind !== "conflict" || asked.kind !== "write") return [];
    const part = asked.parts.find(({ stream }) => stream === heard.stream);
    if (part?.expectedLength !== undefined && part.expectedLength !== heard.length) return [];
    return [`the conflict at ${answeredAt} names a length that was expected, or by nobody`];
  });
}

/** The values read must be a prefix of the stream and end where a write ends. */
function readFaults({ heard }: Operation, read: Read, streams: FinalStreams): string[] {
  const content = streams.get(read.stream) ?? [];
  if (read.length > content.length) {
    return [`${read.name} saw more of ${read.stream} than there is`];
  }
  if (heard.kind !== "values") return [];
  const isPrefix = heard.values.every((value, index) => content[index] === value);
  return isPrefix ? [] : [`${read.name} saw other events of ${read.stream} than there are`];
}

function orderFaults(
  writes: readonly LandedWrite[],
  reads: readonly Read[],
  refused: readonly Refused[],
): string[] {
  const after: number[][] = [];
  const names = [
    ...writes.map(({ write }) => `write ${write.write}`),
    ...reads.map(({ name }) => name),
    ...refused.map(({ name }) => name),
  ];
  const add = (first: number, then: number) => (after[first] ??= []).push(then);
  const faults: string[] = [];
  const byStream = writesByStream(writes);
  const beyond = ({ stream, atMost }: Bound) =>
    byStream.get(stream)?.find(({ end }) => end > atMost)?.node;
  for (const [node, { write }] of writes.entries()) {
    for (const bound of boundsOf(write)) {
      const next = beyond(bound);
      if (next !== undefined && next !== node) add(node, next);
    }
  }
  for (const [index, { name, held, failed }] of refused.entries()) {
    const node = writes.length + reads.length + index;
    const next = held.map(beyond);
    for (const one of next) if (one !== undefined) add(node, one);
    const last = beyond(failed);
    if (last !== undefined) add(last, node);
    else faults.push(`${name} saw more of ${failed.stream} than there is`);
  }

  for (const [stream, parts] of byStream) {
    for (const [place, { node }] of parts.entries()) {
      if (place > 0) add(parts[place - 1]!.node, node);
    }
    for (const [index, read] of reads.entries()) {
      if (read.stream !== stream) continue;
      const place = parts.findIndex(({ end }) => end >= read.length);
      const next = read.length === 0 ? 0 : place + 1;
      if (read.length > 0 && parts[place]!.end !== read.length) {
        faults.push(`${read.name} saw half of ${names[parts[place]!.node]}`);
        continue;
      }
      if (next > 0) add(parts[next - 1]!.node, writes.length + index);
      if (next < parts.length) add(writes.length + index, parts[next]!.node);
    }
  }
  const times = [
    ...writes.map(({ invokedAt, knownAt }) => ({ invokedAt, answeredAt: knownAt })),
    ...reads,
    ...refused,
  ];
  addTime(times, add, names);
  const circle = findCircle(names.length, (node) => after[node] ?? []);
  const steps = circle?.map((node) => names[node]).filter((step) => step !== TIME);
  return steps === undefined ? faults : [...faults, `no order explains: ${steps.join(", then ")}`];
}

/** The parts in each stream, in order, each with its node and where it ends. */
function writesByStream(writes: readonly LandedWrite[]) {
  const streams = new Map<string, { node: number; end: number }[]>();
  for (const [node, { write, first }] of writes.entries()) {
    for (const [index, { stream, values }] of write.parts.entries()) {
      const parts = streams.get(stream) ?? [];
      parts.push({ node, end: first[index]! + values.length });
      streams.set(stream, parts);
    }
  }
  for (const parts of streams.values()) parts.sort((a, b) => a.end - b.end);
  return streams;
}

const TIME = "time";

/**
 * An answered operation precedes what was requested later. Instead of an edge for each pair, a
 * chain of moments is added: an answer leads to its moment, and each moment to the next
 * requests.
 */
function addTime(
  operations: readonly { readonly invokedAt: number; readonly answeredAt: number }[],
  add: (first: number, then: number) => void,
  names: string[],
): void {
  const moments = operations.flatMap(({ invokedAt, answeredAt }, node) => [
    { at: invokedAt, node, isAnswer: false },
    { at: answeredAt, node, isAnswer: true },
  ]).filter(({ at }) => at !== Infinity).sort((a, b) => a.at - b.at);
  let last: number | undefined;
  for (const { node, isAnswer } of moments) {
    if (isAnswer) {
      const moment = names.push(TIME) - 1;
      if (last !== undefined) add(last, moment);
      add(node, moment);
      last = moment;
    } else if (last !== undefined) add(last, node);
  }
}
