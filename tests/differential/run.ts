/** One differential run from beginning to end: trace, subjects, comparison, census. */

import { openCensus } from "./census.ts";
import { compareSubjects, type Comparison } from "./compare.ts";
import { openSubject, type Subject, type SubjectOptions } from "./subject.ts";
import { makeTrace, type TraceOptions } from "./trace.ts";

export interface RunReport extends Comparison {
  readonly seconds: number;
  /** What the trace should have covered and did not. */
  readonly gaps: readonly string[];
  readonly census: string;
}

/**
 * Runs the trace on all subjects, which are closed and removed afterwards, whatever happens.
 * @throws {Difference} at the first difference between the first subject and another.
 */
export async function runDifferential(
  options: TraceOptions,
  subjects: readonly SubjectOptions[],
): Promise<RunReport> {
  const startedMs = performance.now();
  const census = openCensus();
  const trace = makeTrace(options);
  const opened: Subject[] = [];
  try {
    for (const subject of subjects) opened.push(await openSubject(subject));
    const comparison = await compareSubjects(trace, opened, { onReplies: census.count });
    const seconds = (performance.now() - startedMs) / 1000;
    return {
      ...comparison,
      seconds,
      gaps: census.gaps(options.operations),
      census: census.report(),
    };
  } finally {
    for (const subject of opened) await subject.close();
  }
}

/** The figures of a run in a few lines. */
export function describeRun({ operations, replies, streams, events, ...rest }: RunReport): string {
  const { records, seconds, census } = rest;
  return `${operations} operations, ${replies} replies, ${streams} streams of ${events} events, ` +
    `${records} pairs in the store, ${seconds.toFixed(1)} s\n${census}`;
}
