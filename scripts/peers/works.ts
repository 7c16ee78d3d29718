/** The list of all works. */

import { countSyncs } from "./count_syncs.ts";
import * as reads from "./read_works.ts";
import { measureStores } from "./store_rates.ts";
import type { Work } from "./work.ts";
import * as writes from "./write_works.ts";

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
