/** The feed: every event of an environment in commit order. See docs/reference/feed.md. */

import { limits } from "../../domain/limits.ts";
import type { FeedPage, FeedRequest } from "../../domain/feed/page.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { sendParts } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { read } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import { lengthOfParts, type Part } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import { authenticateHolder } from "../middleware/authenticate.ts";
import { answer, array, BOOLEAN, HEX_32, object, ref, TEXT } from "../openapi/schema.ts";
import { flag, oneOf, text, within } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";
import { feedPageBody, type LiveForm } from "./frames.ts";
import { liveCount } from "./live_count.ts";
import { liveFeed } from "./live_feed.ts";
import { openLiveTurn } from "./live_turn.ts";

const MS_PER_SECOND = 1000;
/** A page of a store that is still being filled in is looked for this often. */
const BUILDING_PAUSE_MS = 250;
const NOT_KEPT = { "cache-control": "no-store" };
const NO_PLACE = {
  kind: "no_room",
  message: "Too many live answers are open; close some, or read pages",
} as const;

export const readFeed = read({
  id: "readFeed",
  summary: "Every event of the environment in commit order: pages, long polls, live streams",
  query: {
    from: text({ default: "start", description: "`start`, `now` or a cursor" }),
    types: text({ description: "For example `order,order.was_placed,product.*`" }),
    limit: within(1, limits.feedPageMax, limits.feedPageDefault),
    raw: flag(),
    live: oneOf(["no", "long-poll", "sse"], "no"),
    wait: within(1, limits.feedWaitSecondsMax, limits.feedWaitSecondsDefault),
  },
  answers: {
    200: answer({
      data: array(
        object({ cursor: TEXT, id: TEXT, hash: HEX_32, "event?": ref("Event"), "raw?": TEXT }),
      ),
      next: TEXT,
      up_to_date: BOOLEAN,
      "building?": { const: true },
      "erased?": array(object({ key: TEXT, cursor: TEXT })),
    }),
  },
  errors: ["cursor_expired"],
  async run(edge, call, tenant, { query }) {
    const { from = "start", types, limit, raw, live, wait } = query;
    const isHead = call.request.method === "HEAD";
    if (live === "sse" && !isHead) {
      return await answerLive(edge, call, tenant, { from, types, raw });
    }
    const request = { from, types, limit };
    const waitMs = live === "long-poll" && !isHead ? wait * MS_PER_SECOND : 0;
    return await answerPage(edge, call, tenant, { request, raw, waitMs });
  },
});

interface PageCall {
  readonly request: FeedRequest;
  readonly raw: boolean;
  /** How long to wait for the first entry. */
  readonly waitMs: number;
}

async function answerPage(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { request, raw, waitMs }: PageCall,
): Promise<Response> {
  async function make(): Promise<Outcome<{ page: FeedPage; parts: Part[] }>> {
    const page = await edge.service.feed.readPage(tenant, request);
    return page.ok ? accept({ page: page.value, parts: feedPageBody(page.value, raw) }) : page;
  }
  const first = await longReadsOf(edge.service).run(call.owner, make, lengthOfMade);
  if (first === undefined) return answerRefused(edge, call, NO_TURN);
  if (!first.ok) return sendRefusal(call.requestId, first.refusal);
  if (waitMs === 0 || !isEmpty(first.value.page)) return send(call, first.value.parts);
  const page = await waitForEntries(edge, call, tenant, {
    request: { ...request, from: first.value.page.next },
    waitMs,
  });
  if (page === undefined) return answerRefused(edge, call, NO_PLACE);
  return page.ok
    ? send(call, feedPageBody(page.value, raw))
    : sendRefusal(call.requestId, page.refusal);
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

/** The first page that has something, or an empty one after the wait. Undefined: no place. */
async function waitForEntries(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { request, waitMs }: Pick<PageCall, "request" | "waitMs">,
): Promise<Outcome<FeedPage> | undefined> {
  if (!liveCount.enter(call.owner)) return undefined;
  // It waits and does nothing, so it is not under way for those who come.
  call.stepOut?.();
  const { feed } = edge.service;
  const turn = openLiveTurn(edge, call, feed.follow(tenant));
  const endMs = call.host.monotonicMs() + waitMs;
  let { from } = request;
  try {
    for (;;) {
      const page = await feed.readShared(tenant, { ...request, from });
      if (!page.ok || !isEmpty(page.value)) return await checked(edge, call, page);
      const { next, isUpToDate, isBuilding } = page.value;
      from = next;
      const leftMs = endMs - call.host.monotonicMs();
      if (leftMs <= 0 || turn.isStopping() || call.request.signal.aborted) return page;
      if (isBuilding) await turn.wait(Math.min(leftMs, BUILDING_PAUSE_MS));
      else if (isUpToDate) await turn.wait(leftMs);
    }
  } finally {
    turn.end();
    liveCount.leave(call.owner);
  }
}

/** The page, if the key still opens the environment after the wait. */
async function checked(
  edge: Edge,
  call: Call,
  page: Outcome<FeedPage>,
): Promise<Outcome<FeedPage>> {
  const header = call.request.headers.get("authorization");
  const holder = await authenticateHolder(edge.service.access, header, call.place, "read");
  return holder.ok ? page : holder;
}

interface LiveCall {
  readonly from: string;
  readonly types: string | undefined;
  readonly raw: boolean;
}

async function answerLive(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { from: asked, types, raw }: LiveCall,
): Promise<Response> {
  const { headers } = call.request;
  const form: LiveForm = headers.get("accept")?.includes("application/x-ndjson") ? "ndjson" : "sse";
  const from = headers.get("last-event-id") || asked;
  // A refusal has its own status only as long as nothing was sent.
  const first = await edge.service.feed.readPage(tenant, { from, types, limit: 1 });
  if (!first.ok) return sendRefusal(call.requestId, first.refusal);
  if (!liveCount.enter(call.owner)) return answerRefused(edge, call, NO_PLACE);
  const start = from === "now" ? first.value.next : from;
  return liveFeed(edge, call, tenant, { from: start, types, raw, form });
}
