/** Waits for what is to happen. */

/**
 * Waits until `condition` holds, for half a minute of real time: a slow machine needs more than a
 * few seconds for what takes a few milliseconds elsewhere.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  waitMsMax = 30_000,
): Promise<void> {
  for (let waited = 0; !(await condition()); waited += 10) {
    if (waited > waitMsMax) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
