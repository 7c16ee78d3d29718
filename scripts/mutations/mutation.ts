/** What the lists of bugs are made of. */

export interface Mutation {
  readonly name: string;
  readonly path: string;
  readonly find: string;
  readonly put: string;
  /** What `deno test` is given. */
  readonly suite: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A bug in a known file. The suite is left out where it is the one of most of its file. */
export type Change = readonly [name: string, find: string, put: string, suite?: string];

/** Bugs of one file, most of which one suite has to find. */
export function changesOf(path: string, suite: string, changes: readonly Change[]): Mutation[] {
  return changes.map(([name, find, put, other = suite]) => ({
    name,
    path,
    find,
    put,
    suite: other,
  }));
}
