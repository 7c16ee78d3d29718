/** What a plan foresees and a run has done, counted alike, so that the two can be compared. */

/** Examples that are kept of each rule. */
const EXAMPLES_MAX = 3;
/** Different things that are counted at each heading. */
const HEADINGS_MAX = 10_000;

export interface RefusedExample {
  readonly line: number;
  readonly message: string;
  readonly path?: string;
}

export interface Tally {
  /** An event that is moved, by its type here. */
  moved(aggregateType: string, type: string): void;
  /** An event that the map leaves out, by its kind of stream and type there. */
  leftOut(category: string, type: string): void;
  /** A record that is nothing to move. */
  skipped(reason: string): void;
  refused(rule: string, example: RefusedExample): void;
  counts(): Counts;
}

export interface Counts {
  readonly events: number;
  readonly moved: Readonly<Record<string, number>>;
  readonly left_out: Readonly<Record<string, number>>;
  readonly skipped: Readonly<Record<string, number>>;
  readonly refused: Readonly<Record<string, RefusedCount>>;
}

export interface RefusedCount {
  readonly count: number;
  readonly examples: readonly RefusedExample[];
}

export function createTally(): Tally {
  const moved = new Map<string, Map<string, number>>();
  const leftOut = new Map<string, number>();
  const skipped = new Map<string, number>();
  const refused = new Map<string, { count: number; examples: RefusedExample[] }>();
  let events = 0;

  return {
    moved(aggregateType, type) {
      events++;
      let types = moved.get(aggregateType);
      if (types === undefined) moved.set(aggregateType, types = new Map());
      types.set(type, (types.get(type) ?? 0) + 1);
    },
    leftOut: (category, type) => add(leftOut, `${category}.${type}`),
    skipped: (reason) => add(skipped, reason),
    refused(rule, example) {
      let found = refused.get(rule);
      if (found === undefined) refused.set(rule, found = { count: 0, examples: [] });
      found.count++;
      if (found.examples.length < EXAMPLES_MAX) found.examples.push(example);
    },
    counts: () => ({
      events,
      moved: Object.fromEntries(
        [...moved].flatMap(([aggregate, types]) =>
          [...types].map(([type, count]) => [`${aggregate}.${type}`, count])
        ),
      ),
      left_out: Object.fromEntries(leftOut),
      skipped: Object.fromEntries(skipped),
      refused: Object.fromEntries(refused),
    }),
  };
}

function add(counts: Map<string, number>, heading: string): void {
  const known = counts.get(heading);
  if (known !== undefined || counts.size < HEADINGS_MAX) counts.set(heading, (known ?? 0) + 1);
}

/** Lines for people, the same of a plan and of a run but for the first heading. */
export function describeTally(counts: Counts, title: string): string[] {
  const { moved, left_out, skipped, refused } = counts;
  return [
    ...linesOf(title, moved),
    ...linesOf("Left out by the map", left_out),
    ...linesOf("Skipped", skipped),
    ...describeRefused(refused),
  ];
}

function linesOf(title: string, counts: Readonly<Record<string, number>>): string[] {
  const entries = Object.entries(counts);
  if (entries.length === 0) return [];
  return ["", title, ...entries.map(([name, count]) => `  ${name.padEnd(40)} ${count}`)];
}

function describeRefused(refused: Readonly<Record<string, RefusedCount>>): string[] {
  const entries = Object.entries(refused);
  if (entries.length === 0) return [];
  const lines = entries.flatMap(([rule, { count, examples }]) => [
    `  [${rule}]`.padEnd(43) + count,
    ...examples.map(({ line, path, message }) =>
      `    line ${line}: ${path === undefined ? "" : `${path}: `}${message}`
    ),
  ]);
  return ["", "Refused", ...lines];
}

/** Whether a tally, as JSON, has refused something. */
export function hasRefused({ refused }: Counts): boolean {
  return Object.keys(refused).length > 0;
}
