/** A backup file is read as it was written, in chunks of any size, or refused. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { FRAME_HEAD_BYTES, MAGIC } from "../../../src/domain/backup/backup_file.ts";
import {
  BackupDamaged,
  type BackupItem,
  readBackup,
} from "../../../src/domain/backup/read_backup.ts";
import { createBackupWriter } from "../../../src/domain/backup/backup_file.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const HEADER = { store: "sqlite", begun_at: "2026-11-26T18:00:00.000Z" };
const MOMENT = { version: "42", completed_at: "2026-11-26T18:00:01.000Z" };
const SECRET = new TextEncoder().encode("0123abcd\n");

function piece(seed: number): Bytes {
  return new Uint8Array(50 + seed).fill(seed);
}

function sha256(bytes: Uint8Array): Bytes {
  return new Uint8Array(createHash("sha256").update(bytes).digest());
}

/** The frames of a small backup, each whole; the first with the line that names the format. */
function framesOf(pieces: number): Bytes[] {
  const writer = createBackupWriter();
  const frames = [
    writer.begin(HEADER),
    writer.file("jwt_secret", SECRET),
    ...Array.from({ length: pieces }, (_, at) => writer.store(piece(at), sha256(piece(at)))),
    writer.end(MOMENT),
  ];
  return frames.map((parts) => new Uint8Array(Buffer.concat(parts)));
}

const WHOLE = new Uint8Array(Buffer.concat(framesOf(3)));

async function* inChunks(bytes: Bytes, sizes: Iterable<number>): AsyncGenerator<Bytes> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

async function read(bytes: Bytes, sizes: readonly number[] = []): Promise<BackupItem[]> {
  return await Array.fromAsync(readBackup(inChunks(bytes, sizes)));
}

async function refuses(bytes: Bytes, message: RegExp, what?: string): Promise<void> {
  await assert.rejects(read(bytes), (error: Error) => {
    assert.ok(error instanceof BackupDamaged, what);
    assert.match(error.message, message, what);
    return true;
  });
}

Deno.test("what was written is read, whatever the chunks", async () => {
  const expected = await read(WHOLE);
  assert.deepEqual(expected.map(({ kind }) => kind), [
    "header",
    "file",
    "store",
    "store",
    "store",
    "end",
  ]);
  assert.deepEqual(expected[0], { kind: "header", header: HEADER });
  assert.deepEqual(expected[1], { kind: "file", name: "jwt_secret", content: SECRET });
  const sizes = fc.array(fc.nat({ max: 200 }), { maxLength: 40 });
  await fc.assert(fc.asyncProperty(sizes, async (some) => {
    assert.deepEqual(await read(WHOLE, some), expected);
  }));
});

Deno.test("the end has the hash of all heads, which others can compute", () => {
  const frames = framesOf(2);
  const heads = frames.slice(0, -1).map((frame, at) => {
    const from = at === 0 ? MAGIC.length : 0;
    return frame.subarray(from, from + FRAME_HEAD_BYTES);
  });
  const end = JSON.parse(new TextDecoder().decode(frames.at(-1)!.subarray(FRAME_HEAD_BYTES)));
  assert.equal(end.sha256, createHash("sha256").update(Buffer.concat(heads)).digest("hex"));
  assert.equal(end.frames, 4);
});

Deno.test("no bit of a backup can change unnoticed", async () => {
  for (let at = 0; at < WHOLE.length; at++) {
    const changed = WHOLE.slice();
    changed[at]! ^= 1 << (at % 8);
    await assert.rejects(read(changed), BackupDamaged, `byte ${at}`);
  }
});

Deno.test("a backup that is cut off anywhere is refused, and says where", async () => {
  for (let length = 0; length < WHOLE.length; length++) {
    const message = length < MAGIC.length ? /is no backup/ : /is cut off in frame \d, at byte \d+/;
    await refuses(WHOLE.slice(0, length), message, `${length} bytes`);
  }
});

Deno.test("frames that are missing, doubled or in another order are refused", async () => {
  const frames = framesOf(3);
  const join = (...places: number[]) =>
    new Uint8Array(Buffer.concat(places.map((place) => frames[place]!)));
  await refuses(join(0, 1, 2, 3, 5), /missing, doubled or in another order/);
  await refuses(join(0, 1, 2, 2, 3, 4, 5), /missing, doubled or in another order/);
  await refuses(join(0, 1, 3, 2, 4, 5), /missing, doubled or in another order/);
  await refuses(join(0, 1, 2, 3, 4), /cut off/);
  await refuses(join(0, 1, 2, 3, 4, 5, 2), /bytes follow its end/);
});

Deno.test("a backup that could not be completed says why", async () => {
  const writer = createBackupWriter();
  const parts = [...writer.begin(HEADER), ...writer.fail("the disk is full")];
  await refuses(new Uint8Array(Buffer.concat(parts)), /was not completed: the disk is full$/);
});

Deno.test("a name that leads out of the data folder is refused", async () => {
  for (const name of ["../x", "/etc/passwd", "a/b", ""]) {
    const writer = createBackupWriter();
    const parts = [...writer.begin(HEADER), ...writer.file(name, SECRET), ...writer.end(MOMENT)];
    await refuses(new Uint8Array(Buffer.concat(parts)), /cannot read frame 2/, name);
  }
});

Deno.test("a header that is none is damage, whatever its hash says", async () => {
  for (const header of ["null", "[]", '"sqlite"', "{}", '{"store":5,"begun_at":"x"}', "{"]) {
    const body = new TextEncoder().encode(header);
    const head = new Uint8Array(FRAME_HEAD_BYTES);
    head[0] = 1;
    new DataView(head.buffer).setUint32(1, body.length, true);
    head.set(sha256(body), 5);
    const file = new Uint8Array(Buffer.concat([MAGIC, head, body]));
    await refuses(file, /is damaged in frame 1, at byte 17$/, header);
  }
});
