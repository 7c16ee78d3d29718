/** A shop with listeners, a sender whose answers are scripted, and workers run by hand. */

import { exampleSpec } from "./example_spec.ts";
import {
  type FixtureOptions,
  orderWrite,
  type ServiceFixture,
  valueOf,
  withService,
} from "./service_fixture.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { DeliveryState, TryAnswer } from "../../src/domain/listener/delivery.ts";
import type { Webhook, WebhookSender, WebhookSettings } from "../../src/domain/listener/webhook.ts";
import type { DeliveryView } from "../../src/domain/listener/view.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { Service } from "../../src/features/service.ts";

export const SECRET = "0123456789abcdef";

export interface DeliveryBody {
  readonly id: string;
  readonly listener: string;
  readonly attempt: number;
  readonly occurred_at: string;
  readonly instance_id: string;
  readonly environment: string;
  readonly event: {
    readonly id: string;
    readonly hash: string;
    readonly key: string;
    readonly type: string;
    readonly data: JsonObject;
    readonly metadata: JsonObject;
  };
}

export interface Sent extends Webhook {
  readonly payload: DeliveryBody;
}

export interface ScriptedSender extends WebhookSender {
  /** All attempts, in the order in which they began. */
  readonly sent: Sent[];
  /** Answers an attempt; 200 until a test sets it. */
  answer: (sent: Sent, number: number) => TryAnswer | Promise<TryAnswer>;
}

export function scriptedSender(): ScriptedSender {
  const sender: ScriptedSender = {
    sent: [],
    answer: () => ({ status: 200 }),
    async send(webhook) {
      const sent = { ...webhook, payload: JSON.parse(webhook.body) as DeliveryBody };
      sender.sent.push(sent);
      return await sender.answer(sent, sender.sent.length);
    },
    close() {},
  };
  return sender;
}

export function webhookSettings(sender: WebhookSender): WebhookSettings {
  return { sender, headerPrefix: "SVC", allowPrivate: false };
}

/** The example spec with these listeners; fields left out get the defaults below. */
export function specWith(listeners: Readonly<Record<string, JsonObject>>): JsonObject {
  const complete = Object.entries(listeners).map(([name, listener]) => [
    name,
    { url: `https://${name}.example.com/hook`, secret: SECRET, events: ["order.*"], ...listener },
  ]);
  const modules = { ...exampleSpec.modules as JsonObject, listeners: Object.fromEntries(complete) };
  return { ...exampleSpec, modules };
}

export interface ListenerFixture extends ServiceFixture {
  readonly sender: ScriptedSender;
  readonly test: Tenant;
}

/** Runs `body` with a service that has one listener, `hook`, for all events of orders. */
export async function withListeners(
  body: (fixture: ListenerFixture) => Promise<void>,
  options: FixtureOptions & { readonly listeners?: Readonly<Record<string, JsonObject>> } = {},
): Promise<void> {
  const sender = scriptedSender();
  const { listeners = { hook: {} } } = options;
  const settings = { spec: specWith(listeners), webhooks: webhookSettings(sender), ...options };
  await withService(
    (fixture) => body({ ...fixture, sender, test: fixture.tenants.test }),
    settings,
  );
}

/** Deploys another spec, forced. */
export async function redeploy(service: Service, tenant: Tenant, spec: JsonObject): Promise<void> {
  valueOf(await service.specs.deploySpec(tenant, { spec, force: true, dryRun: false }));
}

/** Writes notes to one order. */
export async function note(service: Service, tenant: Tenant, id: string, ...texts: string[]) {
  const events = texts.map((text) => ({ type: "was_noted", data: { text } }));
  return valueOf(await service.data.writeEvents(tenant, orderWrite(id, events)));
}

/** Does everything that is due now: timers, deliveries, and what follows from them. */
export async function deliver(service: Service): Promise<void> {
  let quiet = 0;
  for (let round = 0; round < 1_000; round++) {
    const timers = await service.background.drainTimers(100);
    const begun = await service.background.drainDeliveries();
    await service.background.deliveriesIdle();
    quiet = timers + begun === 0 ? quiet + 1 : 0;
    // A delivery that ends makes room for more from the store, so check twice.
    if (quiet === 2) return;
  }
  throw new Error("deliveries do not come to an end");
}

export async function deliveries(
  service: Service,
  tenant: Tenant,
  state?: DeliveryState,
  listener = "hook",
): Promise<readonly DeliveryView[]> {
  const request = { listener, state, limit: 200 };
  return valueOf(await service.data.listDeliveries(tenant, request)).data;
}

/** The `text` of the note in each attempt, in order. */
export function told(sent: readonly Sent[]): string[] {
  return sent.map(({ payload }) => String(payload.event.data.text));
}
