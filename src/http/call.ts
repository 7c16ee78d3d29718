/** One request under way, and what all requests share. `app.ts` makes it; every route reads it. */

import type { ReadBuilt } from "../built_files.ts";
import type { Host } from "../host.ts";
import type { Operator, Tier } from "../domain/access/access.ts";
import type { Service } from "../features/service.ts";
import type { RateScope } from "../domain/refusal.ts";
import type { Environment, Tenant } from "../domain/tenant.ts";
import type { ThreadWatch } from "../domain/fairness/thread_watch.ts";
import type { Tracer } from "../domain/measures/tracer.ts";
import type { Share } from "./byte_room.ts";
import type { Drain, LoadGate } from "./middleware/load_gate.ts";
import type { AddressNet } from "./middleware/address_net.ts";
import type { RequestCounts } from "./metrics/request_counts.ts";
import type { Operation } from "./openapi/operation.ts";
import type { Tag } from "./openapi/tags.ts";

/** How the environment of a request is found. See docs/reference/basics.md. */
export type EnvironmentSource =
  /** One app for each port. */
  | { readonly kind: "listener"; readonly environment: Environment }
  /**
   * One port; the host is `<slug>.<base>`, `<slug>-staging.<base>`, `<slug>-test.<base>` or
   * `api.<base>`.
   */
  | { readonly kind: "host"; readonly baseDomain: string };

export interface AppOptions {
  /** Replaces `SVC` in header names. */
  readonly headerPrefix: string;
  readonly environment: EnvironmentSource;
  /** The caller's address, given the peer's address and the `X-Forwarded-For` header. */
  readonly clientAddress: (peer: string, forwardedFor: string | null) => string;
  /** Origins whose pages may use every method and header of the API. Absent: none. */
  readonly corsOrigins?: readonly string[];
  /** The built console. Absent: this server has none. */
  readonly readConsole?: ReadBuilt;
  /** The built documentation. Absent: this server has none. */
  readonly readDocs?: ReadBuilt;
  /** Whether programs on this machine may read `/metrics` without a token. Absent: no. */
  readonly opensMetricsLocally?: boolean;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
  /** Shared by the listeners of a process. Absent: a drain that never stops. */
  readonly drain?: Drain;
  /** Shared likewise. Absent: counts for this listener alone. */
  readonly requests?: RequestCounts;
  /** Shared likewise. Absent: one for this listener, with the default limit. */
  readonly addressNet?: AddressNet;
  /** Shared likewise. Absent: one for this listener alone. */
  readonly loadGate?: LoadGate;
  /** Shared likewise, and with the workers of the process. Absent: the thread is not watched. */
  readonly watch?: ThreadWatch;
}

/** Shared by all requests. */
export interface Edge {
  readonly service: Service;
  readonly host: Host;
  readonly options: AppOptions;
  readonly requests: RequestCounts;
  readonly addressNet: AddressNet;
  readonly loadGate: LoadGate;
  /** All callable paths, for `/openapi.json`. */
  readonly paths: readonly PathRoutes[];
}

/** The address at which a request arrived. */
export interface Place {
  readonly environment: Environment;
  /** The instance that the host name names; undefined if only the key identifies it. */
  readonly slug?: string;
  /** False on `api.<base>`, which answers operator calls only. */
  readonly servesData: boolean;
}

/**
 * What the server knows about a connection; absent for requests made in process. The runtime
 * builds the address anew on each access, so only code that shows it should read it.
 */
export type Connection = { readonly remoteAddr?: Deno.Addr } | undefined;

export interface Call {
  readonly request: Request;
  readonly requestId: string;
  /** Path parameters, decoded, in the order of the pattern. */
  readonly params: readonly string[];
  /** The text after `?`, as sent. */
  readonly query: string;
  readonly place: Place;
  /** For example `POST /{type}/{id}`; for error records. */
  readonly route: string;
  readonly connection: Connection;
  readonly host: Host;
  /** The instance or operator charged for the memory of body and answer. */
  owner: string;
  /** The body's share of the memory for all bodies. */
  body?: Share;
  /**
   * Set as soon as the key is known, so that a later failure is recorded under the right
   * tenant.
   */
  tenant?: Tenant;
  /** The tier of the key's instance; set together with the tenant. */
  tier?: Tier;
  /** The rate limit headers of the answer; set once the limits are checked. */
  rate?: RateHeaders;
  /** For an answer that only waits: from now on the request does not count as under way. */
  readonly stepOut?: () => void;
}

/** The other end of the connection; empty if it has no network address. */
export function peerAddress({ connection }: Pick<Call, "connection">): string {
  const address = connection?.remoteAddr;
  return address !== undefined && "hostname" in address ? address.hostname : "";
}

/** The caller's own address behind any trusted proxies, for the log. */
export function callerAddress(edge: Edge, call: Call): string {
  const forwardedFor = call.request.headers.get("x-forwarded-for");
  return edge.options.clientAddress(peerAddress(call), forwardedFor);
}

/** The values of the rate limit headers of an answer. */
export interface RateHeaders {
  readonly scope: RateScope;
  readonly limit: number;
  readonly remaining: number;
  /** Undefined if the instance of the request is unknown. */
  readonly tier?: string;
}

/** One path with its methods. */
export interface PathRoutes {
  readonly pattern: string;
  /** The group of the OpenAPI document. */
  readonly tag: Tag;
  readonly methods: ReadonlyMap<string, Route>;
  /** The value of `Allow`. */
  readonly allow: string;
}

type Answer = Response | Promise<Response>;
export type Run<Who> = (edge: Edge, call: Call, who: Who) => Answer;

/**
 * Who may call the route:
 *
 * - `health`: anybody, on any host; it concerns the process itself.
 * - `metrics`: on any host; the route checks the caller itself.
 * - `open`: anybody, without a key.
 * - `read`, `write`: an API key; for `read` also a JWT, if the query names the instance.
 * - `operator`: a JWT.
 */
export type Route =
  & { readonly operation: Operation }
  & (
    | { readonly access: "health" | "metrics" | "open"; readonly run: Run<void> }
    | { readonly access: "read" | "write"; readonly run: Run<Tenant> }
    | { readonly access: "operator"; readonly run: Run<Operator> }
  );
