/** One stream, live: its events, and word of its erasure. See docs/reference/reading.md. */

import type { AggregateName } from "../../domain/reading.ts";
import { accept, type Refusal } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { FeedService } from "../../features/feed/feed_service.ts";
import type { TailPage } from "../../features/feed/read_tail.ts";
import type { Heard } from "../../features/feed/shared_tails.ts";
import type { Call, Edge } from "../call.ts";
import { sendRefusal } from "../reply.ts";
import {
  encodedOnce,
  type LiveForm,
  streamCaughtUpFrame,
  streamErasedFrame,
  streamFrames,
} from "../feed/frames.ts";
import {
  lastEventId,
  liveAnswer,
  liveFormOf,
  type LiveSource,
  refusalOfPlace,
} from "../feed/live_answer.ts";

/** What is behind an event that is not there any more would be passed over without a word. */
export const BEYOND: Refusal = {
  kind: "bad_request",
  message:
    "start must be the id of an event that the stream has; if the store was restored to an " +
    "earlier moment, read the stream anew",
  path: "start",
};

export interface StreamCall {
  readonly name: AggregateName;
  /** The id of an event; undefined: from the first one. */
  readonly start: string | undefined;
  readonly raw: boolean;
}

/** Sends the events behind `start`, and those to come. */
export async function answerStreamLive(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { name, start: asked, raw }: StreamCall,
): Promise<Response> {
  const { feed } = edge.service;
  const start = lastEventId(call) ?? asked;
  // A refusal has its own status only as long as nothing was sent.
  const first = await feed.readTail(tenant, { ...name, start });
  if (!first.ok) return sendRefusal(call.requestId, refusalOfPlace(call, first.refusal, "start"));
  const { key, generation, length, isBeyond } = first.value;
  if (isBeyond) return sendRefusal(call.requestId, refusalOfPlace(call, BEYOND, "start"));
  const form = liveFormOf(call);
  const tail = {
    name,
    key,
    place: { generation, start },
    heard: { generation, length },
    raw,
    form,
  };
  return liveAnswer(edge, call, () => liveStream(feed, tenant, tail));
}

interface Place {
  readonly generation: number;
  readonly start: string | undefined;
}

interface Tail {
  readonly name: AggregateName;
  readonly key: StreamKey;
  readonly place: Place;
  /** How far the stream was at last. */
  readonly heard: Heard;
  readonly raw: boolean;
  readonly form: LiveForm;
}

function framesOf(
  page: TailPage,
  last: string | undefined,
  { raw, form }: Pick<Tail, "raw" | "form">,
): Uint8Array<ArrayBuffer> {
  const caughtUp = () => page.isUpToDate ? streamCaughtUpFrame(last, form) : "";
  const make = () => streamFrames(page.entries, form, raw) + caughtUp();
  return encodedOnce(page, `${form} ${raw}`, make);
}

/** Its places are a generation and the id of the last event. */
function liveStream(
  feed: FeedService,
  tenant: Tenant,
  { name, key, place, heard: heardFirst, raw, form }: Tail,
): LiveSource {
  let heard = heardFirst;
  return {
    form,
    follower: feed.follow(tenant, key),
    from: formatPlace(place),
    async read(from, size) {
      const { generation, start } = parsePlace(from);
      const page = await feed.readSharedTail(tenant, { ...name, start, ...size, heard });
      if (!page.ok) return page;
      const { entries, isUpToDate, length } = page.value;
      heard = { generation: page.value.generation, length };
      const isErased = page.value.generation !== generation;
      const last = entries.at(-1)?.id ?? start;
      const before = isErased ? [streamErasedFrame(key, form)] : [];
      const frames = () => [...before, framesOf(page.value, last, { raw, form })];
      const count = entries.length + Number(isErased);
      const next = formatPlace({ generation: page.value.generation, start: last });
      return accept({ frames, count, charge: count, next, isUpToDate });
    },
    caughtUp: (from) => streamCaughtUpFrame(parsePlace(from).start, form),
  };
}

function formatPlace({ generation, start = "" }: Place): string {
  return `${generation} ${start}`;
}

function parsePlace(place: string): Place {
  const [generation, start] = place.split(" ");
  return { generation: Number(generation), start: start || undefined };
}
