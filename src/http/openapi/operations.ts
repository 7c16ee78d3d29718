/** Collects the rows of all routes of `paths.ts`; a route without a row fails its test. */

import { AUDIT } from "./operations/audit.ts";
import { DATA } from "./operations/data.ts";
import { ERASURE } from "./operations/erasure.ts";
import { IMPORTS } from "./operations/imports.ts";
import { OPERATORS } from "./operations/operators.ts";
import { PLATFORM } from "./operations/platform.ts";
import { PROJECTIONS } from "./operations/projections.ts";
import { SQL } from "./operations/sql.ts";
import { REACTIONS } from "./operations/reactions.ts";
import type { Operations } from "./operation.ts";

/** `<METHOD> <pattern>` to its row. Within a group, in the order of display. */
export const OPERATIONS: Operations = {
  ...DATA,
  ...PROJECTIONS,
  ...SQL,
  ...REACTIONS,
  ...AUDIT,
  ...ERASURE,
  ...OPERATORS,
  ...IMPORTS,
  ...PLATFORM,
};

export interface Tag {
  readonly name: string;
  readonly description: string;
  readonly operations: Operations;
}

/** The groups, which become the tags of the document. */
export const TAGS: readonly Tag[] = [
  {
    name: "data",
    description: "Writing events, and reading what they make: states, lengths, pages of events.",
    operations: DATA,
  },
  {
    name: "projections",
    description: "Tables that are kept up to date from events, read by row, as CSV or by SQL.",
    operations: { ...PROJECTIONS, ...SQL },
  },
  {
    name: "reactions",
    description:
      "What events set off: implied and scheduled events, sagas, deliveries to listeners.",
    operations: REACTIONS,
  },
  {
    name: "audit",
    description: "Anchors over all streams, and proofs that an event is under one.",
    operations: AUDIT,
  },
  {
    name: "erasure",
    description: "Requests to erase what the events of a stream say, and their receipts.",
    operations: ERASURE,
  },
  {
    name: "operators",
    description:
      "Accounts, instances, specs, API keys and modules. These take an operator's token.",
    operations: OPERATORS,
  },
  {
    name: "imports",
    description: "Writing events of the past, from elsewhere.",
    operations: IMPORTS,
  },
  {
    name: "platform",
    description: "Health, metrics and this document.",
    operations: PLATFORM,
  },
];
