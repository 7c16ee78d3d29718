/**
 * The frames of a backup file. Behind a line that names the format, each frame is its kind, 1 byte;
 * the length of its body, 4, little-endian; the SHA-256 of the body, 32; the body. See
 * docs/operate/backup.md.
 */

import { createHash } from "node:crypto";

export type Bytes = Uint8Array<ArrayBuffer>;

export const MAGIC = new TextEncoder().encode("DAYBOOK BACKUP 1\n");

export const frameKinds = {
  /** JSON: {@link BackupHeader}. The first frame. */
  header: 1,
  /** A piece of the store, which only its engine can read. */
  store: 2,
  /** A private file of the deployment: its name, a line feed, its bytes. */
  file: 3,
  /** JSON: {@link BackupEnd}. The last frame of a backup that was completed. */
  end: 4,
  /** A text: why the backup ends here and is of no use. */
  failure: 5,
} as const;
export type FrameKind = typeof frameKinds[keyof typeof frameKinds];

export interface BackupHeader {
  /** The engine of the store. */
  readonly store: string;
  /** ISO 8601 UTC. */
  readonly begun_at: string;
}

export interface BackupEnd {
  /** Of the newest commit that the backup has, in decimal. */
  readonly version: string;
  /** When everything was in it, up to that commit. ISO 8601 UTC. */
  readonly completed_at: string;
  readonly frames: number;
  /** Of the bodies of all frames before this one. */
  readonly bytes: number;
  /** Of the heads of all frames before this one, each with the hash of its body; in hex. */
  readonly sha256: string;
}

const HASH_BYTES = 32;
const LENGTH_AT = 1;
const HASH_AT = LENGTH_AT + 4;
export const FRAME_HEAD_BYTES = HASH_AT + HASH_BYTES;
/** Longer bodies are damage. */
export const FRAME_BODY_BYTES_MAX = 4 * 1024 * 1024;

interface FrameHead {
  readonly kind: number;
  readonly length: number;
  readonly sha256: Bytes;
}

function encodeFrameHead({ kind, length, sha256 }: FrameHead): Bytes {
  const head = new Uint8Array(FRAME_HEAD_BYTES);
  head[0] = kind;
  new DataView(head.buffer).setUint32(LENGTH_AT, length, true);
  head.set(sha256, HASH_AT);
  return head;
}

/** @param head has {@link FRAME_HEAD_BYTES} bytes. */
export function decodeFrameHead(head: Bytes): FrameHead {
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  return {
    kind: head[0]!,
    length: view.getUint32(LENGTH_AT, true),
    sha256: head.subarray(HASH_AT),
  };
}

export function sha256Of(bytes: Uint8Array): Bytes {
  return new Uint8Array(createHash("sha256").update(bytes).digest());
}

/** Makes the frames of a backup file, in order, and the end that holds them together. */
export interface BackupWriter {
  /** Each returns the bytes that follow in the file. */
  begin(header: BackupHeader): readonly Bytes[];
  /** @param sha256 of the piece. */
  store(piece: Bytes, sha256: Bytes): readonly Bytes[];
  file(name: string, content: Bytes): readonly Bytes[];
  end(moment: Pick<BackupEnd, "version" | "completed_at">): readonly Bytes[];
  /** In place of the rest: the backup could not be completed. */
  fail(reason: string): readonly Bytes[];
}

const encoder = new TextEncoder();

export function createBackupWriter(): BackupWriter {
  const heads = createHash("sha256");
  let frames = 0;
  let bytes = 0;

  function frame(kind: FrameKind, body: Bytes, sha256?: Bytes): readonly Bytes[] {
    const [head] = bare(kind, body, sha256);
    heads.update(head);
    frames++;
    bytes += body.length;
    return [head, body];
  }

  return {
    begin: (header) => [MAGIC, ...frame(frameKinds.header, encodeJson(header))],
    store: (piece, sha256) => frame(frameKinds.store, piece, sha256),
    file(name, content) {
      const line = encoder.encode(`${name}\n`);
      const body = new Uint8Array(line.length + content.length);
      body.set(line);
      body.set(content, line.length);
      return frame(frameKinds.file, body);
    },
    end(moment) {
      const end: BackupEnd = { ...moment, frames, bytes, sha256: heads.digest("hex") };
      return bare(frameKinds.end, encodeJson(end));
    },
    fail: (reason) => bare(frameKinds.failure, encoder.encode(reason)),
  };
}

function bare(
  kind: FrameKind,
  body: Bytes,
  sha256 = sha256Of(body),
): readonly [head: Bytes, body: Bytes] {
  return [encodeFrameHead({ kind, length: body.length, sha256 }), body];
}

function encodeJson(value: object): Bytes {
  return encoder.encode(JSON.stringify(value));
}
