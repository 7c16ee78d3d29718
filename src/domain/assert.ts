/**
 * Assertions against bugs in our own code. A refusal is a value; a `Bug` is thrown and becomes
 * a 500 answer.
 */

/** A broken invariant of our own code. Bad input from a caller never causes one. */
export class Bug extends Error {
  override readonly name = "Bug";
}

/** Throws a {@link Bug} when `condition` does not hold. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(message);
}
