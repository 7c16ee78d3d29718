/**
 * Checks the evidence that Daybook issues, without Daybook. This file needs no other file and
 * no network. It was written only from the specification (docs/reference/audit.md) and imports
 * nothing of the product, so that a mistake there cannot hide here.
 *
 *   deno run --allow-read verify_bundle.ts FILE [--key HEX] [--stream KEY] [--index N]
 *
 * FILE is one of
 *   an attestation bundle          --key pins the public key that must have signed it
 *   the receipt of an erasure      --key does the same here
 *   a page of events, `raw=true`   --previous is the hash of the event before the page
 *   a whole environment made by `export`
 *
 * Exits with 0 if the evidence holds, 1 if not (with the step that failed), 2 for misuse.
 */

import { Buffer } from "node:buffer";
import { createHash, createPublicKey, hash, verify } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";

/** A refusal of the document, with the step that failed. */
class Refused extends Error {
  readonly step: string;

  constructor(step: string, message: string) {
    super(message);
    this.step = step;
  }
}

function need(condition: boolean, step: string, message: string): asserts condition {
  if (!condition) throw new Refused(step, message);
}

function sha256(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  return hash("sha256", Buffer.concat(parts.map((part) => Buffer.from(part))), "buffer");
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function bytesOf(hex: string): Uint8Array {
  return Buffer.from(hex, "hex");
}

// ---------------------------------------------------------------- form

type Fields = Record<string, unknown>;

function decodeJson(bytes: Uint8Array): unknown {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  return JSON.parse(text);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function objectIn(fields: Fields, name: string): Fields {
  const value = own(fields, name);
  need(isObject(value), "form", `${name} must be an object`);
  names.set(value, `${name}.`);
  return value;
}

/** The names of a document's parts, for messages. */
const names = new WeakMap<Fields, string>();

function needForm(condition: boolean, fields: Fields, name: string, must: string) {
  if (!condition) throw new Refused("form", `${names.get(fields) ?? ""}${name} must be ${must}`);
}

function integerIn(fields: Fields, name: string, least: number): number {
  const value = own(fields, name);
  const isInteger = Number.isSafeInteger(value) && (value as number) >= least;
  needForm(isInteger, fields, name, `an integer, ${least} or more`);
  return value as number;
}

function hexIn(fields: Fields, name: string, characters = 64): string {
  const value = own(fields, name);
  needForm(isHex(value, characters), fields, name, `${characters} lowercase hex characters`);
  return value as string;
}

function isHex(value: unknown, characters = 64): value is string {
  return typeof value === "string" && value.length === characters && /^[0-9a-f]*$/.test(value);
}

function textIn(fields: Fields, name: string): string {
  const value = own(fields, name);
  const isText = typeof value === "string" && value.isWellFormed();
  needForm(isText, fields, name, "text without half characters");
  return value as string;
}

/** Signed between quotes as it is, so it must neither end nor escape them. */
function plainIn(fields: Fields, name: string): string {
  const value = textIn(fields, name);
  const isPlain = /^[\x20-\x7e]{1,256}$/.test(value) && !/["\\]/.test(value);
  needForm(isPlain, fields, name, "1 to 256 plain characters");
  return value;
}

/** An absent field means format 1. */
function formatOf(fields: Fields): 1 | 2 {
  if (!Object.hasOwn(fields, "format")) return 1;
  need(fields.format === 2, "form", `there is no format ${JSON.stringify(fields.format)}`);
  return 2;
}

interface Proof {
  siblings: string[];
  directions: string[];
}

function proofIn(fields: Fields): Proof {
  const [siblings, directions] = [own(fields, "siblings"), own(fields, "directions")];
  const areHashes = Array.isArray(siblings) && siblings.every((one) => isHex(one));
  needForm(areHashes, fields, "siblings", "a list of 64 lowercase hex characters each");
  const areSides = Array.isArray(directions) &&
    directions.every((one) => one === "left" || one === "right");
  needForm(areSides, fields, "directions", 'a list of "left" and "right"');
  return { siblings: siblings as string[], directions: directions as Proof["directions"] };
}

// ---------------------------------------------------------------- a bundle

interface Bundle {
  format: 1 | 2;
  index: number;
  raw: string;
  hash: string;
  previous: string;
  key: string;
  streamRoot: string;
  eventCount: number;
  streamProof: Proof;
  streamIndex: number;
  streamCount: number;
  instanceProof: Proof;
  anchor: Anchor;
}

interface Anchor {
  root: string;
  signature: string;
  publicKey: string;
  streamCount: number;
  eventCount: number;
  /** The text that the signature covers. */
  payload: string;
  /** The instance, environment and time; "" in format 1, whose signature covers none of them. */
  title: string;
}

function readBundle(document: unknown): Bundle {
  need(isObject(document), "form", "the document is not a JSON object");
  const format = formatOf(document);
  const event = objectIn(document, "event");
  const stream = objectIn(document, "stream");
  const within = objectIn(document, "instance_proof");
  const previous = own(event, "prev_hash");
  const isHash = previous === "" || isHex(previous);
  need(isHash, "form", "event.prev_hash must be empty or 64 lowercase hex characters");
  const anchor = objectIn(document, "anchor");
  const bundle = {
    format,
    index: integerIn(event, "index", 0),
    raw: textIn(event, "raw"),
    hash: hexIn(event, "hash"),
    previous: previous as string,
    key: textIn(stream, "key"),
    streamRoot: hexIn(stream, "merkle_root"),
    eventCount: integerIn(stream, "event_count", 1),
    streamProof: proofIn(objectIn(document, "stream_proof")),
    streamIndex: integerIn(within, "index", 0),
    streamCount: integerIn(within, "stream_count", 1),
    instanceProof: proofIn(within),
    anchor: readAnchor(anchor, format),
  };
  need(formatOf(anchor) === format, "form", "bundle and anchor are of different formats");
  return bundle;
}

function readAnchor(fields: Fields, format: 1 | 2): Anchor {
  const root = hexIn(fields, "merkle_root");
  const signature = hexIn(fields, "signature", 128);
  const publicKey = hexIn(fields, "public_key");
  const streamCount = integerIn(fields, "stream_count", 1);
  const signed = { root, signature, publicKey, streamCount };
  if (format === 1) return { ...signed, eventCount: Infinity, payload: root, title: "" };
  const instance = plainIn(fields, "instance_id");
  const environment = plainIn(fields, "environment");
  const eventCount = integerIn(fields, "event_count", 1);
  const createdAt = plainIn(fields, "created_at");
  const payload = `{"format":2,"scope":"instance","instance_id":"${instance}",` +
    `"environment":"${environment}","merkle_root":"${root}","event_count":${eventCount},` +
    `"stream_count":${streamCount},"created_at":"${createdAt}"}`;
  const title = ` on ${createdAt} for ${environment} of instance ${instance}`;
  return { ...signed, eventCount, payload, title };
}

/** The shape of the proof follows from index and count, so none of it may be chosen freely. */
function checkShape(where: string, index: number, count: number, proof: Proof): void {
  const { siblings, directions } = proof;
  need(siblings.length === directions.length, "counts", `${where}: the lists differ in length`);
  need(index < count, "counts", `${where}: index ${index} is not below the count of ${count}`);
  let level = 0;
  for (let nodes = count, at = index; nodes > 1; nodes = Math.ceil(nodes / 2), level++) {
    const direction = at % 2 === 1 ? "left" : "right";
    const isRight = level >= directions.length || directions[level] === direction;
    need(isRight, "counts", `${where}: direction ${level} must be "${direction}"`);
    at = Math.floor(at / 2);
  }
  const message = `${where}: a tree of ${count} has ${level} levels below its root`;
  need(directions.length === level, "counts", message);
}

interface Leaf {
  format: 1 | 2;
  value: string;
  index: number;
  count: number;
}

/** `isDistinct`: no two leaves are equal, so equal siblings are one node, repeated. */
function foldProof(step: string, leaf: Leaf, { siblings }: Proof, isDistinct: boolean): string {
  const prefixes = leaf.format === 1 ? undefined : [Uint8Array.of(0), Uint8Array.of(1)];
  const value = bytesOf(leaf.value);
  let current = prefixes ? sha256(prefixes[0]!, value) : value;
  let { index, count } = leaf;
  for (const [level, hex] of siblings.entries()) {
    const sibling = bytesOf(hex);
    const isAlone = index === count - 1 && count % 2 === 1;
    const isSame = hexOf(current) === hex;
    need(isSame || !isAlone, step, `sibling ${level} is not the node that its level repeats`);
    const message = `sibling ${level} repeats a node inside its level`;
    need(!isSame || isAlone || !isDistinct, step, message);
    const pair = index % 2 === 1 ? [sibling, current] : [current, sibling];
    current = prefixes ? sha256(prefixes[1]!, ...pair) : sha256(...pair);
    index = Math.floor(index / 2);
    count = Math.ceil(count / 2);
  }
  return hexOf(current);
}

function keyOf(raw: string): string | undefined {
  try {
    const event = JSON.parse(raw);
    const key = isObject(event) ? own(event, "key") : undefined;
    return typeof key === "string" ? key : undefined;
  } catch {
    return undefined;
  }
}

type Signed = Pick<Anchor, "publicKey" | "signature" | "payload">;

/** The points of small order, with the sign bit cleared. A signature under one proves nothing. */
const WEAK_KEYS = ["00", "01", "ec", "ed", "ee"].map((first) => {
  const rest = first < "10" ? "00" : "ff";
  return first + rest.repeat(30) + (rest === "ff" ? "7f" : "00");
}).concat(
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
);

function isWeak(publicKey: string): boolean {
  const bytes = Buffer.from(publicKey, "hex");
  bytes[31]! &= 0x7f;
  return WEAK_KEYS.includes(bytes.toString("hex"));
}

function isSigned({ publicKey, signature, payload }: Signed): boolean {
  if (isWeak(publicKey)) return false;
  try {
    const x = Buffer.from(publicKey, "hex").toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, new TextEncoder().encode(payload), key, bytesOf(signature));
  } catch {
    return false;
  }
}

export interface Pinned {
  key?: string | undefined;
  stream?: string | undefined;
  index?: number | undefined;
}

/** Throws with the step that fails; returns what the bundle proves. */
function checkBundle(document: unknown, pinned: Pinned): string {
  const bundle = readBundle(document);
  const { format, index, raw, hash, previous, key, anchor, streamCount } = bundle;
  const stored = keyOf(raw);
  need(stored !== undefined, "event", "event.raw is not a JSON object with a key");
  need(stored === bundle.key, "event", `the event is of ${stored}, the stream is ${bundle.key}`);
  const isExpected = pinned.stream === undefined || pinned.stream === key;
  need(isExpected, "event", `the event is of ${key}, expected was ${pinned.stream}`);
  const isPlace = pinned.index === undefined || pinned.index === index;
  need(isPlace, "counts", `the event is number ${index}, expected was ${pinned.index}`);
  need(streamCount === anchor.streamCount, "counts", "proof and anchor count different streams");
  const isWithin = bundle.eventCount <= anchor.eventCount;
  need(isWithin, "counts", "the stream has more events than the anchor");
  checkShape("stream_proof", index, bundle.eventCount, bundle.streamProof);
  checkShape("instance_proof", bundle.streamIndex, streamCount, bundle.instanceProof);
  const isOpening = (index === 0) === (previous === "");
  need(isOpening, "chain", "prev_hash must be empty for the first event, and for no other");
  need(hexOf(sha256(previous, raw)) === hash, "chain", "event.raw does not hash to event.hash");
  const event = { format, value: hash, index, count: bundle.eventCount };
  const streamRoot = foldProof("stream_proof", event, bundle.streamProof, true);
  need(streamRoot === bundle.streamRoot, "stream_proof", "it does not lead to the stream's root");
  const stream = { format, value: streamRoot, index: bundle.streamIndex, count: streamCount };
  const root = foldProof("instance_proof", stream, bundle.instanceProof, false);
  need(root === anchor.root, "instance_proof", "it does not lead to the anchor's root");
  const isPinned = pinned.key === undefined || pinned.key === anchor.publicKey;
  need(isPinned, "signature", `the anchor is signed with ${anchor.publicKey}, not with --key`);
  need(isSigned(anchor), "signature", "the signature is not that of public_key over this anchor");
  const trust = pinned.key === undefined
    ? `\nThe key is the bundle's own (${anchor.publicKey}): compare it with one that you trust,` +
      " or give that as --key."
    : "";
  return `Event ${index} of ${key}, anchored${anchor.title}: every step holds.${trust}`;
}

/** Only the verdict: "ok", or the step that failed. Never throws because of the document. */
export function judgeBundle(bytes: Uint8Array, pinned: Pinned = {}): string {
  let document: unknown;
  try {
    document = decodeJson(bytes);
  } catch {
    return "form";
  }
  try {
    checkBundle(document, pinned);
    return "ok";
  } catch (error) {
    if (error instanceof Refused) return error.step;
    throw error;
  }
}

// ---------------------------------------------------------------- the receipt of an erasure

/** The fields are signed in this order. */
const RECEIPT_FIELDS: Record<string, "text" | "text?" | "count" | "hash"> = {
  tombstone_id: "text",
  instance_id: "text",
  environment: "text",
  key: "text",
  reason: "text",
  legal_basis: "text?",
  requested_at: "text",
  requested_by: "text",
  executed_at: "text",
  completed_at: "text",
  event_count: "count",
  erased_count: "count",
  generation: "count",
  previous_tip: "hash",
  tip: "hash",
};

/** Finds the receipt, even inside the answer to `GET /_admin/tombstones/{id}`. */
function receiptIn(document: unknown): Fields | undefined {
  if (!isObject(document)) return undefined;
  if (own(document, "scope") === "erasure") return document;
  const tombstone = own(document, "tombstone");
  const receipt = isObject(tombstone) ? own(tombstone, "receipt") : undefined;
  return isObject(receipt) ? receipt : undefined;
}

function checkReceipt(receipt: Fields, pinned: Pinned): string {
  need(receipt.format === 1, "form", "format must be 1");
  const signed: Fields = { format: 1, scope: "erasure" };
  for (const [name, form] of Object.entries(RECEIPT_FIELDS)) {
    const isAbsent = form === "text?" && own(receipt, name) === null;
    if (form === "count") signed[name] = integerIn(receipt, name, 0);
    else if (form === "hash") signed[name] = hexIn(receipt, name);
    else signed[name] = isAbsent ? null : textIn(receipt, name);
  }
  const payload = JSON.stringify(signed);
  const signature = hexIn(receipt, "signature", 128);
  const publicKey = hexIn(receipt, "public_key");
  const isExpected = pinned.stream === undefined || pinned.stream === signed.key;
  need(isExpected, "event", `the receipt is of ${signed.key}, expected was ${pinned.stream}`);
  const isPinned = pinned.key === undefined || pinned.key === publicKey;
  need(isPinned, "signature", `the receipt is signed with ${publicKey}, not with --key`);
  const isHeld = isSigned({ publicKey, signature, payload });
  need(isHeld, "signature", "the signature is not that of public_key over this receipt");
  const trust = pinned.key === undefined
    ? `\nThe key is the receipt's own (${publicKey}): compare it with one that you trust,` +
      " or give that as --key."
    : "";
  return `${signed.event_count} events of ${signed.key} in ${signed.environment} of instance ` +
    `${signed.instance_id} were erased on ${signed.executed_at}; the chain hash of their last ` +
    `marker is ${signed.tip}.${trust}`;
}

// ---------------------------------------------------------------- a page of events

function checkPage(entries: unknown[], stream: string | undefined, previous: string | undefined) {
  need(entries.length > 0, "form", "there are no events in the page");
  let before = previous;
  let key = stream;
  let isFirstHeld = true;
  for (const [index, entry] of entries.entries()) {
    need(isObject(entry), "form", `entry ${index} is not an object`);
    need(typeof own(entry, "raw") === "string", "form", `entry ${index} has no raw: list raw=true`);
    const [raw, hash] = [textIn(entry, "raw"), hexIn(entry, "hash")];
    const stored = keyOf(raw);
    need(stored !== undefined, "event", `entry ${index}: raw is not a JSON object with a key`);
    need(stored === (key ??= stored), "event", `entry ${index} is of ${stored}, not of ${key}`);
    const isHeld = hexOf(sha256(before ?? "", raw)) === hash;
    const mayBeLoose = index === 0 && before === undefined;
    need(isHeld || mayBeLoose, "chain", `entry ${index} does not hash to its hash`);
    if (!isHeld) isFirstHeld = false;
    before = hash;
  }
  const loose = isFirstHeld
    ? ""
    : "\nNothing holds the first of them: give the hash of the event before it as --previous.";
  return `${entries.length} events of ${key} follow from one another, to ${before}.${loose}`;
}

// ---------------------------------------------------------------- an exported environment

const CHUNK_BYTES = 1024 * 1024;

function* linesOf(path: string): Generator<Uint8Array> {
  const file = openSync(path, "r");
  let rest = Buffer.alloc(0);
  try {
    for (;;) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const size = readSync(file, chunk, 0, CHUNK_BYTES, null);
      if (size === 0) break;
      const bytes = Buffer.concat([rest, chunk.subarray(0, size)]);
      let start = 0;
      for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
        yield bytes.subarray(start, end);
        start = end + 1;
      }
      rest = bytes.subarray(start);
    }
    need(rest.length === 0, "end", "the last line has no end: the file was cut off");
  } finally {
    closeSync(file);
  }
}

