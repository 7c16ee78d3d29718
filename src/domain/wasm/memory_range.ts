/** Where in its memory a module has put its output. See docs/reference/modules.md. */

/** Where a module's output is: `(output_ptr << 32) | output_len`, both unsigned. */
export interface MemoryRange {
  readonly pointer: number;
  readonly length: number;
}

/** `packed` is any 64-bit number. Of a signed one the bits count. */
export function unpackRange(packed: bigint): MemoryRange {
  const bits = BigInt.asUintN(64, packed);
  return { pointer: Number(bits >> 32n), length: Number(bits & 0xffff_ffffn) };
}

/** Whether the range lies within a memory of that many bytes. */
export function isWithinMemory({ pointer, length }: MemoryRange, memoryBytes: number): boolean {
  return pointer + length <= memoryBytes;
}
