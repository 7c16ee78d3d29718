/**
 * Changed audit bundles made from a seed, as a forger, a disk or a wire would change them. For
 * each mutation the expected verdict is known: a verifier must refuse it unless everything
 * under proof still says the same.
 */

import { createRandom, type Random } from "../crash/random.ts";

// deno-lint-ignore no-explicit-any -- a document that may have any form
type Document = any;

export interface Mutation {
  readonly bytes: Uint8Array;
  /** How it was made; shown when a test fails. */
  readonly kind: string;
  /**
   * Whether a verifier must accept it. "shape" means that only the stream's number of events
   * changed. That number is held by the shape of the proof alone, so either verdict may be
   * right.
   */
  readonly expected: "accepted" | "refused" | "shape";
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Share of harmless mutations. Kept small because accepting takes every verifier longest. */
const HARMLESS_SHARE = 0.02;

/** Yields mutations without end. */
export function* mutateBundles(bundles: readonly Document[], seed: number): Generator<Mutation> {
  const random = createRandom(seed);
  const texts = bundles.map((bundle) => JSON.stringify(bundle));
  const essences = bundles.map(essenceOf);
  for (;;) {
    const number = random.below(bundles.length);
    const isHarmless = random.chance(HARMLESS_SHARE);
    const kind = random.pick(isHarmless ? HARMLESS_KINDS : KINDS);
    const bytes = kind.apply(texts[number]!, random, texts);
    const expected = judge(bytes, essences[number]!);
    // Usually skip a harmful kind that happened to change nothing.
    if (expected === "accepted" && !isHarmless && random.chance(0.9)) continue;
    yield { bytes, kind: kind.name, expected };
  }
}

/** A mutated document must be accepted if everything under proof equals the bundle's. */
function judge(bytes: Uint8Array, essence: Essence): Mutation["expected"] {
  let document: Document;
  try {
    document = JSON.parse(decoder.decode(bytes));
  } catch {
    return "refused";
  }
  const found = essenceOf(document);
  if (found.length !== essence.length) return "refused";
  const different = found.findIndex((value, at) => value !== essence[at]);
  if (different === -1) return "accepted";
  const isRest = found.every((value, at) => at === EVENT_COUNT || value === essence[at]);
  return isRest ? "shape" : "refused";
}

/** All values under proof in a fixed order, lists as their JSON text. */
type Essence = readonly unknown[];

const PARTS: readonly (readonly [part: string, fields: readonly string[]])[] = [
  ["stream", ["event_count", "key", "merkle_root"]],
  ["event", ["index", "raw", "hash", "prev_hash"]],
  ["stream_proof", ["siblings", "directions"]],
  ["instance_proof", ["index", "stream_count", "siblings", "directions"]],
  ["anchor", ["format", "merkle_root", "signature", "public_key", "stream_count"]],
];
/** Index of the stream's number of events in an essence. */
const EVENT_COUNT = 0;
/** Fields of the anchor that are signed since format 2. */
const SIGNED_FIELDS = ["instance_id", "environment", "event_count", "created_at"];

function essenceOf(document: Document): Essence {
  const essence: unknown[] = [];
  for (const [part, fields] of PARTS) {
    for (const field of fields) essence.push(plain(document?.[part]?.[field]));
  }
  essence.push(plain(document?.format));
  if (document?.format === undefined) return essence;
  for (const field of SIGNED_FIELDS) essence.push(plain(document?.anchor?.[field]));
  return essence;
}

function plain(value: unknown): unknown {
  return typeof value === "object" ? JSON.stringify(value) : value;
}

interface Kind {
  readonly name: string;
  apply(text: string, random: Random, texts: readonly string[]): Uint8Array;
}

const KINDS: readonly Kind[] = [
  ofBytes("a bit is turned", (bytes, random) => {
    const at = random.below(bytes.length);
    return bytes.with(at, bytes[at]! ^ 1 << random.below(8));
  }),
  ofBytes(
    "a byte is another one",
    (bytes, random) => bytes.with(random.below(bytes.length), random.below(256)),
  ),
  ofBytes("a byte is missing", (bytes, random) => {
    const at = random.below(bytes.length);
    return joined(bytes.subarray(0, at), bytes.subarray(at + 1));
  }),
  ofBytes("a byte is doubled", (bytes, random) => {
    const at = random.below(bytes.length);
    return joined(bytes.subarray(0, at + 1), bytes.subarray(at));
  }),
  ofBytes("the end is missing", (bytes, random) => bytes.subarray(0, random.below(bytes.length))),
  ofDocument("a hash has a bit turned", (document, random) => {
    const [owner, name] = random.pick(hashesOf(document));
    const bytes = Uint8Array.fromHex(owner[name]);
    const at = random.below(bytes.length);
    owner[name] = bytes.with(at, bytes[at]! ^ 1 << random.below(8)).toHex();
  }),
  ofDocument("a hash is in capitals, too short or too long", (document, random) => {
    const [owner, name] = random.pick(hashesOf(document));
    const hash: string = owner[name];
    owner[name] = random.pick([
      hash.toUpperCase(),
      hash.slice(1),
      `${hash}0`,
      `0x${hash}`,
      ` ${hash}`,
    ]);
  }),
  ofDocument("two hashes are exchanged", (document, random) => {
    const [[one, first], [other, second]] = [
      random.pick(hashesOf(document)),
      random.pick(hashesOf(document)),
    ];
    [one[first], other[second]] = [other[second], one[first]];
  }),
  ofDocument("a direction is swapped", (document, random) => {
    const proof = document[random.pick(["stream_proof", "instance_proof"])];
    const at = random.below(proof.directions.length);
    if (proof.directions.length > 0) {
      proof.directions[at] = proof.directions[at] === "left" ? "right" : "left";
    }
  }),
  ofDocument("a proof is longer or shorter", (document, random) => {
    const proof = document[random.pick(["stream_proof", "instance_proof"])];
    const lists = random.pick([["siblings"], ["directions"], ["siblings", "directions"]]);
    const at = random.below(proof.siblings.length + 1);
    const isLonger = random.chance(0.5);
    for (const list of lists) {
      const more = list === "siblings" ? document.event.hash : random.pick(["left", "right"]);
      if (isLonger) proof[list].splice(at, 0, more);
      else proof[list].splice(at, 1);
    }
  }),
  ofDocument("a number is another one", (document, random) => {
    const [owner, name] = random.pick(numbersOf(document));
    owner[name] += random.pick([-1, 1, 2, 8, 64, -owner[name], 2 ** 32, 2 ** 53, 0.5, -1000]);
  }),
  ofDocument("a value is of another kind", (document, random) => {
    const [owner, name] = random.pick(valuesOf(document));
    owner[name] = random.pick([
      null,
      true,
      0,
      -1,
      "",
      "x",
      [],
      {},
      [owner[name]],
      String(owner[name]),
    ]);
  }),
  ofDocument("a field is missing", (document, random) => {
    const [owner, name] = random.pick(valuesOf(document));
    if (Array.isArray(owner)) owner.splice(Number(name), 1);
    else delete owner[name];
  }),
  ofDocument("a text has a character more, less or another", (document, random) => {
    const [owner, name] = random.pick(textsOf(document));
    const at = random.below(owner[name].length + 1);
    const put = random.pick(["", "a", "0", '"', "\\", "\u0000", "\ud800", "é"]);
    owner[name] = owner[name].slice(0, at) + put + owner[name].slice(at + random.below(2));
  }),
  ofDocument("the formats are others", (document, random) => {
    const format = random.pick([undefined, 1, 2, 3, "2", null]);
    for (const part of random.pick([[document], [document.anchor], [document, document.anchor]])) {
      part.format = format;
    }
  }),
  {
    name: "a field stands twice",
    apply(text, random, texts) {
      const fields = /"(?:hash|index|key|raw|signature|merkle_root|event_count)":(?:"[^"]*"|\d+),/g;
      const [own, other] = [[...text.matchAll(fields)], [...random.pick(texts).matchAll(fields)]];
      const { index, 0: field } = random.pick(own);
      const [again] = random.pick(other);
      // The last one counts, so the other one is harmful only behind the first.
      const isBehind = random.chance(0.7);
      const at = isBehind ? index + field.length : index;
      return encoder.encode(text.slice(0, at) + again + text.slice(at));
    },
  },
  {
    name: "a part is of another bundle",
    apply(text, random, texts) {
      const [document, other] = [JSON.parse(text), JSON.parse(random.pick(texts))];
      const name = random.pick(Object.keys(document));
      document[name] = other[name];
      return encoder.encode(JSON.stringify(document));
    },
  },
];

/** Kinds that usually change nothing under proof. */
const HARMLESS_KINDS: readonly Kind[] = [
  ofBytes("white space is put in", (bytes, random) => {
    const at = random.below(bytes.length);
    return joined(bytes.subarray(0, at), encoder.encode(" \n\t"), bytes.subarray(at));
  }),
  ofDocument("what nothing is proved about is another one", (document, random) => {
    const [owner, name] = random.pick([
      [document, "ok"],
      [document, "anchored_at"],
      [document, "note"],
      [document.event, "id"],
      [document.anchor, "id"],
      [document.anchor, "streams"],
    ]);
    owner[name] = random.pick([undefined, null, 1, "x", {}, "\ud800"]);
  }),
  {
    name: "the same is written in another way",
    apply(text, random) {
      const document = shuffled(JSON.parse(text), random);
      const written = JSON.stringify(document, undefined, random.below(4));
      const escaped = random.chance(0.5) ? written.replaceAll(":", ":\t") : written;
      // A tab inside a string makes the JSON invalid; then keep the document as written.
      return encoder.encode(isJson(escaped) ? escaped : written);
    },
  },
];

function ofBytes(name: string, change: (bytes: Uint8Array, random: Random) => Uint8Array): Kind {
  return { name, apply: (text, random) => change(encoder.encode(text), random) };
}

function ofDocument(name: string, change: (document: Document, random: Random) => void): Kind {
  return {
    name,
    apply(text, random) {
      const document = JSON.parse(text);
      change(document, random);
      return encoder.encode(JSON.stringify(document));
    },
  };
}

type Place = readonly [owner: Document, name: string];

/** Every value of the document that is not an object, and every list. */
function valuesOf(document: Document): Place[] {
  const places: Place[] = [];
  for (const [name, value] of Object.entries(document)) {
    if (Array.isArray(value) || typeof value !== "object" || value === null) {
      places.push([document, name]);
    }
    if (typeof value === "object" && value !== null) places.push(...valuesOf(value));
  }
  return places;
}

function hashesOf(document: Document): Place[] {
  return textsOf(document).filter(([owner, name]) => /^(?:[0-9a-f]{64}){1,2}$/.test(owner[name]));
}

function textsOf(document: Document): Place[] {
  return valuesOf(document).filter(([owner, name]) => typeof owner[name] === "string");
}

function numbersOf(document: Document): Place[] {
  return valuesOf(document).filter(([owner, name]) => typeof owner[name] === "number");
}

function shuffled(document: Document, random: Random): Document {
  if (typeof document !== "object" || document === null || Array.isArray(document)) return document;
  const entries = Object.entries(document).map(([name, value]) => [name, shuffled(value, random)]);
  const at = random.below(entries.length);
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)]);
}

function isJson(text: string): boolean {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