/** Reads a record of the file, or an event, which is an object without a `record`. */
function recordOf(line: string, bytes: Uint8Array): Fields {
  try {
    const value = decodeJson(bytes);
    if (isObject(value)) return value;
  } catch {
    // Refused below.
  }
  throw new Refused("form", `${line} is not a JSON object in UTF-8`);
}

/** Checks chains, lengths and counts of all streams, and the checksum of the whole file. */
function checkExport(path: string): string {
  const digest = createHash("sha256");
  const tips = new Map<string, { length: number; tip: string }>();
  let open: { key: string; length: number; tip: string } | undefined;
  let [number, events, isEnded] = [0, 0, false];
  for (const bytes of linesOf(path)) {
    const line = `line ${++number}`;
    need(!isEnded, "end", `${line} stands behind the end`);
    const record = recordOf(line, bytes);
    if (!Object.hasOwn(record, "record")) {
      need(open !== undefined, "event", `${line}: an event stands outside a stream`);
      need(record.key === open.key, "event", `${line}: the event is not of ${open.key}`);
      open.tip = hexOf(sha256(open.tip, bytes));
      open.length++;
      events++;
    } else if (record.record === "stream") {
      const key = textIn(record, "key");
      const known = tips.get(key) ?? { length: 0, tip: "" };
      const isNext = record.from === known.length && (own(record, "tip") ?? "") === known.tip;
      need(
        open === undefined && isNext,
        "chain",
        `${line}: ${key} does not go on as it was left`,
      );
      open = { key, ...known };
    } else if (record.record === "tip") {
      need(open !== undefined, "chain", `${line}: a tip stands outside a stream`);
      const isReached = record.length === open.length && record.tip === open.tip;
      need(isReached, "chain", `${line}: the events of ${open.key} do not lead to its tip`);
      tips.set(open.key, { length: open.length, tip: open.tip });
      open = undefined;
    } else if (record.record === "end") {
      const isWhole = record.lines === number - 1 && record.sha256 === digest.digest("hex");
      need(open === undefined && isWhole, "end", `${line}: the lines before are other ones`);
      const isCounted = record.events === events && record.streams === tips.size;
      need(isCounted, "end", `${line}: it counts other streams or events`);
      isEnded = true;
    }
    if (!isEnded) digest.update(bytes).update("\n");
  }
  need(isEnded, "end", "the end is missing: the file was cut off");
  return `${events} events in ${tips.size} streams: every chain, every count and the checksum hold.`;
}

