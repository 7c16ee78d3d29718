/** The list of all works, and the form of their results. */

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
  /** Milliseconds; present if single requests were measured. */
  readonly latency?: Pick<LoadResult, "p50" | "p95" | "p99"> & { readonly p999?: number };
  /** Processor time of front and database for one request, if it was measured. */
  readonly serverMicros?: number;
}

/** A work that a peer leaves out, and why. */
export interface Skipped {
  readonly work: string;
  readonly reason: string;
}

export type Outcome = Measured | Skipped;

/** One line of the work list; it may yield several figures. */
export type Work = OverHttp | Apart;

interface OverHttp {
  readonly name: string;
  /** Works of one store share a server that starts empty; each of them has its own streams. */
  readonly store: "writes" | "many at once" | "reads" | "lists" | "growth";
  /** The outcomes that it has yielded before it fails are kept. */
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
