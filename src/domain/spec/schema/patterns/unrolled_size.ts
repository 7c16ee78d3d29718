/** Computes how long a pattern becomes when its repeats are unrolled, without unrolling them. */

export interface UnrolledSize {
  /** A character or a class of characters. */
  atom(): void;
  open(): void;
  close(): void;
  /** The last atom or group is repeated `times` times. */
  repeat(times: number): void;
  /** All atoms so far, including those of groups that are still open. */
  total(): number;
}

interface Level {
  sum: number;
  /** The size of what a repeat would repeat. */
  last: number;
}

export function createUnrolledSize(): UnrolledSize {
  const levels: Level[] = [{ sum: 0, last: 0 }];
  const add = (size: number) => {
    const level = levels.at(-1)!;
    level.sum += size;
    level.last = size;
  };
  return {
    atom: () => add(1),
    open: () => void levels.push({ sum: 0, last: 0 }),
    close: () => {
      // A bracket that closes nothing is a syntax fault, which is reported elsewhere.
      if (levels.length > 1) add(levels.pop()!.sum);
    },
    repeat: (times) => {
      const level = levels.at(-1)!;
      level.sum += level.last * (times - 1);
      level.last *= times;
    },
    total: () => levels.reduce((sum, level) => sum + level.sum, 0),
  };
}