// ---------------------------------------------------------------- the command

/** Not a step: it marks options that cannot be checked in this kind of file. */
const MISUSE = "options";
const EXPORT_START = '{"record":"header"';

function checkFile(path: string, options: Record<string, string | undefined>): string {
  const file = openSync(path, "r");
  const start = Buffer.alloc(EXPORT_START.length);
  readSync(file, start, 0, start.length, 0);
  closeSync(file);
  if (start.toString() === EXPORT_START) {
    refuseUnused(options, []);
    return checkExport(path);
  }
  const bytes = readFileSync(path);
  let document: unknown;
  try {
    document = decodeJson(bytes);
  } catch {
    throw new Refused("form", "the file is not JSON in UTF-8");
  }
  const isPage = isObject(document) && Array.isArray(document.data);
  const { key, stream, index, previous } = options;
  if (isPage) {
    refuseUnused(options, ["stream", "previous"]);
    return checkPage((document as Fields).data as unknown[], stream, previous);
  }
  const receipt = receiptIn(document);
  if (receipt !== undefined) {
    refuseUnused(options, ["key", "stream"]);
    return checkReceipt(receipt, { key, stream });
  }
  refuseUnused(options, ["key", "stream", "index"]);
  return checkBundle(document, { key, stream, index: index === undefined ? index : Number(index) });
}

