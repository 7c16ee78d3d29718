/**
 * A live answer of the feed. The client's pace decides: a page is read when the one before has
 * been taken, so a connection holds one page at most, and nobody is cut off for being slow. See
 * docs/reference/feed.md.
 */

import type { FeedPage } from "../../domain/feed/page.ts";
import { limits } from "../../domain/limits.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Outcome, Refusal } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Call, Edge } from "../call.ts";
import { authenticateHolder } from "../middleware/authenticate.ts";
import { describeRefusal } from "../reply.ts";
import {
  caughtUpFrame,
  heartbeatFrame,
  type LiveForm,
  pageFrames,
  refusedFrame,
} from "./frames.ts";
import { liveCount, liveRoom } from "./live_count.ts";
import { openLiveTurn } from "./live_turn.ts";

const MS_PER_SECOND = 1000;
/** Entries of one page, and of one charge: see docs/reference/limits.md. */
const PAGE_ENTRIES = 100;
const PAGE_BYTES = 64 * 1024;
/** A connection that had nothing else to say says this often that it is alive. */
const HEARTBEAT_MS = 15_000;
/** How often the key is looked at again. */
const KEY_CHECK_MS = 2_000;
/** The pause while there is no room for a page, or the past is still being filled in. */
const PAUSE_MS = 250;
/** The pause while the store is away. */
const AWAY_MS = 1_000;
/** A client that takes nothing for so long after the end of its answer is gone. */
const GONE_MS = 60_000;

const encoder = new TextEncoder();

export interface LiveRequest {
  readonly from: string;
  readonly types: string | undefined;
  readonly raw: boolean;
  readonly form: LiveForm;
}

/** Frames of pages that several connections send, by their form. */
const shared = new WeakMap<FeedPage, Map<string, Uint8Array<ArrayBuffer>>>();

function framesOf(page: FeedPage, { form, raw }: LiveRequest): Uint8Array<ArrayBuffer> {
  const forms = shared.get(page) ?? new Map<string, Uint8Array<ArrayBuffer>>();
  shared.set(page, forms);
  const name = `${form} ${raw}`;
  const known = forms.get(name);
  if (known !== undefined) return known;
  const caughtUp = page.isUpToDate && !page.isBuilding ? caughtUpFrame(page.next, form) : "";
  const frames = encoder.encode(pageFrames(page, form, raw) + caughtUp);
  forms.set(name, frames);
  return frames;
}

