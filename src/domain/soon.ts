/** Work that rarely has to wait for anything, and pays for a promise only then. */

/** What is known at once needs no promise. */
export type Soon<T> = T | Promise<T>;

/** Work that yields what it has to wait for. Each `yield` returns what that resolves with. */
export type Awaiting<T> = Generator<Promise<unknown>, T, unknown>;

/** Runs the work: at once as far as it waits for nothing. */
export function runSoon<T>(work: Awaiting<T>): Soon<T> {
  const step = work.next();
  return step.done ? step.value : runFurther(work, step.value);
}

async function runFurther<T>(work: Awaiting<T>, first: Promise<unknown>): Promise<T> {
  for (let awaited = first;;) {
    const step = await awaited.then((value) => work.next(value), (error) => work.throw(error));
    if (step.done) return step.value;
    awaited = step.value;
  }
}