/** Refuses options that mean nothing for this kind of file: the user expected another kind. */
function refuseUnused(options: Record<string, string | undefined>, used: readonly string[]): void {
  for (const name of Object.keys(options)) {
    need(used.includes(name), MISUSE, `--${name} cannot be checked in this kind of file`);
  }
}

function main(): number {
  const text = { type: "string" } as const;
  const options = { key: text, stream: text, index: text, previous: text };
  const usage = "usage: verify_bundle.ts FILE [--key HEX] [--stream KEY] [--index N]";
  let parsed;
  try {
    parsed = parseArgs({ options, allowPositionals: true });
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  const { values, positionals } = parsed;
  const isIndex = values.index === undefined || /^\d{1,15}$/.test(values.index);
  const isKey = [values.key, values.previous].every((hex) => hex === undefined || isHex(hex));
  if (positionals.length !== 1 || !isIndex || !isKey) {
    console.error(
      `${usage}\n--key and --previous are 64 lowercase hex characters, --index a number`,
    );
    return 2;
  }
  if (values.key !== undefined && isWeak(values.key)) {
    console.error("--key is a point of small order: anybody can sign for it");
    return 2;
  }
  try {
    console.log(`VALID: ${checkFile(positionals[0]!, values)}`);
    return 0;
  } catch (error) {
    if (error instanceof Refused && error.step === MISUSE) {
      console.error(error.message);
      return 2;
    }
    const step = error instanceof Refused ? `step ${error.step}: ` : "";
    console.error(`NOT VALID: ${step}${(error as Error).message}`);
    return 1;
  }
}

if (import.meta.main) process.exitCode = main();
