/** Long work in slices, between which the page draws and answers. */

/** Milliseconds of work at once: less than a frame of the screen. */
const SLICE_MS = 8;

/**
 * Does the work to its end and gives its result; undefined if `signal` has ended it before. `tell`
 * is told what the work gives on its way.
 */
export async function runInSlices<News, Result>(
  work: Generator<News | void, Result>,
  signal: AbortSignal,
  tell?: (news: News) => void,
): Promise<Result | undefined> {
  for (let until = performance.now() + SLICE_MS; !signal.aborted;) {
    const { done, value } = work.next();
    if (done) return value;
    if (value !== undefined) tell?.(value as News);
    if (performance.now() < until) continue;
    await new Promise((resolve) => setTimeout(resolve));
    until = performance.now() + SLICE_MS;
  }
  return undefined;
}
