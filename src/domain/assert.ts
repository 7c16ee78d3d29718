/** Guards for what cannot happen. A refusal is a value; a `Bug` is thrown and becomes a 500. */

/** A broken promise of our own code, never of a caller's input. */
export class Bug extends Error {
  override readonly name = "Bug";
}

/** Throws a {@link Bug} when `condition` does not hold. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(message);
}
