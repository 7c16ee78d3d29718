/**
 * Shows the outputs of runs that go on at once, one after the other: one as it comes, the others
 * whole when they have ended, so that what is shown last is what still runs.
 */

export type Write = (bytes: Uint8Array) => Promise<void>;

/** The output of one run. */
export interface Shown {
  readonly write: Write;
  /** To be called when the run has ended; resolves when what could be shown is written. */
  end(): Promise<void>;
}

interface Run {
  kept: Uint8Array[];
  hasEnded: boolean;
}

/** Returns what opens the output of a run. The first that is open is seen at work. */
export function showInTurn(write: Write): () => Shown {
  const runs = new Set<Run>();
  let live: Run | undefined;
  let written = Promise.resolve();

  const send = (bytes: Uint8Array) => written = written.then(() => write(bytes));
  const release = (run: Run) => {
    for (const bytes of run.kept) send(bytes);
    run.kept = [];
    if (run.hasEnded) runs.delete(run);
  };
  const passOn = () => {
    for (const run of [...runs].filter(({ hasEnded }) => hasEnded)) release(run);
    live = [...runs][0];
    if (live !== undefined) release(live);
  };

  return () => {
    const run: Run = { kept: [], hasEnded: false };
    runs.add(run);
    live ??= run;
    return {
      write: (bytes) => run === live ? send(bytes) : Promise.resolve(void run.kept.push(bytes)),
      end: () => {
        run.hasEnded = true;
        if (run === live) passOn();
        return written;
      },
    };
  };
}
