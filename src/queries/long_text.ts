/**
 * Long texts to bytes and back, a slice at a time: what has tens of megabytes is never converted in
 * one go, and others have the thread between the slices.
 */

/** A slice takes less than a millisecond. */
const SLICE_CHARACTERS = 128 * 1024;
const encoder = new TextEncoder();

/** The UTF-8 of a text, in slices that each are whole. */
export function* bytesOf(text: string): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + SLICE_CHARACTERS);
    // Half a pair has no bytes of its own.
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end--;
    yield encoder.encode(text.slice(at, end));
    at = end;
  }
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** `rest`: lets others have the thread, where they have waited for it. */
export async function textOf(
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
