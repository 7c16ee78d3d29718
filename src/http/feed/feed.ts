/** The feed: every event of an environment in commit order. See docs/reference/feed.md. */

import { cloudEventSource } from "../../domain/cloud_event.ts";
import { gateOf } from "../../domain/fairness/owner_gate.ts";
import { limits } from "../../domain/limits.ts";
import type { FeedPage, FeedRequest } from "../../domain/feed/page.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { FeedService } from "../../features/feed/feed_service.ts";
import { NOT_KEPT, sendParts } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { read } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import { lengthOfParts, type Part } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import { answer, array, BOOLEAN, HEX_32, object, ref, TEXT } from "../openapi/schema.ts";
import { badQuery, flag, LIVE_QUERY, oneOf, text, within } from "../parameter.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import {
  caughtUpFrame,
  encodedOnce,
  feedPageBody,
  type LiveForm,
  pageFrames,
  shortFeedPageBody,
  type ShownEvent,
} from "./frames.ts";
import {
  lastEventId,
  liveAnswer,
  liveFormOf,
  type LiveSource,
  refusalOfPlace,
} from "./live_answer.ts";
import { pollLong } from "./long_poll.ts";

export const readFeed = read({
  id: "readFeed",
  summary: "Every event of the environment in commit order: pages, long polls, live streams",
  query: {
    from: text({ default: "start", description: "`start`, `now` or a cursor" }),
    types: text({ description: "For example `order,order.was_placed,product.*`" }),
    limit: within(1, limits.feedPageMax, limits.feedPageDefault),
    raw: flag(),
    format: oneOf(["daybook", "cloudevents"], "daybook"),
    ...LIVE_QUERY,
  },
  answers: {
    200: answer({
      data: array(
        object({
          cursor: TEXT,
          id: TEXT,
          hash: HEX_32,
          "event?": ref("Event"),
          "raw?": TEXT,
          "cloudevent?": ref("CloudEvent"),
        }),
      ),
      next: TEXT,
      up_to_date: BOOLEAN,
      "building?": { const: true },
      "erased?": array(object({ key: TEXT, cursor: TEXT })),
    }),
  },
  errors: ["cursor_expired"],
  async run(edge, call, tenant, { query }) {
    const { from = "start", types, limit, raw, format, live, wait } = query;
    if (raw && format === "cloudevents") {
      return sendOutcome(call.requestId, badQuery("raw", "cannot be combined with format"));
    }
    const shown = raw
      ? "raw"
      : format === "daybook"
      ? "event"
      : { source: cloudEventSource(tenant) };
    const isHead = call.request.method === "HEAD";
    if (live === "sse" && !isHead) {
      return await answerLive(edge, call, tenant, { from, types, shown });
    }
    const request = { from, types, limit };
    const waitSeconds = live === "long-poll" && !isHead ? wait : 0;
    return await answerPage(edge, call, tenant, { request, shown, waitSeconds });
  },
});

interface PageCall {
  readonly request: FeedRequest;
  readonly shown: ShownEvent;
  /** How long to wait for the first entry. */
  readonly waitSeconds: number;
}

async function answerPage(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { request, shown, waitSeconds }: PageCall,
): Promise<Response> {
  const { feed } = edge.service;
  async function make(from: string): Promise<Outcome<{ page: FeedPage; parts: Part[] }>> {
    const page = await feed.readPage(tenant, { ...request, from });
    if (!page.ok) return page;
    return accept({ page: page.value, parts: await feedPageBody(page.value, shown, edge.host) });
  }
  const makeInTurn = (from: string) =>
    longReadsOf(edge.service).run(call.owner, () => make(from), lengthOfMade);
  const first = await makeInTurn(request.from);
  if (first === undefined) return answerRefused(edge, call, NO_TURN);
  if (!first.ok) return sendRefusal(call.requestId, first.refusal);
  if (waitSeconds === 0 || !isEmpty(first.value.page)) return send(call, first.value.parts);
  const from = first.value.page.next;
  const waited = { request: { ...request, from }, waitSeconds };
  const found = await waitForEntries(edge, call, tenant, waited);
  if (!found.ok) return answerRefused(edge, call, found.refusal);
  const { page } = found.value;
  if (page !== undefined) return sendShared(edge, call, bodyOf(page, shown));
  const long = await makeInTurn(found.value.from);
  if (long === undefined) return answerRefused(edge, call, NO_TURN);
  return long.ok ? send(call, long.value.parts) : answerRefused(edge, call, long.refusal);
}

