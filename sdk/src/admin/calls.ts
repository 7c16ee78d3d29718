/** The calls of operators, in groups: their types. */

import type {
  Anchor,
  Delivery,
  DeliveryState,
  Listener,
  Scheduled,
  SigningKey,
} from "../core/wide_answers.ts";
import type { Page } from "../core/answers.ts";
import type { Call } from "../core/refusal.ts";
import type { Ask, CallOptions } from "../core/transport.ts";
import type {
  ApiKey,
  Deployed,
  Import,
  ImportedEvent,
  Instance,
  IssuedKey,
  Projection,
  ReactionsPage,
  SpecVersion,
  Tombstone,
  Usage,
} from "./answers.ts";
import type { InEnvironment, ListCalls, PageOptions } from "./operator.ts";

/**
 * How a spec is deployed.
 *
 * @example
 * ```ts
 * import type { DeployOptions } from "@daybook/client/admin";
 *
 * const options: DeployOptions = { environment: "test", dry_run: true, check_data: true };
 * console.log(options.dry_run);
 * ```
 */
export interface DeployOptions extends InEnvironment {
  /** Checks and answers as usual, but deploys nothing. */
  readonly dry_run?: boolean;
  /** With `dry_run`: also tries the stored events against the new spec. */
  readonly check_data?: boolean;
  /** Deploys an incompatible spec; not in production. */
  readonly force?: boolean;
}

/**
 * Which pending reactions are discarded: those that match all of it.
 *
 * @example
 * ```ts
 * import type { ReactionFilter } from "@daybook/client/admin";
 *
 * const filter: ReactionFilter = { kind: "scheduled", aggregate_type: "order" };
 * console.log(filter.kind);
 * ```
 */
export interface ReactionFilter {
  readonly kind?: "implied" | "scheduled" | "saga";
  readonly aggregate_type?: string;
  readonly event_type?: string;
  readonly root_key?: string;
}

/**
 * How events are imported.
 *
 * @example
 * ```ts
 * import type { ImportOptions } from "@daybook/client/admin";
 *
 * const options: ImportOptions = { import_id: "orders-1999", environment: "production" };
 * console.log(options.import_id);
 * ```
 */
export interface ImportOptions extends InEnvironment {
  /**
   * The name under which a repeated import skips what is stored. Choose one, so that a program that
   * was stopped can go on; if not given, each call has a new one.
   */
  readonly import_id?: string;
}

/**
 * Which stream is to be erased, and why.
 *
 * @example
 * ```ts
 * import type { ErasureRequest } from "@daybook/client/admin";
 *
 * const request: ErasureRequest = { key: "person:7KD2M9QXA", reason: "asked for by the person" };
 * console.log(request.key);
 * ```
 */
export interface ErasureRequest {
  /** The stream, `<type>:<id>`. */
  readonly key: string;
  /** It is signed and shown, so name no person. */
  readonly reason: string;
  readonly legal_basis?: string;
  /** Hours until it begins: 72 or more in production. */
  readonly grace_hours?: number;
}

/**
 * All calls of operators. Each gives a union that narrows on `ok` and `error_type`, with
 * `orThrow()`, as the calls of the client do, and is tried again after faults that pass. A call
 * that must not take place twice is tried again only if the server has said that it did not.
 *
 * @example
 * ```ts
 * import { type Admin, createAdmin } from "@daybook/client/admin";
 *
 * async function versions(admin: Admin): Promise<number> {
 *   let count = 0;
 *   for await (const _ of admin.specs.list({ environment: "test" })) count++;
 *   return count;
 * }
 * const admin = createAdmin({ url: "http://127.0.0.1:8002", token: "..." });
 * console.log(typeof admin.deploy, versions.name);
 * ```
 */
export interface Admin {
  /** Deploys a spec: the document itself, or in its envelope `{"spec": ...}`. */
  deploy(spec: object, options?: DeployOptions): Call<Deployed>;

  readonly specs: ListCalls<SpecVersion> & {
    /** The current one. `not_found` before the first deploy. */
    current(options?: InEnvironment): Call<
      SpecVersion & {
        readonly ok: true;
        readonly spec: Readonly<Record<string, unknown>>;
      }
    >;
  };

  readonly instances: {
    list(options?: Omit<PageOptions, "environment">): AsyncIterableIterator<Instance, void>;
    listPage(options?: Omit<PageOptions, "environment">): Call<Page<Instance>>;
    /** One instance; without an id, the one that is meant. */
    get(id?: string, options?: CallOptions): Call<Instance & { readonly ok: true }>;
    create(
      instance: { readonly slug: string; readonly tier?: Instance["tier"] },
      options?: CallOptions,
    ): Call<Instance & { readonly ok: true }>;
    setTier(
      id: string,
      tier: Instance["tier"],
      options?: CallOptions,
    ): Call<Instance & { readonly ok: true }>;
    /** Events of a month, such as `2026-11`; of this one if none is named. */
    usage(options?: InEnvironment & { readonly month?: string }): Call<Usage>;
  };

