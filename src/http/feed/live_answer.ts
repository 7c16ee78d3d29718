/**
 * A live answer: of the feed, of one stream or of one state. The client's pace decides: more is
 * read when what came before has been taken, so a connection holds one chunk at most, and nobody
 * is cut off for being slow. See docs/reference/feed.md.
 */

import type { Holder } from "../../domain/access/access.ts";
import { gateOf } from "../../domain/fairness/owner_gate.ts";
import { limits } from "../../domain/limits.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Outcome, Refusal } from "../../domain/refusal.ts";
import type { Follower } from "../../features/feed/follow_commits.ts";
import { readWeight } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { answerRefused } from "../failure.ts";
import { byteLength, cutParts, type Part } from "../long_answer.ts";
import { authenticateHolder } from "../middleware/authenticate.ts";
import { describeRefusal } from "../reply.ts";
import { heartbeatFrame, type LiveForm, refusedFrame } from "./frames.ts";
import { liveBytesOf, liveCount, liveRoom, NO_PLACE } from "./live_count.ts";
import { openLiveTurn } from "./live_turn.ts";

const MS_PER_SECOND = 1000;
/** So many entries cost as much as one read of the rate limit: see docs/reference/limits.md. */
export const ENTRIES_OF_A_READ = 100;
/** A chunk as long as there is much room for frames, and one when there is little. */
const LARGE_CHUNK: ChunkSize = {
  limit: limits.liveChunkEntriesMax,
  bytesMax: limits.liveChunkBytesMax,
};
const SMALL_CHUNK: ChunkSize = {
  limit: LARGE_CHUNK.limit / 4,
  bytesMax: LARGE_CHUNK.bytesMax / 4,
};
/** Half of what one owner may hold. */
const MUCH_ROOM_BYTES = limits.liveBytesMax / 8;
/** A connection that had nothing else to say says this often that it is alive. */
const HEARTBEAT_MS = 15_000;
/** How often the credential is looked at again. */
const KEY_CHECK_MS = 2_000;
/**
 * The pause while there is no room for a page, or the past is still being filled in. Thousands may
 * begin it at the same moment, so it is up to a half longer.
 */
const PAUSE_MS = 200;
/** The pause while the store is away. */
const AWAY_MS = 1_000;
/** A client that takes nothing for so long after the end of its answer is gone. */
const GONE_MS = 60_000;
/** When the process is to end, a client has so long to take what is left of its answer. */
const STOP_MS = 2_000;

/** A longer `Accept` is not read: its client gets server-sent events. */
const ACCEPT_CHARACTERS_MAX = 1024;

/** How much one chunk may have. */
export interface ChunkSize {
  readonly limit: number;
  /** Of the entries. The first one may have more. */
  readonly bytesMax: number;
}

/** What is sent at once. */
export interface LiveChunk {
  /** Makes whole frames. It is called if there is something. */
  readonly frames: () => readonly Part[];
  /** What the frames have at least, if they may be long. */
  readonly bytesMin?: number;
  /** Events and erasures, or states. */
  readonly count: number;
  /** What the chunk costs its instance, in entries. */
  readonly charge: number;
  /** The place behind the chunk. */
  readonly next: string;
  /** Whether nothing was behind it when it was read. The frames say so, if the source does. */
  readonly isUpToDate: boolean;
  /** Whether the past is still being filled in. */
  readonly isBuilding?: boolean;
}

/** What a live answer sends. */
export interface LiveSource {
  readonly form: LiveForm;
  readonly follower: Follower;
  /** The place where the answer begins. Only the source knows what a place means. */
  readonly from: string;
  /** What is behind a place. Undefined: there is no turn for it now. */
  read(place: string, size: ChunkSize): Promise<Outcome<LiveChunk> | undefined>;
  /** The frame that says that nothing is behind a place; absent if the source has none. */
  caughtUp?(place: string): string;
}

/** How the client wants a live answer. */
export function liveFormOf({ request }: Call): LiveForm {
  const accept = request.headers.get("accept") ?? "";
  if (accept.length > ACCEPT_CHARACTERS_MAX) return "sse";
  const types = accept.toLowerCase().split(",").map(readWeight);
  const takesLines = types.some(([type, weight]) => type === "application/x-ndjson" && weight > 0);
  return takesLines ? "ndjson" : "sse";
}

/** Where a client goes on that lost its connection. */
export function lastEventId({ request }: Call): string | undefined {
  return request.headers.get("last-event-id") || undefined;
}

