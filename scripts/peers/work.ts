/** What a work is, and the form of its results. */

import type { LoadResult } from "../bench/load.ts";
import type { Peer, PeerPlace, RunningPeer } from "./catalog.ts";
import type { Sizes } from "./sizes.ts";

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
