/** The answers of the calls of operators. Names are those of the wire. */

import type { DataCheck } from "./data_check.ts";

/**
 * The three environments of an instance.
 *
 * @example
 * ```ts
 * import type { Environment } from "@daybook/client/admin";
 *
 * const environments: readonly Environment[] = ["production", "staging", "test"];
 * console.log(environments.length);
 * ```
 */
export type Environment = "production" | "staging" | "test";

/**
 * A fault or a warning of a spec or a projection: which rule, where, and what to do.
 *
 * @example
 * ```ts
 * import type { Violation } from "@daybook/client/admin";
 *
 * function lineOf({ path, message, hint }: Violation): string {
 *   return `${path}: ${message} ${hint}`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface Violation {
  readonly rule: string;
  readonly path: string;
  readonly message: string;
  readonly hint: string;
}

/**
 * What a deploy of a spec has changed, or would change.
 *
 * @example
 * ```ts
 * import type { Deployed } from "@daybook/client/admin";
 *
 * function describe({ version, changes }: Deployed): string {
 *   return changes.length === 0 ? `version ${version} is as it was` : changes.join("\n");
 * }
 * console.log(describe.name);
 * ```
 */
export interface Deployed {
  readonly ok: true;
  readonly spec_hash: string;
  readonly version: number;
  /** One line for each difference from the spec before. */
  readonly changes: readonly string[];
  readonly warnings: readonly Violation[];
  /** With `check_data`: what the stored events say to the new spec. */
  readonly data_check?: DataCheck;
}

/**
 * A deployed version of a spec.
 *
 * @example
 * ```ts
 * import type { SpecVersion } from "@daybook/client/admin";
 *
 * function lineOf({ version, created_at }: SpecVersion): string {
 *   return `${version}, deployed ${created_at}`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface SpecVersion {
  readonly version: number;
  readonly spec_hash: string;
  readonly created_at: string;
}

/**
 * An instance. Its tier says how much its keys may do.
 *
 * @example
 * ```ts
 * import type { Instance } from "@daybook/client/admin";
 *
 * function isLimited({ tier }: Instance): boolean {
 *   return tier !== "unlimited";
 * }
 * console.log(isLimited.name);
 * ```
 */
export interface Instance {
  readonly id: string;
  readonly slug: string;
  readonly tier: "free" | "hobby" | "pro" | "scale" | "unlimited";
  readonly created_at: string;
}

/**
 * How many events an environment has stored in a month, and how many it may.
 *
 * @example
 * ```ts
 * import type { Usage } from "@daybook/client/admin";
 *
 * function shareOf({ events_written, limit }: Usage): number {
 *   return limit === null ? 0 : events_written / limit;
 * }
 * console.log(shareOf.name);
 * ```
 */
export interface Usage {
  readonly ok: true;
  readonly instance_id: string;
  readonly environment: Environment;
  readonly tier: string;
  readonly month: string;
  readonly events_written: number;
  readonly limit: number | null;
  readonly resets_at: string;
}

/**
 * An API key, without its text.
 *
 * @example
 * ```ts
 * import type { ApiKey } from "@daybook/client/admin";
 *
 * function isForWriting({ scope, revoke_at }: ApiKey): boolean {
 *   return scope === "write" && revoke_at === undefined;
 * }
 * console.log(isForWriting.name);
 * ```
 */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scope: "read" | "write";
  readonly environment: Environment;
  readonly created_at: string;
  readonly revoke_at?: string;
}

/**
 * A new key with its text, which is shown only here.
 *
 * @example
 * ```ts
 * import type { IssuedKey } from "@daybook/client/admin";
 *
 * function lineFor({ name, key }: IssuedKey): string {
 *   return `${name.toUpperCase()}_KEY=${key}`;
 * }
 * console.log(lineFor.name);
 * ```
 */
export interface IssuedKey extends ApiKey {
  readonly ok: true;
  readonly key: string;
}

/**
 * A deployed projection and its state.
 *
 * @example
 * ```ts
 * import type { Projection } from "@daybook/client/admin";
 *
 * function isCurrent({ state, lag }: Projection): boolean {
 *   return state === "ready" && lag === 0;
 * }
 * console.log(isCurrent.name);
 * ```
 */
export interface Projection {
  readonly name: string;
  readonly state: "ready" | "building" | "broken";
  readonly version: number | null;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly building?: {
    readonly version: number;
    readonly rows: number;
    readonly started_at: string;
  };
  readonly lag: number;
  readonly failed_rows: number;
  readonly last_error: unknown;
  readonly deployed_at: string;
  /** The definition. */
  readonly projection: Readonly<Record<string, unknown>>;
}

