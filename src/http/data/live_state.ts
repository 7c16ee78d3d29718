/** One state, live: always the newest, never each one in between. See docs/reference/reading.md. */

import type { AggregateName, AggregateView } from "../../domain/reading.ts";
import { accept } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Call, Edge } from "../call.ts";
import { longReadsOf } from "../long_reads.ts";
import { sendRefusal } from "../reply.ts";
import { type LiveForm, stateFrame } from "../feed/frames.ts";
import {
  ENTRIES_OF_A_READ,
  lastEventId,
  liveAnswer,
  type LiveChunk,
  liveFormOf,
  type LiveSource,
} from "../feed/live_answer.ts";
import { aggregateBody, lengthOfState } from "./read_body.ts";

export interface StateCall {
  readonly name: AggregateName;
  readonly synchronous: boolean;
  /** A state is wanted when its stream has more events. */
  readonly afterLength: number;
}

const NEVER_ERASED = 0;
const LENGTH = /^[0-9]{1,15}$/;

/** Sends the state when it is longer than `afterLength`, and after each change. */
export async function answerStateLive(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { name, synchronous, afterLength: asked }: StateCall,
): Promise<Response> {
  const last = lastEventId(call);
  if (last !== undefined && !LENGTH.test(last)) {
    const message = "Last-Event-ID must be the id of a frame: the length of the stream";
    return sendRefusal(call.requestId, { kind: "bad_request", message, path: "Last-Event-ID" });
  }
  const length = last === undefined ? asked : Number(last);
  // A refusal has its own status only as long as nothing was sent.
  const first = await edge.service.feed.readTail(tenant, name);
  if (!first.ok) return sendRefusal(call.requestId, first.refusal);
  const { key } = first.value;
  // Who is as far as the stream may have its state from before an erasure.
  const generation = length === first.value.length ? NEVER_ERASED : first.value.generation;
  const state = { name, key, synchronous, place: { generation, length }, form: liveFormOf(call) };
  return liveAnswer(edge, call, () => liveState(edge, call, tenant, state));
}

interface Place {
  readonly generation: number;
  readonly length: number;
}

interface Followed {
  readonly name: AggregateName;
  readonly key: StreamKey;
  readonly synchronous: boolean;
  readonly place: Place;
  readonly form: LiveForm;
}

/** Its places are a generation and a length. */
function liveState(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { name, key, synchronous, place, form }: Followed,
): LiveSource {
  const { service } = edge;

  function chunkOf(view: AggregateView, next: string): LiveChunk {
    const frames = () => stateFrame(view.length, aggregateBody(view), form);
    const bytesMin = view.dataJson.length;
    // A state costs as much as a plain read of it.
    return { frames, bytesMin, count: 1, charge: ENTRIES_OF_A_READ, next, isUpToDate: true };
  }

  return {
    form,
    follower: service.feed.follow(tenant, key),
    from: formatPlace(place),
    async read(from) {
      const head = await service.feed.readTail(tenant, name);
      if (!head.ok) return head;
      const { generation, length } = head.value;
      const sent = parsePlace(from);
      if (generation === sent.generation && length <= sent.length) {
        return accept({ frames: () => [], count: 0, charge: 0, next: from, isUpToDate: true });
      }
      const read = () =>
        service.data.readAggregate(tenant, { ...name, synchronous, atSeconds: undefined });
      const state = await longReadsOf(service).runMostlyShort(call.owner, read, lengthOfState);
      if (state === undefined || !state.ok) return state;
      const next = formatPlace({ generation, length: state.value.length });
      return accept(chunkOf(state.value, next));
    },
  };
}

function formatPlace({ generation, length }: Place): string {
  return `${generation} ${length}`;
}

function parsePlace(place: string): Place {
  const [generation, length] = place.split(" ").map(Number);
  return { generation: generation!, length: length! };
}
