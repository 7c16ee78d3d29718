/** Splits a stream of bytes into lines, however the bytes are chunked. */

const NEWLINE = 0x0a;

export interface LineSplitter {
  /** The lines that end within `chunk`, without their newline. */
  push(chunk: Uint8Array): Uint8Array[];
  /** What came after the last newline; empty at the end of a complete file. */
  rest(): Uint8Array;
  /** Length of {@link rest}. Check it after each push to bound memory. */
  readonly restBytes: number;
}

export function createLineSplitter(): LineSplitter {
  /**
   * Chunks of the unfinished line. They are joined only once, because a long line may come in
   * many chunks.
   */
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;

  function push(chunk: Uint8Array): Uint8Array[] {
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      lines.push(pending.length === 0 ? piece : join([...pending, piece]));
      pending = [];
      pendingBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) pending.push(chunk.slice(start));
    pendingBytes += chunk.length - start;
    return lines;
  }

  return {
    push,
    rest: () => join(pending),
    get restBytes() {
      return pendingBytes;
    },
  };
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