/** The caller has entered the answer into {@link liveCount}. */
export function liveFeed(edge: Edge, call: Call, tenant: Tenant, request: LiveRequest): Response {
  const { feed } = edge.service;
  const { host } = call;
  // A client that takes nothing would hold up the stop.
  const turn = openLiveTurn(edge, call, feed.follow(tenant), () => isStepping || finish(true));
  let isStepping = false;
  const share = liveRoom.open(call.owner);
  const jitter = host.randomBytes(1)[0]! / 256;
  const endMs = host.monotonicMs() + limits.liveSecondsMax * MS_PER_SECOND * (0.9 + jitter / 10);
  let beatMs = host.monotonicMs() + HEARTBEAT_MS;
  let checkMs = host.monotonicMs() + KEY_CHECK_MS;
  let { from } = request;
  /** The cursor of the last `caught_up`. */
  let toldAt: string | undefined;
  /** Whether everything was read that had been committed at the last change. */
  let isCurrent = false;
  let [held, isOver] = [0, false];
  let charged = 0;
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const stopTimer = host.startTimer(endMs - host.monotonicMs() + GONE_MS, () => finish(true));

  function finish(isGone: boolean): void {
    if (isOver) return;
    isOver = true;
    stopTimer();
    turn.end();
    share.leave();
    liveCount.leave(call.owner);
    if (isGone) controller.error(new Error("The client has taken nothing"));
  }

  /**
   * The refusal if the key no longer opens the environment. Otherwise charges its instance for the
   * entries that were sent, and waits for a moment if it has no reads left.
   */
  async function checkKey(): Promise<Refusal | undefined> {
    const header = call.request.headers.get("authorization");
    const holder = await authenticateHolder(edge.service.access, header, call.place, "read");
    checkMs = host.monotonicMs() + KEY_CHECK_MS;
    if (!holder.ok) return holder.refusal;
    const { instance } = holder.value;
    if (instance.tier === "unlimited") charged = 0;
    while (charged >= PAGE_ENTRIES) {
      const verdict = await edge.service.limits.admit(instance, "read");
      if (!verdict.isAdmitted) {
        await pause(Math.min(verdict.retryAfterMs, KEY_CHECK_MS));
        return undefined;
      }
      charged -= PAGE_ENTRIES;
    }
    return undefined;
  }

  async function pause(ms: number): Promise<void> {
    const untilMs = host.monotonicMs() + ms;
    while (!isOver && !turn.isStopping() && host.monotonicMs() < untilMs) {
      await turn.wait(untilMs - host.monotonicMs());
    }
  }

  function send(frames: Uint8Array): void {
    beatMs = host.monotonicMs() + HEARTBEAT_MS;
    controller.enqueue(frames);
  }

  /** Sends the next frames, or ends the answer. */
  async function step(): Promise<void> {
    share.giveBack(held);
    held = 0;
    for (let turns = 0;; turns++) {
      const nowMs = host.monotonicMs();
      if (isOver) return;
      if (turn.isStopping() || nowMs >= endMs) return close();
      if (nowMs >= checkMs || charged >= PAGE_ENTRIES) {
        const refused = await checkKey();
        if (refused !== undefined) return closeWith(refused);
      }
      if (isOver) return;
      if (turns > 0 && sendQuiet()) return;
      if (charged >= PAGE_ENTRIES) continue;
      if (isCurrent) {
        isCurrent = !await turn.wait(Math.min(beatMs, checkMs, endMs) - host.monotonicMs());
        continue;
      }
      const page = await readOn();
      if (isOver) return;
      if (page === undefined) {
        await pause(AWAY_MS);
        continue;
      }
      if (!page.ok) return closeWith(page.refusal);
      const { entries, erased, next, isUpToDate, isBuilding } = page.value;
      if (entries.length + erased.length > 0) {
        if (sendPage(page.value)) return;
        await pause(PAUSE_MS);
        continue;
      }
      from = next;
      if (isBuilding) await pause(PAUSE_MS);
      else isCurrent = isUpToDate;
    }
  }

  /** The next page; undefined while the store is away. */
  async function readOn(): Promise<Outcome<FeedPage> | undefined> {
    const { types } = request;
    const page = { from, types, limit: PAGE_ENTRIES, bytesMax: PAGE_BYTES };
    try {
      return await feed.readShared(tenant, page);
    } catch (error) {
      if (isOutage(error)) return undefined;
      throw error;
    }
  }

  /** Sends the entries of a page; false if there is no room for them now. */
  function sendPage(page: FeedPage): boolean {
    const count = page.entries.length + page.erased.length;
    const frames = framesOf(page, request);
    if (!share.take(frames.length)) return false;
    held = frames.length;
    charged += count;
    liveCount.sent += count;
    from = page.next;
    isCurrent = false;
    if (page.isUpToDate && !page.isBuilding) toldAt = page.next;
    send(frames);
    return true;
  }

  /** Says that nothing is left, or that the connection is alive; false if neither is due. */
  function sendQuiet(): boolean {
    const isDue = host.monotonicMs() >= beatMs;
    if (isCurrent && (toldAt === undefined || (isDue && toldAt !== from))) {
      toldAt = from;
      send(encoder.encode(caughtUpFrame(from, request.form)));
      return true;
    }
    if (isDue) send(encoder.encode(heartbeatFrame(request.form)));
    return isDue;
  }

  function closeWith(refusal: Refusal): void {
    if (isOver) return;
    send(encoder.encode(refusedFrame(describeRefusal(refusal).body, request.form)));
    close();
  }

  function close(): void {
    if (isOver) return;
    finish(false);
    controller.close();
  }

  const body = new ReadableStream<Uint8Array>({
    start(opened) {
      controller = opened;
    },
    async pull() {
      isStepping = true;
      try {
        await step();
      } catch (error) {
        const isEnded = isOver;
        finish(false);
        if (!isEnded) controller.error(error);
      } finally {
        isStepping = false;
      }
    },
    cancel: () => finish(false),
  }, { highWaterMark: 0 });
  const type = request.form === "sse" ? "text/event-stream" : "application/x-ndjson";
  return new Response(body, {
    headers: {
      "content-type": type,
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-request-id": call.requestId,
      "access-control-allow-origin": "*",
    },
  });
}
