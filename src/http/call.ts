/** One request under way, and what all requests share. Made by `app.ts`, read by every route. */

import type { Host } from "../host.ts";
import type { Tier } from "../domain/access.ts";
import type { Service } from "../service.ts";
import type { Environment, Tenant } from "../domain/tenant.ts";
import type { ThreadWatch } from "../domain/thread_watch.ts";
import type { Tracer } from "../domain/tracer.ts";
import type { Share } from "./byte_room.ts";
import type { Drain } from "./drain.ts";
import type { AddressNet } from "./middleware/address_net.ts";
import type { LoadGate } from "./middleware/load_gate.ts";
import type { RateHeaders } from "./middleware/rate_limit.ts";
import type { RequestCounts } from "./metrics/request_counts.ts";
import type { PathRoutes } from "./route.ts";

/** How the environment of a request is found. Spec: "Base address `{base_url}`". */
export type EnvironmentSource =
  /** One app per port. */
  | { readonly kind: "listener"; readonly environment: Environment }
  /** One port: `<slug>.<base>`, `<slug>-staging.<base>`, `<slug>-test.<base>`, `api.<base>`. */
  | { readonly kind: "host"; readonly baseDomain: string };

export interface AppOptions {
  /** What stands for `SVC` in header names. */
  readonly headerPrefix: string;
  readonly environment: EnvironmentSource;
  /** The caller's address, given that of the peer and the `X-Forwarded-For` header. */
  readonly clientAddress: (peer: string, forwardedFor: string | null) => string;
  /** Origins whose pages may use every method and header of the API. Left out: none. */
  readonly corsOrigins?: readonly string[];
  /** Whether programs on this machine read `/metrics` without a token. Left out: no. */
  readonly opensMetricsLocally?: boolean;
  /** Left out: nobody traces. */
  readonly tracer?: Tracer;
  /** Shared by the listeners of a process. Left out: one that never stops. */
  readonly drain?: Drain;
  /** The same. Left out: counted for this one alone. */
  readonly requests?: RequestCounts;
  /** The same. Left out: as large as the contract says. */
  readonly addressNet?: AddressNet;
  /** The same. Left out: one for this listener alone. */
  readonly loadGate?: LoadGate;
  /** The same, with the workers of the process. Left out: nobody watches the thread. */
  readonly watch?: ThreadWatch;
}

/** What every request shares. */
export interface Edge {
  readonly service: Service;
  readonly host: Host;
  readonly options: AppOptions;
  readonly requests: RequestCounts;
  readonly addressNet: AddressNet;
  readonly loadGate: LoadGate;
  /** All that can be called, for `/openapi.json`. */
  readonly paths: readonly PathRoutes[];
}

/** Where a request arrived. */
export interface Place {
  readonly environment: Environment;
  /** The instance that the host name names; undefined where only the key tells. */
  readonly slug?: string;
  /** False on `api.<base>`, which answers operator calls alone. */
  readonly servesData: boolean;
}

/**
 * What the server tells about a connection. Absent where a request is put in by hand. Its address
 * is made anew each time it is asked for, so only what shows it should ask.
 */
export type Connection = { readonly remoteAddr?: Deno.Addr } | undefined;

export interface Call {
  readonly request: Request;
  readonly requestId: string;
  /** Path parameters, decoded, in the order of the pattern. */
  readonly params: readonly string[];
  /** What follows `?`, as sent. */
  readonly query: string;
  readonly place: Place;
  /** `POST /{type}/{id}`, for error records. */
  readonly route: string;
  readonly connection: Connection;
  readonly host: Host;
  /** Who answers for the memory that body and answer take: an instance or an operator. */
  owner: string;
  /** What its body holds of the memory that all bodies share. */
  body?: Share;
  /** Set as soon as the key is known, so that a later failure is recorded where it belongs. */
  tenant?: Tenant;
  /** Of the instance that the key belongs to; set with its tenant. */
  tier?: Tier;
  /** What the answer tells about rate limits; set once they are checked. */
  rate?: RateHeaders;
}

/** The other end of the connection; empty where that has no network address. */
export function peerAddress({ connection }: Pick<Call, "connection">): string {
  const address = connection?.remoteAddr;
  return address !== undefined && "hostname" in address ? address.hostname : "";
}

/** The caller's own address, behind whatever proxies are trusted. For the log. */
export function callerAddress(edge: Edge, call: Call): string {
  const forwardedFor = call.request.headers.get("x-forwarded-for");
  return edge.options.clientAddress(peerAddress(call), forwardedFor);
}
