/**
 * What a listener receives: the body of a delivery, with the types of a spec if there are some.
 *
 * The names are those on the wire. See docs/reference/listeners.md, "A delivery".
 */

/**
 * The part of the types of a spec that deliveries need: the data of each event type. The types that
 * `daybook types` writes have this form.
 *
 * @example
 * ```ts
 * import type { EventTypes } from "@daybook/client/webhooks";
 *
 * interface Shop extends EventTypes {
 *   readonly aggregates: {
 *     readonly order: { readonly events: { readonly was_placed: { readonly item: string } } };
 *   };
 * }
 * const types: Shop | undefined = undefined;
 * ```
 */
export interface EventTypes {
  readonly aggregates: Readonly<
    Record<string, { readonly events: Readonly<Record<string, object>> }>
  >;
}

/**
 * The metadata of a delivered event.
 *
 * @example
 * ```ts
 * import type { EventMetadata } from "@daybook/client/webhooks";
 *
 * function secondsSince(metadata: EventMetadata, nowMs: number): number {
 *   return nowMs / 1000 - metadata.timestamp;
 * }
 * secondsSince({ actor: { type: "user", id: "global" }, timestamp: 1767225600 }, Date.now());
 * ```
 */
export interface EventMetadata {
  readonly actor: { readonly type: string; readonly id: string };
  readonly target?: { readonly type: string; readonly id: string };
  /** Unix seconds. */
  readonly timestamp: number;
  readonly [field: string]: unknown;
}

interface OneEvent<Key extends string, Type extends string, Data> {
  /** Its id in its stream. */
  readonly id: string;
  /** Its chain hash: 64 lowercase hex characters. */
  readonly hash: string;
  /** The stream, `<type>:<id>`. */
  readonly key: Key;
  readonly type: Type;
  readonly data: Data;
  readonly metadata: EventMetadata;
}

type EventsOf<Aggregate extends string, Events> = {
  [Type in keyof Events & string]: OneEvent<`${Aggregate}:${string}`, Type, Events[Type]>;
}[keyof Events & string];

/**
 * The event in a delivery. With the types of a spec it is a union that narrows on `type`; without
 * them `data` is a plain object.
 *
 * @example
 * ```ts
 * import type { DeliveredEvent } from "@daybook/client/webhooks";
 *
 * interface Shop {
 *   aggregates: {
 *     order: { events: { was_placed: { item: string }; was_cancelled: { reason: string } } };
 *   };
 * }
 * function textOf(event: DeliveredEvent<Shop>): string {
 *   return event.type === "was_placed" ? event.data.item : event.data.reason;
 * }
 * console.log(textOf.name);
 * ```
 */
export type DeliveredEvent<Types extends EventTypes = EventTypes> = string extends
  keyof Types["aggregates"] ? OneEvent<string, string, Readonly<Record<string, unknown>>>
  : {
    [Aggregate in keyof Types["aggregates"] & string]: EventsOf<
      Aggregate,
      Types["aggregates"][Aggregate]["events"]
    >;
  }[keyof Types["aggregates"] & string];

/**
 * What a delivery says about itself, beside its event.
 *
 * @example
 * ```ts
 * import type { DeliveryEnvelope } from "@daybook/client/webhooks";
 *
 * const handled = new Set<string>();
 * function isNew({ id }: DeliveryEnvelope): boolean {
 *   return !handled.has(id) && handled.add(id) !== undefined;
 * }
 * console.log(isNew.name);
 * ```
 */
export interface DeliveryEnvelope {
  /** The same on every try, so that a receiver can recognize a repetition. */
  readonly id: string;
  /** The name of the listener in the spec. */
  readonly listener: string;
  /** 1 for the first try. */
  readonly attempt: number;
  /** ISO 8601 UTC: the time of the event. */
  readonly occurred_at: string;
  readonly instance_id: string;
  readonly environment: string;
}

/**
 * The body of a delivery.
 *
 * @example
 * ```ts
 * import type { WebhookDelivery } from "@daybook/client/webhooks";
 *
 * function lineOf({ listener, event }: WebhookDelivery): string {
 *   return `${listener}: ${event.type} of ${event.key}`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface WebhookDelivery<Types extends EventTypes = EventTypes> extends DeliveryEnvelope {
  readonly event: DeliveredEvent<Types>;
}