function lengthOfMade(made: Outcome<{ readonly parts: readonly Part[] }>): number {
  return made.ok ? lengthOfParts(accept(made.value.parts)) : 0;
}

function isEmpty({ entries, erased }: FeedPage): boolean {
  return entries.length + erased.length === 0;
}

function send(call: Call, parts: readonly Part[]): Response {
  return sendParts(call.requestId, parts, NOT_KEPT);
}

function sendShared(edge: Edge, call: Call, body: Uint8Array<ArrayBuffer>): Response {
  gateOf(edge.service, edge.host).spend(body.length);
  return send(call, [body]);
}

interface Found {
  /** Absent if it is long: it is then read again when there is a turn for it. */
  readonly page?: FeedPage;
  readonly from: string;
}

/** Longer pages take turns, because one commit may wake thousands that wait for it. */
const LONG_PAGE_CHARACTERS = 128 * 1024;

/** The first page that has something, or an empty one after the wait. */
async function waitForEntries(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { request, waitSeconds }: Pick<PageCall, "request" | "waitSeconds">,
): Promise<Outcome<Found>> {
  const { feed } = edge.service;
  let { from } = request;
  const page = await pollLong(edge, call, {
    waitSeconds,
    follow: () => feed.follow(tenant),
    read: () => feed.readShared(tenant, { ...request, from }),
    next(page) {
      if (!isEmpty(page)) return "answer";
      from = page.next;
      if (page.isBuilding) return "pause";
      return page.isUpToDate ? "wait" : "read";
    },
  });
  if (!page.ok) return page;
  const characters = page.value.entries.reduce((sum, { raw }) => sum + raw.length, 0);
  return accept(characters > LONG_PAGE_CHARACTERS ? { from } : { page: page.value, from });
}

interface LiveCall {
  readonly from: string;
  readonly types: string | undefined;
  readonly shown: ShownEvent;
}

async function answerLive(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { from: asked, types, shown }: LiveCall,
): Promise<Response> {
  const form = liveFormOf(call);
  const from = lastEventId(call) || asked;
  // A refusal has its own status only as long as nothing was sent.
  const first = await edge.service.feed.readPage(tenant, { from, types, limit: 1 });
  if (!first.ok) return sendRefusal(call.requestId, refusalOfPlace(call, first.refusal, "from"));
  const start = from === "now" ? first.value.next : from;
  const request = { from: start, types, shown, form };
  return liveAnswer(edge, call, () => liveFeed(edge.service.feed, tenant, request));
}

interface LiveRequest extends Pick<FeedRequest, "from" | "types"> {
  readonly shown: ShownEvent;
  readonly form: LiveForm;
}

type Encoded = Uint8Array<ArrayBuffer>;

function sharedOf(
  page: FeedPage,
  form: LiveForm | "body",
  shown: ShownEvent,
  make: () => string,
): Encoded {
  return encodedOnce(page, `${form} ${typeof shown === "string" ? shown : "cloudevents"}`, make);
}

function framesOf(page: FeedPage, { form, shown }: LiveRequest): Encoded {
  const caughtUp = () => page.isUpToDate && !page.isBuilding ? caughtUpFrame(page.next, form) : "";
  return sharedOf(page, form, shown, () => pageFrames(page, form, shown) + caughtUp());
}

/** The body of a page that is not long. */
function bodyOf(page: FeedPage, shown: ShownEvent): Encoded {
  return sharedOf(page, "body", shown, () => shortFeedPageBody(page, shown).join(""));
}

/** The feed as a live answer. Its places are cursors. */
function liveFeed(feed: FeedService, tenant: Tenant, request: LiveRequest): LiveSource {
  const { form, types } = request;
  return {
    form,
    follower: feed.follow(tenant),
    from: request.from,
    async read(from, size) {
      const page = await feed.readShared(tenant, { from, types, ...size });
      if (!page.ok) return page;
      const { entries, erased, next, isUpToDate, isBuilding } = page.value;
      const count = entries.length + erased.length;
      const frames = () => [framesOf(page.value, request)];
      return accept({ frames, count, charge: count, next, isUpToDate, isBuilding });
    },
    caughtUp: (cursor) => caughtUpFrame(cursor, form),
  };
}
