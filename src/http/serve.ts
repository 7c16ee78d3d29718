/**
 * Listeners: one port for each environment, or one for all hosts of a base domain; plain or TLS.
 * Called by `main.ts`. Spec: "Base address `{base_url}` exists per environment".
 */

import type { Host } from "../host.ts";
import type { Service } from "../service.ts";
import { type Environment, ENVIRONMENTS } from "../domain/tenant.ts";
import { createApp } from "./app.ts";
import type { AppOptions, EnvironmentSource } from "./call.ts";

export interface ServeOptions extends Omit<AppOptions, "environment"> {
  readonly hostname: string;
  /** Production's; staging and test follow at +1 and +2. 0: any free ports. */
  readonly port: number;
  /** Then `port` serves everything, and the Host header decides. */
  readonly baseDomain?: string;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface ListeningAddress {
  /** Undefined where the Host header decides. */
  readonly environment?: Environment;
  readonly hostname: string;
  readonly port: number;
  /** e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
}

export interface RunningServer {
  readonly addresses: readonly ListeningAddress[];
  /** Stops accepting and lets running requests end; what still runs after `graceMs` is cut off. */
  stop(graceMs: number): Promise<void>;
}

/** Opens all listeners, or none. @throws what the system says when a port is taken. */
export async function startServer(
  service: Service,
  host: Host,
  options: ServeOptions,
): Promise<RunningServer> {
  const abort = new AbortController();
  const servers: Deno.HttpServer<Deno.NetAddr>[] = [];
  const addresses: ListeningAddress[] = [];
  try {
    for (const [index, source] of environmentSources(options).entries()) {
      const port = options.port === 0 ? 0 : options.port + index;
      const app = createApp(service, host, { ...options, environment: source });
      const { hostname, tls } = options;
      const listen = { hostname, port, signal: abort.signal, onListen() {}, ...tls };
      const server = Deno.serve(listen, app.fetch);
      servers.push(server);
      addresses.push(describeAddress(server.addr, source, tls !== undefined));
    }
  } catch (error) {
    abort.abort();
    await Promise.all(servers.map((server) => server.finished));
    throw error;
  }
  return { addresses, stop: (graceMs) => stopServers(servers, abort, graceMs) };
}

function environmentSources({ baseDomain }: ServeOptions): EnvironmentSource[] {
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

async function stopServers(
  servers: readonly Deno.HttpServer[],
  abort: AbortController,
  graceMs: number,
): Promise<void> {
  const timer = setTimeout(() => abort.abort(), graceMs);
  try {
    await Promise.all(servers.map((server) => server.shutdown()));
    await Promise.all(servers.map((server) => server.finished));
  } finally {
    clearTimeout(timer);
  }
}
