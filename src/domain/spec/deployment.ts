/** The request and the answer of a spec deploy. */

import type { Violation } from "../refusal.ts";
import type { DataCheck } from "./data_check.ts";

/**
 * Where a document comes from. A stored document was checked when it was deployed, perhaps by
 * an older version of the service. A schema that only this version refuses is then not a fault
 * of the spec; instead, events of that type are refused (`event_schema.ts`). The limits of
 * aggregate types and of awaited event types apply to deploys alone.
 */
export type SpecOrigin = "deploy" | "store";

export interface DeploySpecRequest {
  /** The inner `spec` object as sent. */
  readonly spec: unknown;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** Whether a dry run also tries the spec on stored data. */
  readonly checkData?: boolean;
}

export interface DeployedSpec {
  readonly spec_hash: string;
  /** 1 for the first deployed spec of an environment. */
  readonly version: number;
  /** The differences from the current spec, one line each; empty if there are none. */
  readonly changes: readonly string[];
  readonly warnings: readonly Violation[];
  /** What it would do to stored data, if the request asks for that. */
  readonly data_check?: DataCheck;
}

export interface SpecVersion {
  readonly version: number;
  readonly spec_hash: string;
  /** ISO 8601 UTC. */
  readonly created_at: string;
}
