/**
 * Runs one trace on several subjects in step and compares their replies, then their stores.
 * Nothing is masked: a reply that reveals the engine below is a difference.
 */

import { Buffer } from "node:buffer";
import { describeOperation, type Operation } from "./operation.ts";
import type { Reply, Subject } from "./subject.ts";

export interface Comparison {
  readonly operations: number;
  readonly replies: number;
  readonly streams: number;
  readonly events: number;
  /** Pairs in the store. */
  readonly records: number;
}

export interface CompareOptions {
  /** Gets every operation with the first subject's replies, for the census. */
  readonly onReplies?: (operation: Operation, replies: readonly Reply[]) => void;
}

/** Two subjects answered differently; the message says where and how. */
export class Difference extends Error {
  override readonly name = "Difference";
}

/** @throws {Difference} at the first one. */
export async function compareSubjects(
  trace: Iterable<Operation>,
  subjects: readonly Subject[],
  { onReplies = () => {} }: CompareOptions = {},
): Promise<Comparison> {
  const [first, ...others] = subjects as readonly [Subject, ...Subject[]];
  let operations = 0;
  let replies = 0;
  for (const operation of trace) {
    // Each subject is sequential in itself; together they wait for their disks at the same
    // time.
    const number = operations++;
    const [expected, ...found] = await Promise.all(
      [first, ...others].map((subject) => subject.execute(operation, number)),
    ) as [Reply[], ...Reply[][]];
    for (const [at, subject] of others.entries()) {
      const names: Names = [first.name, subject.name];
      compareReplies({ operation, number, names }, expected, found[at]!);
    }
    refuseUnplannedFailure(operation, number, first, expected);
    replies += expected.length;
    onReplies(operation, expected);
  }
  const left = await compareStreams(first, others);
  return { operations, replies, ...left };
}

type Names = readonly [expected: string, found: string];

interface ComparedCall {
  readonly operation: Operation;
  readonly number: number;
  readonly names: Names;
}

function compareReplies(
  { operation, number, names }: ComparedCall,
  expected: readonly Reply[],
  found: readonly Reply[],
): void {
  for (const [index, reply] of expected.entries()) {
    const other = found[index]!;
    const part = firstDifferentPart(reply, other);
    if (part === undefined) continue;
    const lines = [
      `operation ${number}${index === 0 ? "" : " (the request meanwhile)"}: ${part} differs`,
      describeOperation(operation),
      ...sideBySide(names, describeReply(reply), describeReply(other)),
    ];
    throw new Difference(lines.join("\n"));
  }
}

/** Equal failures are no agreement: an unplanned 5xx ends the run. */
function refuseUnplannedFailure(
  operation: Operation,
  number: number,
  subject: Subject,
  replies: readonly Reply[],
): void {
  const failure = replies.find(({ status }) => status >= 500);
  const isPlanned = operation.kind === "request" && operation.fault !== undefined;
  if (failure === undefined || isPlanned) return;
  const where = `operation ${number}: ${subject.name} fails without being told to`;
  const lines = [where, describeOperation(operation), describeReply(failure), subject.lastLog()];
  throw new Error(lines.join("\n"));
}

/** This count is per process and is lost with it. */
const COUNTED = "x-ratelimit-remaining";

function comparedHeaders({ headers }: Reply): string {
  return JSON.stringify(headers.map(([name, value]) => [name, name === COUNTED ? "" : value]));
}

function firstDifferentPart(a: Reply, b: Reply): string | undefined {
  if (a.status !== b.status) return "the status";
  if (comparedHeaders(a) !== comparedHeaders(b)) return "a header";
  return Buffer.compare(a.body, b.body) === 0 ? undefined : "the body";
}

function describeReply({ status, headers, body }: Reply): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [String(status), ...lines, "", new TextDecoder().decode(body)].join("\n");
}

const SHOWN_BEFORE = 400;
const SHOWN_AFTER = 800;

/** Both texts around the first character in which they differ. */
export function sideBySide([expected, found]: Names, a: string, b: string): string[] {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const cut = (text: string) => {
    const from = Math.max(0, at - SHOWN_BEFORE);
    const to = at + SHOWN_AFTER;
    return `${from > 0 ? "..." : ""}${text.slice(from, to)}${to < text.length ? "..." : ""}`;
  };
  return [
    `first different character: ${at} (of ${a.length} and ${b.length})`,
    `--- ${expected}`,
    cut(a),
    `--- ${found}`,
    cut(b),
  ];
}

async function compareStreams(
  first: Subject,
  others: readonly Subject[],
): Promise<Pick<Comparison, "streams" | "events" | "records">> {
  let events = 0;
  const streams = await compareLists(
    { first, others },
    (subject) => subject.streams(),
    PARTS,
    (one) => {
      events += one.length;
    },
  );
  const records = await compareLists({ first, others }, (subject) => subject.records(), VALUE);
  return { streams, events, records };
}

const PARTS = ["name", "length", "tip", "raw", "state"] as const;
const VALUE = ["name", "value"] as const;

interface ComparedSubjects {
  readonly first: Subject;
  readonly others: readonly Subject[];
}

/** Returns how many members each list has. */
async function compareLists<T extends { readonly name: string }>(
  { first, others }: ComparedSubjects,
  list: (subject: Subject) => AsyncGenerator<T>,
  parts: readonly (keyof T)[],
  onEach: (one: T) => void = () => {},
): Promise<number> {
  const found = others.map((subject) => ({ subject, left: list(subject) }));
  let count = 0;
  for await (const expected of list(first)) {
    count++;
    onEach(expected);
    for (const { subject, left } of found) {
      compareLeft([first.name, subject.name], parts, expected, (await left.next()).value);
    }
  }
  for (const { subject, left } of found) {
    compareLeft([first.name, subject.name], parts, undefined, (await left.next()).value);
  }
  return count;
}

function compareLeft<T extends { readonly name: string }>(
  names: Names,
  parts: readonly (keyof T)[],
  expected: T | undefined,
  found: T | undefined | void,
): void {
  for (const part of parts) {
    const [a, b] = [expected, found ?? undefined].map((one) => String(one?.[part]));
    if (a === b) continue;
    const name = expected?.name ?? found?.name;
    const title = `after the trace: ${String(part)} of ${name} differs`;
    throw new Difference([title, ...sideBySide(names, a!, b!)].join("\n"));
  }
}