/** The refusal of a place in the words of the header, if that named it and not `parameter`. */
export function refusalOfPlace(call: Call, refusal: Refusal, parameter: string): Refusal {
  const isOfPlace = refusal.kind === "bad_request" && refusal.path === parameter;
  if (!isOfPlace || lastEventId(call) === undefined) return refusal;
  const path = "Last-Event-ID";
  return { ...refusal, message: refusal.message.replace(parameter, path), path };
}

/** The memory of the frames of one answer. */
function openFrames(owner: string) {
  const share = liveRoom.open(owner);
  let held = 0;

  /** Changes how many bytes are held; false if there is no room for that. */
  function hold(bytes: number): boolean {
    if (bytes > held && !share.take(bytes - held)) return false;
    if (bytes < held) share.giveBack(held - bytes);
    held = bytes;
    return true;
  }

  function leave(): void {
    held = 0;
    share.leave();
  }

  return { hold, leave };
}

/** Opens the source, whose follower it ends, or refuses if there are too many live answers. */
export function liveAnswer(edge: Edge, call: Call, openSource: () => LiveSource): Response {
  const { host, owner } = call;
  const bytes = liveBytesOf(call.request);
  if (!liveCount.enter(owner, bytes)) return answerRefused(edge, call, NO_PLACE);
  const source = openSource();
  const { form } = source;
  const turn = openLiveTurn(edge, call, source.follower, () => endWithin(STOP_MS));
  const { hold, leave } = openFrames(owner);
  const gate = gateOf(edge.service, host);
  const jitter = host.randomBytes(1)[0]! / 256;
  const endMs = host.monotonicMs() + limits.liveSecondsMax * MS_PER_SECOND * (0.9 + jitter / 10);
  let beatMs = host.monotonicMs() + HEARTBEAT_MS;
  let checkMs = host.monotonicMs() + KEY_CHECK_MS;
  let { from } = source;
  /** The place of the last `caught_up`. */
  let toldAt: string | undefined;
  /** Whether everything was read that had been committed at the last change. */
  let isCurrent = false;
  let [charged, isOver] = [0, false];
  /** Whose reads the entries are. Undefined before the credential was looked at again. */
  let payer: Holder | undefined;
  /** What the next frames need at least. Nothing is read before there is room for it. */
  let needed = 0;
  /** What is left of the frames under way. */
  let pieces: Iterator<Uint8Array, void> | undefined;
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let stopTimer = () => {};
  endWithin(endMs - host.monotonicMs() + GONE_MS);

  /** A client that takes nothing keeps no answer open for longer, and holds up no stop. */
  function endWithin(ms: number): void {
    stopTimer();
    stopTimer = host.startTimer(ms, () => finish(true));
  }

  function finish(isGone: boolean): void {
    if (isOver) return;
    isOver = true;
    stopTimer();
    turn.end();
    leave();
    liveCount.leave(owner, bytes);
    if (isGone) controller.error(new Error("The client has taken nothing"));
  }

  /** The refusal if the credential no longer opens the environment. */
  async function checkKey(): Promise<Refusal | undefined> {
    const header = call.request.headers.get("authorization");
    const holder = await authenticateHolder(edge.service.access, header, call, "read");
    checkMs = host.monotonicMs() + KEY_CHECK_MS;
    if (!holder.ok) return holder.refusal;
    payer = holder.value;
    return undefined;
  }

  /** Charges for the entries that were sent; false, after a moment, if no reads are left. */
  async function pay({ instance, operator }: Holder): Promise<boolean> {
    if (operator !== undefined || instance.tier === "unlimited") charged = 0;
    while (charged >= ENTRIES_OF_A_READ) {
      const verdict = await edge.service.limits.admit(instance, "read");
      if (!verdict.isAdmitted) {
        await pause(Math.min(verdict.retryAfterMs, KEY_CHECK_MS));
        return false;
      }
      charged -= ENTRIES_OF_A_READ;
    }
    return true;
  }

  async function pause(ms = PAUSE_MS * (1 + jitter / 2)): Promise<void> {
    const untilMs = host.monotonicMs() + ms;
    while (!isOver && !turn.isStopping() && host.monotonicMs() < untilMs) {
      await turn.wait(untilMs - host.monotonicMs());
    }
  }

  function send(...frames: readonly Part[]): void {
    beatMs = host.monotonicMs() + HEARTBEAT_MS;
    pieces = cutParts(frames);
    sendPiece();
  }

  /** False if everything was sent. */
  function sendPiece(): boolean {
    const piece = pieces?.next().value ?? undefined;
    if (piece === undefined) pieces = undefined;
    else {
      gate.spend(piece.length);
      controller.enqueue(piece);
    }
    return piece !== undefined;
  }

  /** Sends the next frames, or ends the answer. */
  async function step(): Promise<void> {
    for (let turns = 0;; turns++) {
      const nowMs = host.monotonicMs();
      if (isOver) return;
      hold(0);
      if (turn.isStopping() || nowMs >= endMs) return close();
      const isDue = charged >= ENTRIES_OF_A_READ;
      if (nowMs >= checkMs || (isDue && payer === undefined)) {
        // Thousands that were opened together look at their keys in the same turn.
        await gate.enter(owner);
        const refused = await checkKey();
        if (refused !== undefined) return closeWith(refused);
        // A transfer has filled the environment, whose data is elsewhere since then.
        if (payer!.tenant.number !== call.tenant?.number) return close();
      }
      if (isOver) return;
      if (turns > 0 && sendQuiet()) return;
      if (isDue && !await pay(payer!)) continue;
      if (isCurrent) {
        isCurrent = !await turn.wait(Math.min(beatMs, checkMs, endMs) - host.monotonicMs());
        continue;
      }
      const size = liveRoom.hasRoom(call.owner, MUCH_ROOM_BYTES) ? LARGE_CHUNK : SMALL_CHUNK;
      if (!hold(needed)) {
        await pause();
        continue;
      }
      const chunk = await readOn(size);
      if (isOver) return;
      if (chunk === undefined) {
        hold(0);
        await pause(AWAY_MS);
        continue;
      }
      if (!chunk.ok) return closeWith(chunk.refusal);
      const { count, next, isUpToDate, isBuilding } = chunk.value;
      if (count > 0) {
        // Those that share a page all have it in the same turn.
        await gate.enter(owner);
        if (isOver || sendChunk(chunk.value, size)) return;
        await pause();
        continue;
      }
      from = next;
      hold(needed = 0);
      if (isBuilding) await pause();
      else isCurrent = isUpToDate;
    }
  }

  /** The next chunk; undefined while the store is away, or there is no turn. */
  async function readOn(size: ChunkSize): Promise<Outcome<LiveChunk> | undefined> {
    try {
      return await source.read(from, size);
    } catch (error) {
      if (isOutage(error)) return undefined;
      throw error;
    }
  }

  /** False if there is no room for the chunk now. */
  function sendChunk(chunk: LiveChunk, size: ChunkSize): boolean {
    const { bytesMin = 0, count, charge, next, isUpToDate, isBuilding } = chunk;
    // No frames are made of a text of megabytes for which there is no room.
    const frames = hold(bytesMin) ? chunk.frames() : undefined;
    const bytes = frames?.reduce((sum, part) => sum + byteLength(part), 0) ?? bytesMin;
    if (frames === undefined || !hold(bytes)) {
      hold(0);
      needed = count > 1 && size === LARGE_CHUNK ? SMALL_CHUNK.bytesMax : bytes;
      return false;
    }
    // What is behind this chunk is probably long, too.
    needed = isUpToDate ? 0 : SMALL_CHUNK.bytesMax;
    charged += charge;
    liveCount.sent += count;
    from = next;
    isCurrent = false;
    if (isUpToDate && !isBuilding) toldAt = next;
    send(...frames);
    return true;
  }

  /** Says that nothing is left, or that the connection is alive; false if neither is due. */
  function sendQuiet(): boolean {
    const isDue = host.monotonicMs() >= beatMs;
    const isNews = isCurrent && (toldAt === undefined || (isDue && toldAt !== from));
    if (isNews && source.caughtUp !== undefined) {
      toldAt = from;
      send(source.caughtUp(from));
      return true;
    }
    if (isDue) send(heartbeatFrame(form));
    return isDue;
  }

  function closeWith(refusal: Refusal): void {
    if (isOver) return;
    send(refusedFrame(describeRefusal(refusal).body, form));
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
      try {
        await gate.enter(owner);
        if (isOver || sendPiece()) return;
        await step();
      } catch (error) {
        const isEnded = isOver;
        finish(false);
        if (!isEnded) controller.error(error);
      }
    },
    cancel: () => finish(false),
  }, { highWaterMark: 0 });
  return liveResponse(body, form, call.requestId);
}

function liveResponse(body: ReadableStream, form: LiveForm, requestId: string): Response {
  const type = form === "sse" ? "text/event-stream" : "application/x-ndjson";
  return new Response(body, {
    headers: {
      "content-type": type,
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-request-id": requestId,
      "access-control-allow-origin": "*",
    },
  });
}
