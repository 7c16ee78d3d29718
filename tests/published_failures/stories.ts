/** Reactions to an event, one story for each kind of work that is left to workers. */

import type { JsonObject } from "../../src/domain/json.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import { reactiveSpec, setOff } from "../support/reactive_spec.ts";
import { SHOP } from "../support/saga_fixtures.ts";
import { uuid } from "../support/service_fixture.ts";
import type { Node } from "../support/two_nodes.ts";
import { type Shop, typesOf, workOn, writeAndDie } from "./shop.ts";

export interface Story {
  readonly name: string;
  readonly spec: JsonObject;
  /** Writes the trigger and does everything that comes before the effect. */
  begin(shop: Shop): Promise<void>;
  /** From then until the effect is due. */
  readonly waitMs: number;
  /** Event types of the stream that receives the effect. */
  look(node: Node, tenant: Tenant): Promise<string[]>;
  readonly before: readonly string[];
  /** With the effect, once. */
  readonly after: readonly string[];
}

const ID = uuid(1);

export const STORIES: readonly Story[] = [
  {
    name: "an implied event",
    spec: reactiveSpec,
    begin: (shop) => writeAndDie(shop, setOff(ID, "was_placed")),
    waitMs: 1_000,
    look: (node, tenant) => typesOf(node, tenant, "ledger", ID),
    before: [],
    after: ["was_noted"],
  },
  {
    name: "a scheduled event",
    spec: reactiveSpec,
    begin: (shop) => writeAndDie(shop, setOff(ID, "was_promised")),
    waitMs: 60_000,
    look: (node, tenant) => typesOf(node, tenant, "order", ID),
    before: ["was_promised"],
    after: ["was_promised", "was_reminded"],
  },
  {
    name: "the first step of a saga",
    spec: SHOP,
    begin: (shop) => writeAndDie(shop, setOff("o1", "was_placed", { sku: "stock" })),
    waitMs: 1_000,
    look: (node, tenant) => typesOf(node, tenant, "inventory", "stock"),
    before: [],
    after: ["was_reserved"],
  },
  {
    name: "the timeout of a saga",
    spec: SHOP,
    async begin(shop) {
      await writeAndDie(shop, setOff("o1", "was_placed", { sku: "stock" }));
      shop.pass(1_000);
      await workOn(shop.start());
    },
    waitMs: 60_000,
    look: (node, tenant) => typesOf(node, tenant, "inventory", "stock"),
    before: ["was_reserved"],
    after: ["was_reserved", "was_released"],
  },
];
