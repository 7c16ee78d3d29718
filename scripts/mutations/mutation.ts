/** The form of the lists of bugs. */

export interface Mutation {
  readonly name: string;
  readonly path: string;
  readonly find: string;
  readonly put: string;
  /** The path that `deno test` is given. */
  readonly suite: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A bug in a known file. The suite is left out if it is the one of most bugs in the file. */
export type Change = readonly [name: string, find: string, put: string, suite?: string];

/** The bugs of one file, most of which `suite` must find. */
export function changesOf(path: string, suite: string, changes: readonly Change[]): Mutation[] {
  return changes.map(([name, find, put, other = suite]) => ({
    name,
    path,
    find,
    put,
    suite: other,
  }));
}
