/** Counts live answers: how many, of which instance, what they sent and what they hold. */

import { limits } from "../../domain/limits.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { type ByteRoom, openByteRoom } from "../byte_room.ts";

export const NO_PLACE: Refusal = {
  kind: "no_room",
  message: "Too many live answers are open; close some, or read pages",
};

export interface LiveCount {
  /** False: the instance or the process has too many. True: call {@link LiveCount.leave} later. */
  enter(owner: string): boolean;
  leave(owner: string): void;
  /** Live answers and waiting reads of this process. */
  readonly underWay: number;
  /** Events and erasures that were sent live. */
  sent: number;
}

export function openLiveCount(): LiveCount {
  const owners = new Map<string, number>();
  let underWay = 0;

  return {
    enter(owner) {
      const own = owners.get(owner) ?? 0;
      if (underWay >= limits.liveAnswersMax || own >= limits.liveAnswersPerInstanceMax) {
        return false;
      }
      owners.set(owner, own + 1);
      underWay++;
      return true;
    },
    leave(owner) {
      const own = owners.get(owner)! - 1;
      if (own === 0) owners.delete(owner);
      else owners.set(owner, own);
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
