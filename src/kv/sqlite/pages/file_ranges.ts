/** Reads and writes the bytes of a file at a given offset. */

/** Reads until `into` is full or the file ends. Returns how many bytes were read. */
export function readAllAt(file: Deno.FsFile, place: number, into: Uint8Array): number {
  file.seekSync(place, Deno.SeekMode.Start);
  let at = 0;
  while (at < into.length) {
    const read = file.readSync(into.subarray(at));
    if (read === null) break;
    at += read;
  }
  return at;
}

export function writeAllAt(file: Deno.FsFile, place: number, bytes: Uint8Array): void {
  file.seekSync(place, Deno.SeekMode.Start);
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
}
