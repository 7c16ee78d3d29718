/**
 * Reads a backup file and checks it on the way. Whoever acts on what it yields must undo that if
 * it throws: only the end proves that nothing is missing.
 */

import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue } from "../json.ts";
import {
  type BackupEnd,
  type BackupHeader,
  type Bytes,
  decodeFrameHead,
  FRAME_BODY_BYTES_MAX,
  FRAME_HEAD_BYTES,
  frameKinds,
  MAGIC,
  sha256Of,
} from "./backup_file.ts";
import { parseJson } from "../json_text/parse_json.ts";

export type BackupItem =
  | { readonly kind: "header"; readonly header: BackupHeader }
  | { readonly kind: "store"; readonly piece: Bytes }
  | { readonly kind: "file"; readonly name: string; readonly content: Bytes }
  | { readonly kind: "end"; readonly end: BackupEnd };

/** The file is no backup, or not what was written; the message says where and how. */
export class BackupDamaged extends Error {
  override readonly name = "BackupDamaged";
}

const decoder = new TextDecoder();
const LINE_FEED = 0x0a;
/** The only names of private files: a restore writes nothing else. */
const FILE_NAME = /^[a-z_]{1,40}(\.json)?$/;

/**
 * The header first, the end last. Between them the pieces of the store, and private files.
 * @throws {BackupDamaged}
 */
export async function* readBackup(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<BackupItem> {
  const input = openInput(chunks);
  try {
    yield* readFrames(input);
  } finally {
    await input.close();
  }
}

async function* readFrames(input: Input): AsyncGenerator<BackupItem> {
  const magic = await input.take(MAGIC.length);
  if (magic === undefined || !isSame(magic, MAGIC)) {
    throw new BackupDamaged("The file is no backup of Daybook, or one of another format");
  }
  const heads = createHash("sha256");
  let [frames, bytes] = [0, 0];
  for (;;) {
    const place = `frame ${frames + 1}, at byte ${input.taken}`;
    const headBytes = await input.take(FRAME_HEAD_BYTES);
    if (headBytes === undefined) throw cutOff(place);
    const { kind, length, sha256 } = decodeFrameHead(headBytes);
    if (length > FRAME_BODY_BYTES_MAX) throw new BackupDamaged(`The backup is damaged in ${place}`);
    const body = await input.take(length);
    if (body === undefined) throw cutOff(place);
    if (!isSame(sha256Of(body), sha256)) {
      throw new BackupDamaged(
        `The backup is damaged: the bytes of ${place}, are not what was written`,
      );
    }
    if (kind === frameKinds.failure) {
      throw new BackupDamaged(`The backup was not completed: ${decoder.decode(body)}`);
    }
    const item = decodeItem(kind, body, place);
    if ((item.kind === "header") !== (frames === 0)) {
      throw new BackupDamaged(`The backup is damaged: ${place}, has no business there`);
    }
    if (item.kind === "end") {
      checkEnd(item.end, { frames, bytes, sha256: heads.digest("hex") });
      // The caller must not take the end for proof while more follows.
      if (await input.take(1) !== undefined) {
        throw new BackupDamaged("The backup is damaged: bytes follow its end");
      }
      return yield item;
    }
    heads.update(headBytes);
    frames++;
    bytes += length;
    yield item;
  }
}

function cutOff(place: string): BackupDamaged {
  return new BackupDamaged(`The backup is cut off in ${place}: copy it again, or take another one`);
}

function checkEnd(
  end: BackupEnd,
  found: Pick<BackupEnd, "frames" | "bytes" | "sha256">,
): void {
  const isSameEnd = end.frames === found.frames && end.bytes === found.bytes &&
    end.sha256 === found.sha256;
  if (!isSameEnd) {
    throw new BackupDamaged(
      "The backup is damaged: frames are missing, doubled or in another order than written",
    );
  }
}

function decodeItem(kind: number, body: Bytes, place: string): BackupItem {
  switch (kind) {
    case frameKinds.header:
      return { kind: "header", header: parse<BackupHeader>(body, ["store", "begun_at"], place) };
    case frameKinds.store:
      return { kind: "store", piece: body };
    case frameKinds.file: {
      const line = body.indexOf(LINE_FEED);
      const name = decoder.decode(body.subarray(0, Math.max(0, line)));
      if (!FILE_NAME.test(name)) break;
      return { kind: "file", name, content: body.slice(line + 1) };
    }
    case frameKinds.end:
      return { kind: "end", end: parse<BackupEnd>(body, ["version", "completed_at"], place) };
  }
  throw new BackupDamaged(
    `This build cannot read ${place}: a newer one may have written the backup`,
  );
}

/** An object in JSON that has these texts; what else it has is checked where it is used. */
function parse<T>(body: Bytes, texts: readonly (keyof T & string)[], place: string): T {
  let value: JsonValue | undefined;
  try {
    value = parseJson(decoder.decode(body));
  } catch {
    // Refused below.
  }
  if (isJsonObject(value) && texts.every((name) => typeof value[name] === "string")) {
    return value as T;
  }
  throw new BackupDamaged(`The backup is damaged in ${place}`);
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** Takes chunks of any size, and gives pieces of the length asked for. */
interface Input {
  /** Bytes taken so far. */
  readonly taken: number;
  /** Undefined if fewer are left. */
  take(length: number): Promise<Bytes | undefined>;
  close(): Promise<unknown>;
}

function openInput(chunks: AsyncIterable<Uint8Array>): Input {
  const source = chunks[Symbol.asyncIterator]();
  let chunk: Uint8Array = new Uint8Array(0);
  const input = {
    taken: 0,
    async take(length: number) {
      const bytes = new Uint8Array(length);
      for (let filled = 0; filled < length;) {
        if (chunk.length === 0) {
          const { done, value } = await source.next();
          if (done === true) return undefined;
          chunk = value;
          continue;
        }
        const part = chunk.subarray(0, length - filled);
        bytes.set(part, filled);
        chunk = chunk.subarray(part.length);
        filled += part.length;
      }
      input.taken += length;
      return bytes;
    },
    close: () => source.return?.() ?? Promise.resolve(),
  };
  return input;
}
