/** Optimistic concurrency control: the whole rule. Spec: "OCC". */

/** What the writer believes the length is. `"any"` never conflicts and is not the same as 0. */
export type ExpectedLength = number | "any";

/** True when a stream of `length` events may be appended to. */
export function meetsExpectedLength(length: number, expected: ExpectedLength): boolean {
  return expected === "any" || expected === length;
}
