/**
 * Where a module says its output is: `(output_ptr << 32) | output_len`, both without a sign.
 * Spec: "Entrypoint return".
 */

export interface MemoryRange {
  readonly pointer: number;
  readonly length: number;
}

/** `packed` is any 64-bit number; as a signed one it is taken by its bits. */
export function unpackRange(packed: bigint): MemoryRange {
  const bits = BigInt.asUintN(64, packed);
  return { pointer: Number(bits >> 32n), length: Number(bits & 0xffff_ffffn) };
}

/** Whether the range lies within a memory of so many bytes. */
export function isWithinMemory({ pointer, length }: MemoryRange, memoryBytes: number): boolean {
  return pointer + length <= memoryBytes;
}
