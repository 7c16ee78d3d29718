/**
 * Counts live answers: how many, what they take of which instance, what they sent and what they
 * hold.
 */

import { limits } from "../../domain/limits.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { type ByteRoom, openByteRoom } from "../byte_room.ts";

const MiB = 1024 * 1024;
/** What the runtime and the loop keep for a connection with a live answer, beside its head. */
export const LIVE_ANSWER_BYTES = 64 * 1024;
/**
 * The runtime keeps a head until its answer has ended: the bytes that came, with the room made for
 * them, and their texts. Nothing that the loop lets go of frees them.
 */
const HEAD_TIMES = 3;
export const HEADER_BYTES = 256;

export const NO_PLACE: Refusal = {
  kind: "no_room",
  message: "Too many live answers are open, which may take " +
    `${limits.liveAnswersBytesPerInstanceMax / MiB} MiB of one instance and ` +
    `${limits.liveAnswersBytesMax / MiB} MiB in all; close some, send fewer headers, or read pages`,
};

export interface LiveCount {
  /**
   * False: the instance or the process has no room for so many bytes more. True: call
   * {@link LiveCount.leave} with them later.
   */
  enter(owner: string, bytes: number): boolean;
  leave(owner: string, bytes: number): void;
  /** Live answers and waiting reads of this process. */
  readonly underWay: number;
  /** Events and erasures that were sent live. */
  sent: number;
}

/** What a live answer to a request, or a read that waits, takes until it ends. */
export function liveBytesOf({ url, headers }: Pick<Request, "url" | "headers">): number {
  let bytes = LIVE_ANSWER_BYTES + HEAD_TIMES * url.length;
  // Bounded: a head has 64 KiB at most.
  for (const [name, value] of headers) {
    bytes += HEADER_BYTES + HEAD_TIMES * (name.length + value.length);
  }
  return bytes;
}

export function openLiveCount(): LiveCount {
  const owners = new Map<string, number>();
  let underWay = 0;
  let held = 0;

  return {
    enter(owner, bytes) {
      const own = (owners.get(owner) ?? 0) + bytes;
      if (held + bytes > limits.liveAnswersBytesMax) return false;
      if (own > limits.liveAnswersBytesPerInstanceMax) return false;
      owners.set(owner, own);
      held += bytes;
      underWay++;
      return true;
    },
    leave(owner, bytes) {
      const own = owners.get(owner)! - bytes;
      if (own === 0) owners.delete(owner);
      else owners.set(owner, own);
      held -= bytes;
      underWay--;
    },
    get underWay() {
      return underWay;
    },
    sent: 0,
  };
}

/** The memory for frames that clients have not taken yet; shared like the count below. */
export const liveRoom: ByteRoom = openByteRoom(limits.liveBytesMax);

/** Shared by all listeners of the process. */
export const liveCount: LiveCount = openLiveCount();