/**
 * What events have set off and is still to be done.
 *
 * @example
 * ```ts
 * import type { Pending } from "@daybook/client/admin";
 *
 * function lineOf({ count, is_more, oldest }: Pending): string {
 *   return `${count}${is_more ? " or more" : ""} since ${oldest}`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface Pending {
  readonly count: number;
  readonly bytes: number;
  /** Whether there are others that were not counted. */
  readonly is_more: boolean;
  readonly oldest?: string | null;
  readonly [field: string]: unknown;
}

/**
 * One pending reaction: an implied event, a scheduled event or a saga.
 *
 * @example
 * ```ts
 * import type { Reaction } from "@daybook/client/admin";
 *
 * function lineOf({ kind, key, event_type }: Reaction): string {
 *   return `${kind}: ${event_type} of ${key}`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface Reaction {
  readonly kind: "implied" | "scheduled" | "saga";
  readonly key: string;
  readonly event_type: string;
  readonly root_key: string;
  readonly since: string | number;
  readonly tries: number;
  readonly fire_at?: string | number;
  readonly saga_id?: string;
  readonly [field: string]: unknown;
}

/**
 * A page of pending reactions, and how many there are of each kind.
 *
 * @example
 * ```ts
 * import type { ReactionsPage } from "@daybook/client/admin";
 *
 * function isIdle({ pending, paused }: ReactionsPage): boolean {
 *   return !paused && Object.values(pending).every((kind) => kind.count === 0);
 * }
 * console.log(isIdle.name);
 * ```
 */
export interface ReactionsPage {
  readonly ok: true;
  readonly paused: boolean;
  readonly paused_since?: string;
  readonly paused_by?: string;
  readonly pending: Readonly<Record<"implied" | "scheduled" | "saga" | "delivery", Pending>>;
  readonly data: readonly Reaction[];
  readonly truncated: boolean;
  readonly next_start?: string;
}

/**
 * An event of the past, for an import.
 *
 * @example
 * ```ts
 * import type { ImportedEvent } from "@daybook/client/admin";
 *
 * const event: ImportedEvent = {
 *   key: "order:0RDER1999",
 *   type: "was_placed",
 *   data: { customer: "Ada" },
 *   metadata: { actor: { type: "user", id: "global" }, timestamp: 915148800 },
 * };
 * console.log(event.key);
 * ```
 */
export interface ImportedEvent {
  /** `<aggregate type>:<id>`. */
  readonly key: string;
  readonly type: string;
  readonly data: object;
  readonly metadata: {
    readonly actor: { readonly type: string; readonly id: string };
    readonly target?: { readonly type: string; readonly id: string };
    /** Unix seconds. */
    readonly timestamp: number;
    /** What it was where it comes from. */
    readonly origin?: {
      readonly source: string;
      readonly stream?: string;
      readonly id?: string;
      readonly time?: string;
      readonly position?: string;
      readonly correlation_id?: string;
      readonly causation_id?: string;
    };
  };
}

/**
 * An import and its progress.
 *
 * @example
 * ```ts
 * import type { Import } from "@daybook/client/admin";
 *
 * function isOver({ state }: Import): boolean {
 *   return state === "complete";
 * }
 * console.log(isOver.name);
 * ```
 */
export interface Import {
  readonly import_id: string;
  readonly form: "import" | "import_jsonl" | "cold_start";
  readonly state: "running" | "complete";
  /** How many events are stored under this id. */
  readonly written: number;
  readonly lines: number;
  readonly bytes: number;
  readonly started_at: string;
  readonly updated_at: string;
}

/**
 * A request to erase a stream, with its receipt once the stream is erased.
 *
 * @example
 * ```ts
 * import type { Tombstone } from "@daybook/client/admin";
 *
 * function isErased({ state, receipt }: Tombstone): boolean {
 *   return state === "completed" && receipt !== undefined;
 * }
 * console.log(isErased.name);
 * ```
 */
export interface Tombstone {
  readonly id: string;
  readonly key: string;
  readonly reason: string;
  readonly legal_basis?: string;
  readonly grace_hours: number;
  readonly state: "pending" | "running" | "completed" | "cancelled";
  readonly requested_at: string;
  readonly requested_by: string;
  readonly execute_at: string;
  readonly executed_at?: string;
  readonly completed_at?: string;
  readonly cancelled_at?: string;
  /** For `verifyReceipt` of `@daybook/client/verify`. */
  readonly receipt?: Readonly<Record<string, unknown>>;
}
