/**
 * Opens the listeners: one port for each environment, or one for all hosts of a base domain.
 *
 * They serve plain HTTP or TLS. `src/cli/serve.ts` calls this. See docs/reference/basics.md.
 */

import type { Host } from "../host.ts";
import type { Service } from "../features/service.ts";
import { type Environment, ENVIRONMENTS } from "../domain/tenant.ts";
import { createApp } from "./app.ts";
import { createLoadGate, type Drain, openDrain } from "./middleware/load_gate.ts";
import type { AppOptions, EnvironmentSource } from "./call.ts";
import { createAddressNet } from "./middleware/address_net.ts";
import { newRequestCounts } from "./metrics/request_counts.ts";

export interface ServeOptions
  extends Omit<AppOptions, "environment" | "requests" | "addressNet" | "loadGate" | "drain"> {
  readonly hostname: string;
  /** The port of production; staging and test follow at +1 and +2. 0: any free ports. */
  readonly port: number;
  /** If set, `port` serves all environments and the Host header selects one. */
  readonly baseDomain?: string;
  /** Requests per minute for each client address. Absent: the default limit. */
  readonly ipLimitPerMinute?: number;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface ListeningAddress {
  /** Undefined if the Host header selects the environment. */
  readonly environment?: Environment;
  readonly hostname: string;
  readonly port: number;
  /** For example `http://127.0.0.1:8000`. */
  readonly url: string;
}

export interface RunningServer {
  readonly addresses: readonly ListeningAddress[];
  /**
   * Stops accepting work and lets requests under way finish, for at most `graceMs`. Requests
   * that still arrive meanwhile are refused, so that clients go to another process.
   */
  stop(graceMs: number): Promise<void>;
}

/** How long after the system ended a listener it is opened again. */
const REOPEN_MS = 1_000;

/**
 * Opens all listeners, or none.
 * @throws {Error} if a port is taken; the message names it.
 */
export async function startServer(
  service: Service,
  host: Host,
  options: ServeOptions,
): Promise<RunningServer> {
  const requests = newRequestCounts();
  const loadGate = createLoadGate(service, host);
  const addressNet = createAddressNet(options.clientAddress, options.ipLimitPerMinute);
  const drain = openDrain();
  const listeners: Listener[] = [];
  const addresses: ListeningAddress[] = [];
  try {
    for (const [index, source] of environmentSources(options).entries()) {
      const port = options.port === 0 ? 0 : options.port + index;
      const shared = { requests, addressNet, loadGate, drain };
      const app = createApp(service, host, { ...options, environment: source, ...shared });
      const { hostname, tls } = options;
      const listener = openListener(host, { hostname, port, ...tls }, app.fetch);
      listeners.push(listener);
      addresses.push(describeAddress(listener.addr, source, tls !== undefined));
    }
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.stop()));
    throw error instanceof Deno.errors.AddrInUse ? portTaken(options, listeners.length) : error;
  }
  return { addresses, stop: (graceMs) => stopListeners(drain, listeners, graceMs) };
}

type Place = Pick<ServeOptions, "hostname" | "port" | "baseDomain">;

/**
 * Checks that all listeners could be opened.
 * @throws {Error} if a port is taken; the message names it.
 */
export function refuseTakenPorts(place: Place): void {
  const { hostname, port } = place;
  if (port === 0) return;
  for (const index of environmentSources(place).keys()) {
    try {
      Deno.listen({ hostname, port: port + index }).close();
    } catch (error) {
      throw error instanceof Deno.errors.AddrInUse ? portTaken(place, index) : error;
    }
  }
}

function portTaken({ hostname, port }: Place, index: number): Error {
  return new Error(
    `${hostname}:${port + index} is in use by another program. Stop it, or set DAYBOOK_PORT to ` +
      "the first of the ports to listen on",
  );
}

interface Listener {
  readonly addr: Deno.NetAddr;
  /** Stops accepting; resolves when the requests under way have ended. */
  stop(): Promise<void>;
}

type ListenOptions = Deno.ServeTcpOptions & Partial<Deno.TlsCertifiedKeyPem>;

/** A listener that survives errors of accepting, such as running out of file descriptors. */
function openListener(
  host: Host,
  options: ListenOptions,
  handler: Deno.ServeHandler<Deno.NetAddr>,
): Listener {
  let stopping = false;
  let server = open(options.port ?? 0);
  const { addr } = server;

  function open(port: number): Deno.HttpServer<Deno.NetAddr> {
    const opened = Deno.serve({ ...options, port, onListen() {} }, handler);
    opened.finished.catch((error: unknown) => reopenLater(error));
    return opened;
  }

  function reopenLater(error: unknown): void {
    if (stopping) return;
    const reason = error instanceof Error ? error.message : String(error);
    host.log("error", "A listener ended and is opened again", { port: addr.port, reason });
    setTimeout(() => {
      if (stopping) return;
      try {
        server = open(addr.port);
      } catch (next) {
        reopenLater(next);
      }
    }, REOPEN_MS);
  }

  async function stop(): Promise<void> {
    stopping = true;
    await server.shutdown().catch(() => {});
  }

  return { addr, stop };
}

function environmentSources({ baseDomain }: Pick<ServeOptions, "baseDomain">): EnvironmentSource[] {
  if (baseDomain !== undefined) return [{ kind: "host", baseDomain }];
  return ENVIRONMENTS.map((environment) => ({ kind: "listener", environment }));
}

function describeAddress(
  { hostname, port }: Deno.NetAddr,
  source: EnvironmentSource,
  secure: boolean,
): ListeningAddress {
  const authority = hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
  const url = `${secure ? "https" : "http"}://${authority}`;
  const environment = source.kind === "listener" ? source.environment : undefined;
  return { environment, hostname, port, url };
}

/** Waits at most `graceMs`; requests that still run then end with the process. */
async function stopListeners(
  drain: Drain,
  listeners: readonly Listener[],
  graceMs: number,
): Promise<void> {
  const grace = Promise.withResolvers<void>();
  const timer = setTimeout(grace.resolve, graceMs);
  await Promise.race([drain.stop(), grace.promise]);
  // Answers are still being sent, and idle connections must be closed.
  const stopped = Promise.all(listeners.map((listener) => listener.stop()));
  await Promise.race([stopped, grace.promise]);
  clearTimeout(timer);
}
