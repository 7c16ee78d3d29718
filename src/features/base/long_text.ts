/**
 * Converts long texts to bytes and back in slices.
 *
 * A text of tens of megabytes is never converted in one go, so other work gets the thread
 * between the slices.
 */

/** Converting a slice takes less than a millisecond. */
const SLICE_CHARACTERS = 128 * 1024;
const encoder = new TextEncoder();

/** The UTF-8 bytes of a text, in slices that never split a character. */
export function* slicesOfText(text: string): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + SLICE_CHARACTERS);
    // Half of a surrogate pair has no UTF-8 encoding of its own.
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end--;
    yield encoder.encode(text.slice(at, end));
    at = end;
  }
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** `rest`: yields the thread to other work if its time slice is over. */
export async function textOfSlices(
  bytes: Uint8Array,
  rest: () => Promise<void> | undefined,
): Promise<string> {
  const decoder = new TextDecoder();
  if (bytes.length <= SLICE_CHARACTERS) return decoder.decode(bytes);
  const slices: string[] = [];
  for (let at = 0; at < bytes.length; at += SLICE_CHARACTERS) {
    await rest();
    slices.push(decoder.decode(bytes.subarray(at, at + SLICE_CHARACTERS), { stream: true }));
  }
  return slices.join("");
}
