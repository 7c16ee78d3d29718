/** Measures in process what auditors do: verify bundles offline and check the chains of streams. */

import { signInstanceAnchor } from "../../src/domain/audit/anchor.ts";
import {
  type PageEntry,
  verifyBundleBytes,
  verifyPage,
} from "../../src/domain/audit/attestation.ts";
import { buildBundle } from "../../src/domain/audit/bundle.ts";
import { extendChain } from "../../src/domain/audit/chain.ts";
import { merkleRoot, proveInclusion } from "../../src/domain/audit/merkle.ts";
import { publicKeyOf } from "../../src/domain/audit/signing_key.ts";
import { eventData, streamId } from "./requests.ts";
import type { Row } from "./table.ts";

const EVENTS = 1_000;
const STREAMS = 100_000;
const BUNDLES = 2_000;
const PAGES = 100;
const TURNS = 5;

/** Measures what anyone can check without the server. */
export async function measureOffline(add: (row: Row) => void): Promise<void> {
  add({
    name: "offline verification, in process",
    value: await measureBundles(),
    unit: "bundles/s",
    target: { atLeast: 1_000 },
    note: "1,000 events, 100,000 streams",
  });
  add({
    name: "full audit of chains, in process",
    value: measureChain(),
    unit: "events/s",
    target: { atLeast: 100_000 },
  });
}

/**
 * Bundles verified per second, from bytes. Each is for an event of a stream of 1,000 events,
 * among 100,000 streams.
 */
async function measureBundles(): Promise<number> {
  const bundle = new TextEncoder().encode(JSON.stringify(await makeBundle(makePage())));
  return middleRate(BUNDLES, () => {
    for (let number = 0; number < BUNDLES; number++) {
      const verdict = verifyBundleBytes(bundle);
      if (!verdict.ok) throw new Error(`the bundle of the bench: ${verdict.message}`);
    }
  });
}

/** Events per second whose keys and chain are checked, from a listing with `raw=true`. */
function measureChain(): number {
  const page = makePage();
  return middleRate(PAGES * page.length, () => {
    for (let number = 0; number < PAGES; number++) {
      const verdict = verifyPage(page);
      if (!verdict.ok) throw new Error(`the page of the bench: ${verdict.message}`);
    }
  });
}

function middleRate(units: number, run: () => void): number {
  const rates: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const startedAt = performance.now();
    run();
    rates.push(units / (performance.now() - startedAt) * 1000);
  }
  return rates.sort((a, b) => a - b)[TURNS >> 1]!;
}

function makePage(): PageEntry[] {
  const page: PageEntry[] = [];
  for (let number = 0; number < EVENTS; number++) {
    const raw = JSON.stringify({
      key: `account:${streamId(1)}`,
      type: "was_credited",
      data: JSON.parse(eventData(number)),
      metadata: { actor: { type: "person", id: streamId(2) }, timestamp: 1_700_000_000 + number },
    });
    page.push({ raw, hash: extendChain(page.at(-1)?.hash, raw) });
  }
  return page;
}

async function makeBundle(page: readonly PageEntry[]) {
  const index = EVENTS >> 1;
  const streamIndex = STREAMS >> 1;
  const hashes = page.map(({ hash }) => hash);
  const root = merkleRoot(hashes);
  const roots = Array.from(
    { length: STREAMS },
    (_, number) => number === streamIndex ? root : number.toString(16).padStart(64, "0"),
  );
  const seed = new Uint8Array(32).fill(7);
  const keys = { private_key: seed.toHex(), public_key: (await publicKeyOf(seed)).toHex() };
  const anchor = await signInstanceAnchor("bench", {
    instance_id: streamId(3),
    environment: "production",
    merkle_root: merkleRoot(roots),
    event_count: EVENTS + STREAMS,
    stream_count: STREAMS,
    created_at: "2026-01-01T00:00:00.000Z",
  }, keys);
  const { raw, hash } = page[index]!;
  return buildBundle({
    event: { index, id: String(index).padStart(12, "0"), raw, hash, prev_hash: hashes[index - 1]! },
    stream: { key: `account:${streamId(1)}`, merkle_root: root, event_count: EVENTS },
    streamProof: proveInclusion(hashes, index),
    streamIndex,
    instanceProof: proveInclusion(roots, streamIndex),
    anchor,
  });
}
