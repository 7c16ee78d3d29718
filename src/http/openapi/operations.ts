/** What the document says of every route of `paths.ts`. A route without a row fails its test. */

import { AUDIT } from "./operations/audit.ts";
import { DATA } from "./operations/data.ts";
import { ERASURE } from "./operations/erasure.ts";
import { IMPORTS } from "./operations/imports.ts";
import { OPERATORS } from "./operations/operators.ts";
import { PLATFORM } from "./operations/platform.ts";
import { PROJECTIONS } from "./operations/projections.ts";
import { REACTIONS } from "./operations/reactions.ts";
import type { Operations } from "./operation.ts";

/** `<METHOD> <pattern>` to its row. Within a group, the order in which they are shown. */
export const OPERATIONS: Operations = {
  ...DATA,
  ...PROJECTIONS,
  ...REACTIONS,
  ...AUDIT,
  ...ERASURE,
  ...OPERATORS,
  ...IMPORTS,
  ...PLATFORM,
};

/** The groups, as tags of the document. */
export const TAGS: readonly (readonly [name: string, operations: Operations])[] = [
  ["data", DATA],
  ["projections", PROJECTIONS],
  ["reactions", REACTIONS],
  ["audit", AUDIT],
  ["erasure", ERASURE],
  ["operators", OPERATORS],
  ["imports", IMPORTS],
  ["platform", PLATFORM],
];
