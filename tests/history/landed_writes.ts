/**
 * Finds which writes landed, from the final streams. Each must have landed wholly or not at
 * all, once, where its answers say, and only on the length that it expected.
 */

import type { FinalStreams, Operation, Part, Write } from "./history.ts";

export interface LandedWrite {
  readonly write: Write;
  /** Index of the first value of each part. */
  readonly first: readonly number[];
  /** It cannot have landed earlier. */
  readonly invokedAt: number;
  /** It had landed by then; Infinity if it was never acknowledged. */
  readonly knownAt: number;
}

export interface Landed {
  readonly writes: readonly LandedWrite[];
  readonly faults: readonly string[];
}

type Requests = readonly [Operation, ...Operation[]];

export function findLanded(history: readonly Operation[], streams: FinalStreams): Landed {
  const faults: string[] = [];
  const writes: LandedWrite[] = [];
  const requests = requestsByWrite(history);
  for (const all of requests.values()) {
    const { write, landed } = judgeWrite(
      all,
      streams,
      (text) => faults.push(`${name(all)}: ${text}`),
    );
    if (landed !== undefined) writes.push({ write, ...landed });
  }
  faults.push(...unasked(requests, streams));
  return { writes, faults };
}

function requestsByWrite(history: readonly Operation[]): Map<string, Requests> {
  const requests = new Map<string, Requests>();
  for (const operation of history) {
    if (operation.asked.kind !== "write") continue;
    const known = requests.get(operation.asked.write);
    requests.set(operation.asked.write, known ? [...known, operation] : [operation]);
  }
  return requests;
}

function name([{ asked }]: Requests): string {
  return asked.kind === "write" ? `write ${asked.write}` : asked.kind;
}

function judgeWrite(all: Requests, streams: FinalStreams, tell: (text: string) => void) {
  const write = all[0].asked as Write;
  const places = write.parts.map((part) => placesOf(part, streams));
  const isThere = places.some((found) => found.length > 0);
  const answers = all.flatMap(({ heard }) => heard.kind === "written" ? [heard.first] : []);
  if (!isThere) {
    if (answers.length > 0) tell("was acknowledged and is not there");
    return { write };
  }
  if (places.some((found) => found.length === 0)) tell("is there in part");
  if (places.some((found) => found.includes(-1))) tell("is there torn");
  if (places.some((found) => found.length > 1)) tell("is there more than once");
  const first = places.map(([place = -1]) => place);
  for (const told of answers) {
    if (told.join() !== first.join()) tell(`was said to be at ${told}, and is at ${first}`);
  }
  for (const [index, { expectedLength, stream }] of write.parts.entries()) {
    if (expectedLength !== undefined && first[index] !== expectedLength) {
      tell(`expected ${stream} to have ${expectedLength} events, and is at ${first[index]}`);
    }
  }
  const refused = ["refused", "conflict", "judged"];
  if (all.every(({ heard }) => refused.includes(heard.kind))) {
    tell("was refused and is there");
  }
  const invokedAt = Math.min(...all.map(({ invokedAt }) => invokedAt));
  const heard = all.filter(({ heard }) => heard.kind === "written");
  const knownAt = Math.min(Infinity, ...heard.map(({ answeredAt }) => answeredAt));
  return { write, landed: { first, invokedAt, knownAt } };
}

/** The places where all values of a part stand together; a torn part has place -1. */
function placesOf({ stream, values }: Part, streams: FinalStreams): number[] {
  const content = streams.get(stream) ?? [];
  const begins = content.flatMap((value, index) => value === values[0] ? [index] : []);
  if (begins.length === 0) return values.some((value) => content.includes(value)) ? [-1] : [];
  return begins.map((begin) =>
    values.every((value, offset) => content[begin + offset] === value) ? begin : -1
  );
}

function unasked(requests: ReadonlyMap<string, Requests>, streams: FinalStreams): string[] {
  const asked = new Set<string>();
  for (const [{ asked: write }] of requests.values()) {
    for (const { stream, values } of (write as Write).parts) {
      for (const value of values) asked.add(`${stream} ${value}`);
    }
  }
  return [...streams].flatMap(([stream, values]) =>
    values.filter((value) => !asked.has(`${stream} ${value}`))
      .map((value) => `${stream} holds ${value}, which nobody wrote there`)
  );
}
