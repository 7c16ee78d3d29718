/**
 * A real server with the spec of a shop, for the tests of the SDK, and the types of that spec as a
 * generated file has them.
 */

import assert from "node:assert/strict";
import type { ClientOptions } from "@daybook/client";
import { exampleSpec } from "../support/example_spec.ts";
import { type ServerOptions, type ServerProcess, startServer } from "../support/server_process.ts";

export interface OrderState {
  readonly customer?: string;
  readonly total?: number;
  readonly placed_on?: string;
  readonly status?: "placed" | "paid";
  readonly lines?: readonly { readonly sku: string; readonly qty: number }[];
  readonly paid?: number;
  readonly paid_at?: number;
  readonly notes?: readonly string[];
}

/** The types of `exampleSpec`, worked out by hand from its schemas and handlers. */
export interface Shop {
  readonly aggregates: {
    readonly order: {
      readonly state: OrderState;
      readonly events: {
        readonly was_placed: {
          readonly customer: string;
          readonly total?: number;
          readonly placed_on?: string;
        };
        readonly had_line_added: {
          readonly lines: readonly { readonly sku: string; readonly qty: number }[];
        };
        readonly was_paid: { readonly amount: number };
        readonly was_noted: { readonly text: string };
        readonly was_viewed: Readonly<Record<string, unknown>>;
      };
    };
    readonly customer: {
      readonly state: { readonly name?: string; readonly email?: string };
      readonly events: {
        readonly was_registered: { readonly name: string; readonly email?: string };
        readonly was_renamed: { readonly name: string };
      };
    };
    readonly inventory: {
      readonly state: { readonly on_hand?: number };
      readonly events: {
        readonly was_stocked: { readonly by: number };
        readonly was_counted: { readonly on_hand: number };
      };
    };
  };
  readonly actors: "user" | "admin";
  readonly targets: "customer";
}

export const ACTOR = { type: "user", id: "global" } as const;

export interface ShopServer {
  readonly server: ServerProcess;
  /** What a client of the test environment is made with. */
  readonly options: ClientOptions<Shop> & { readonly url: string; readonly key: string };
  /** The key that may only read. */
  readonly readKey: string;
}

/** Starts a server and deploys a spec to its test environment. */
export async function startShop(
  { spec = exampleSpec, ...options }: ServerOptions & { readonly spec?: object } = {},
): Promise<ShopServer> {
  const server = await startServer(options);
  const { credentials, baseUrls } = server;
  await operate(server, "spec", { environment: "test", spec });
  const { read, write } = credentials.keys.test;
  return { server, options: { url: baseUrls.test, key: write, actor: ACTOR }, readKey: read };
}

/** Makes a call of an operator to the instance. */
export async function operate(server: ServerProcess, what: string, body: object): Promise<void> {
  const { instance_id, operator_token } = server.credentials;
  const response = await fetch(`${server.baseUrls.test}/api/instances/${instance_id}/${what}`, {
    method: "POST",
    headers: { authorization: `Bearer ${operator_token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, text);
}

/** Runs the steps of a test beside one server. */
export async function withShop(
  body: (shop: ShopServer) => Promise<void>,
  options: Parameters<typeof startShop>[0] = {},
): Promise<void> {
  const shop = await startShop(options);
  try {
    await body(shop);
  } finally {
    await shop.server.remove();
  }
}
