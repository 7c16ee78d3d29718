/** Reading and changing what events have set off, bound to one engine and one host. */

import { cancelSchedule, readScheduled, showSchedules } from "../reactions/scheduled_events.ts";
import { type EffectsRequest, type EffectsView, showEffects } from "../reactions/read_effects.ts";
import type { DeliveryRunner } from "../listeners/deliver_events.ts";
import {
  type Discarded,
  discardReactions,
  type DiscardRequest,
  type ManageParts,
  pauseReactions,
  type PendingReactions,
  readPendingReactions,
  resumeReactions,
} from "../reactions/manage_reactions.ts";
import { replayDeliveries, type ReplayRequest } from "../listeners/replay_deliveries.ts";
import type { DeliveryPage, ListenerPage, Replayed } from "../../domain/listener/view.ts";
import type { PageRequest } from "../../domain/reading.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { SagaPage, SagaView } from "../../domain/saga/view.ts";
import type { ScheduledPage, ScheduledView } from "../../domain/reaction/scheduled.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { SpecCache } from "../base/current_spec.ts";
import {
  listDeliveries,
  type ListDeliveriesRequest,
  listListeners,
} from "../listeners/list_listeners.ts";
import { type ListSagasRequest, openStepNames, showSaga, showSagas } from "../sagas/read_sagas.ts";

export interface ReactionCalls {
  /** Scheduled events that have neither fired nor been cancelled. */
  listScheduled(tenant: Tenant, page: PageRequest): Promise<Outcome<ScheduledPage>>;
  readScheduled(tenant: Tenant, id: string): Promise<Outcome<ScheduledView>>;
  cancelScheduled(tenant: Tenant, id: string): Promise<Outcome<void>>;
  /** What an event has set off. */
  readEffects(tenant: Tenant, request: EffectsRequest): Promise<Outcome<EffectsView>>;
  listSagas(tenant: Tenant, request: ListSagasRequest): Promise<Outcome<SagaPage>>;
  readSaga(tenant: Tenant, id: string): Promise<Outcome<SagaView>>;
  /** The listeners of the current spec, without their secrets. */
  listListeners(tenant: Tenant, page: PageRequest): Promise<ListenerPage>;
  listDeliveries(tenant: Tenant, request: ListDeliveriesRequest): Promise<Outcome<DeliveryPage>>;
  /** Puts finished deliveries back into their lanes. */
  replayDeliveries(tenant: Tenant, request: ReplayRequest): Promise<Outcome<Replayed>>;
  /**
   * The state of an environment and its pending reactions. This and the calls below are for
   * operators.
   */
  readPending(tenant: Tenant, page: PageRequest): Promise<Outcome<PendingReactions>>;
  pauseReactions(tenant: Tenant, by: string): Promise<void>;
  resumeReactions(tenant: Tenant): Promise<void>;
  discardReactions(tenant: Tenant, request: DiscardRequest): Promise<Outcome<Discarded>>;
}

export interface ReactionParts extends ManageParts {
  readonly specs: SpecCache;
  readonly circuitOf: DeliveryRunner["circuitOf"];
}

export function reactionCalls(parts: ReactionParts): ReactionCalls {
  const { engine, host, specs } = parts;
  const sagas = { engine, host, stepNames: openStepNames(engine, host) };
  return {
    listScheduled: (tenant, page) => showSchedules(engine, host, tenant, page),
    readScheduled: (tenant, id) => readScheduled(engine, host, tenant, id),
    cancelScheduled: (tenant, id) => cancelSchedule(engine, tenant, id, host.nowMs()),
    readEffects: (tenant, request) => showEffects({ engine, host, specs }, tenant, request),
    listSagas: (tenant, request) => showSagas(engine, tenant, request),
    readSaga: (tenant, id) => showSaga(sagas, tenant, id),
    listListeners: (tenant, page) => listListeners(parts, tenant, page),
    listDeliveries: (tenant, request) => listDeliveries(engine, specs, tenant, request),
    replayDeliveries: (tenant, request) =>
      replayDeliveries({ engine, host, specs }, tenant, request),
    readPending: (tenant, page) => readPendingReactions(engine, host, tenant, page),
    pauseReactions: (tenant, by) => pauseReactions(parts, tenant, by),
    resumeReactions: (tenant) => resumeReactions(parts, tenant),
    discardReactions: (tenant, request) => discardReactions(parts, tenant, request),
  };
}
