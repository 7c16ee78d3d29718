/** The list of all that is measured, and what its lines have in common. */

import type { LoadResult } from "../bench/load.ts";
import type { Peer, PeerPlace, RunningPeer } from "./catalog.ts";
import { countSyncs } from "./count_syncs.ts";
import * as reads from "./read_works.ts";
import type { Sizes } from "./sizes.ts";
import { measureStores } from "./store_rates.ts";
import * as writes from "./write_works.ts";

export interface Measured {
  readonly work: string;
  readonly value: number;
  readonly unit: string;
  /** Milliseconds; where single requests were measured. */
  readonly latency?: Pick<LoadResult, "p50" | "p95" | "p99"> & { readonly p999?: number };
  /** Processor time of front and database for one request, where it was measured. */
  readonly serverMicros?: number;
}

/** Left out by a peer, with why. */
export interface Skipped {
  readonly work: string;
  readonly reason: string;
}

export type Outcome = Measured | Skipped;

/** One line of the work list; it may give several figures. */
export type Work = OverHttp | Apart;

interface OverHttp {
  readonly name: string;
  /** Works of one store share a server that begins empty; each has streams of its own. */
  readonly store: "writes" | "many at once" | "reads" | "lists" | "growth";
  /** What it has given when it fails is kept. */
  run(peer: RunningPeer, sizes: Sizes): AsyncIterable<Outcome>;
}

/** Starts the peer itself, in another way. */
interface Apart {
  readonly name: string;
  readonly store: "apart";
  run(peer: Peer, place: PeerPlace, sizes: Sizes): AsyncIterable<Outcome>;
}

export const WORKS: readonly Work[] = [
  { name: "append", store: "writes", run: writes.appendSingles },
  { name: "hot stream", store: "writes", run: writes.appendToOne },
  { name: "keys", store: "writes", run: writes.appendWithKeys },
  { name: "zipf", store: "writes", run: writes.appendByZipf },
  { name: "open loop", store: "writes", run: writes.keepToSchedule },
  { name: "types", store: "writes", run: writes.appendToManyTypes },
  { name: "batch", store: "many at once", run: writes.appendBatches },
  { name: "atomic", store: "many at once", run: writes.writeAtomically },
  { name: "read", store: "reads", run: reads.readAggregates },
  { name: "growth", store: "growth", run: writes.growAndMeasure },
  { name: "listing", store: "lists", run: reads.listStreams },
  { name: "mixed", store: "lists", run: reads.mixReadsAndWrites },
  { name: "store level", store: "apart", run: measureStores },
  { name: "syncs", store: "apart", run: countSyncs },
];
