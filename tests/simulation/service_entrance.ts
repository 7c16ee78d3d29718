/** Clients that call the service directly. */

import type { Outcome } from "../../src/domain/refusal.ts";
import type { Entrance, Reply } from "./entrance.ts";
import { TENANT } from "./founding.ts";

const PAGE = { limit: 50 };

export const serviceEntrance: Entrance = {
  async write({ service }, request) {
    return replyOf(await service.data.writeEvents(TENANT, request), (written) => ({
      places: written.targets,
      impliedCount: written.impliedCount,
      replayed: written.replayed,
    }));
  },
  async listScheduled({ service }) {
    const page = await service.data.listScheduled(TENANT, PAGE);
    return page.ok ? page.value.data.map(({ scheduled_id }) => scheduled_id) : [];
  },
  async cancelScheduled({ service }, id) {
    return replyOf(await service.data.cancelScheduled(TENANT, id), () => undefined);
  },
};

function replyOf<From, To>(outcome: Outcome<From>, read: (value: From) => To): Reply<To> {
  if (outcome.ok) return { ok: true, value: read(outcome.value) };
  return { ok: false, isBusy: outcome.refusal.kind === "idempotency_in_progress" };
}
