/** Optimistic concurrency control: the whole rule. See docs/reference/writing.md. */

/** The stream length that the writer expects. `"any"` never conflicts; it is not the same as 0. */
export type ExpectedLength = number | "any";

/** True when a stream of `length` events may be appended to. */
export function meetsExpectedLength(length: number, expected: ExpectedLength): boolean {
  return expected === "any" || expected === length;
}