  readonly keys: ListCalls<ApiKey> & {
    /** Issues a key. Its text is in this answer only. */
    issue(
      key: { readonly name: string; readonly scope: "read" | "write" },
      options?: InEnvironment,
    ): Call<IssuedKey>;
    /** Gives the key a new text; the old one stops working at once. */
    rotate(id: string, options?: CallOptions): Call<IssuedKey>;
    /** Ends the key now. If it has ended, also by a lost try: `not_found`. */
    revoke(id: string, options?: CallOptions): Call<{ readonly ok: true }>;
    /** Ends the key at a time: ISO 8601 UTC, in the future. */
    scheduleRevocation(
      id: string,
      revoke_at: string,
      options?: CallOptions,
    ): Call<ApiKey & { readonly ok: true }>;
  };

  readonly projections: ListCalls<Projection> & {
    /** Deploys a definition; it is then built in the background. */
    deploy(
      projection: object,
      options?: InEnvironment,
    ): Call<{ readonly ok: true; readonly [field: string]: unknown }>;
    remove(name: string, options?: InEnvironment): Call<{ readonly ok: true }>;
  };

  /** Listeners of the environment of the address. */
  readonly listeners: ListCalls<Listener> & {
    deliveries(
      listener: string,
      options?: Omit<PageOptions, "environment"> & { readonly state?: DeliveryState },
    ): AsyncIterableIterator<Delivery, void>;
    deliveriesPage(
      listener: string,
      options?: Omit<PageOptions, "environment"> & { readonly state?: DeliveryState },
    ): Call<Page<Delivery>>;
    /** Sends ended deliveries again; needs the API key. Goes on until all of them are asked for. */
    replay(
      listener: string,
      which: { readonly delivery_id: string } | { readonly since: string },
      options?: CallOptions,
    ): Call<{ readonly ok: true; readonly replayed: number }>;
  };

  readonly reactions: {
    /** What is pending, with a page of it. */
    pending(options?: PageOptions): Call<ReactionsPage>;
    pause(options?: InEnvironment): Call<{ readonly ok: true; readonly paused: boolean }>;
    resume(options?: InEnvironment): Call<{ readonly ok: true; readonly paused: boolean }>;
    /** Removes what matches, until nothing is left of it. To be sure of that, pause first. */
    discard(filter: ReactionFilter, options?: InEnvironment): Call<{
      readonly ok: true;
      readonly discarded: Readonly<Record<"implied" | "scheduled" | "saga", number>>;
    }>;
  };

  /** Events that the environment of the address will write later. */
  readonly scheduled: ListCalls<Scheduled> & {
    get(
      id: string,
      options?: CallOptions,
    ): Call<{ readonly ok: true; readonly scheduled: Scheduled }>;
    /** Cancels one; needs the API key. If it is over, also by a lost try: `not_found`. */
    cancel(id: string, options?: CallOptions): Call<{ readonly ok: true }>;
  };

  readonly imports: ListCalls<Import> & {
    /** Imports up to 10,000 events: all are checked before the first is written. */
    events(events: readonly ImportedEvent[], options?: ImportOptions): Call<ImportAnswer>;
    /**
     * Imports a file of any length with one event on each line. With `cold_start`: faster, into an
     * environment without events.
     */
    lines(
      file: Blob | Uint8Array | string,
      options?: ImportOptions & { readonly cold_start?: boolean },
    ): Call<ImportAnswer>;
    get(
      id: string,
      options?: InEnvironment,
    ): Call<{ readonly ok: true; readonly import: Import }>;
  };

  readonly erasures: ListCalls<Tombstone> & {
    /** Requests that a stream is erased, after its time of grace. */
    request(
      request: ErasureRequest,
      options?: InEnvironment,
    ): Call<{ readonly ok: true; readonly tombstone: Tombstone }>;
    get(
      id: string,
      options?: InEnvironment,
    ): Call<{ readonly ok: true; readonly tombstone: Tombstone }>;
    /** Cancels a request that is still pending. */
    cancel(
      id: string,
      options?: InEnvironment,
    ): Call<{ readonly ok: true; readonly tombstone: Tombstone }>;
  };

  /** Anchors; lists are of the environment of the address. */
  readonly anchors: ListCalls<Anchor> & {
    /** Makes one now; if nothing has changed, it gives the newest one, or null. */
    make(options?: InEnvironment): Call<{ readonly ok: true; readonly anchor: Anchor | null }>;
    /** One by its id, or the newest as `latest`. */
    get(id: string, options?: CallOptions): Call<{ readonly ok: true; readonly anchor: Anchor }>;
    /** The key that signs; with `all` also earlier ones. */
    signingKey(options?: CallOptions & { readonly all?: boolean }): Call<SigningKey>;
    /** Makes a new signing key for the instance: later anchors are signed with it. */
    newSigningKey(options?: InEnvironment): Call<SigningKey>;
  };

  /** Any call of an operator, for those that have no method here. The answer is not checked. */
  request<Answer extends { readonly ok: true }>(ask: Ask): Call<Answer>;
}

/**
 * The answer of an import.
 *
 * @example
 * ```ts
 * import type { ImportAnswer } from "@daybook/client/admin";
 *
 * function lineOf({ written, import: { import_id, state } }: ImportAnswer): string {
 *   return `${import_id}: ${written} events now, ${state}`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface ImportAnswer {
  readonly ok: true;
  /** How many events this call has stored. */
  readonly written: number;
  readonly import: Import;
}
