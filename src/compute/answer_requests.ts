/** Answers the requests to a compute process: one job at a time, piece by piece. */

import type { Frame } from "../runners/frame.ts";
import type { RequestServer } from "../runners/serve_requests.ts";
import {
  type ComputeAnswer,
  type ComputeKind,
  type ComputeRequest,
  type HeadOf,
  PIECE_BYTES_MAX,
} from "./messages.ts";
import type { Work } from "./job.ts";
import { foldWork } from "./fold_work.ts";
import { rowWork } from "./row_work.ts";

const NOTHING = new Uint8Array(0);

/** `ComputeAnswer` without the fields that every runner's answer has. */
type Told<A = ComputeAnswer> = A extends unknown ? Omit<A, "tookMs" | "pauses"> : never;

interface Answered {
  readonly message: Told;
  readonly body?: Uint8Array;
}

export function openComputeServer(): RequestServer<ComputeRequest, ComputeAnswer> {
  let work: Work | undefined;
  /** Pieces of the result that were not fetched yet, in reverse order: the next one is last. */
  let left: Uint8Array[] = [];

  function answer({ message, body }: Frame<ComputeRequest>): Answered {
    switch (message.kind) {
      case "begin":
        left = [];
        work = beginWork(message.head);
        return { message: { kind: "begun" } };
      case "piece":
        return { message: { kind: "taken", isOver: work!.take(message.name, body) } };
      case "end": {
        const { result, pieces } = work!.end();
        // Drop the work before sending its bytes, because both may be large.
        work = undefined;
        left = pieces.toReversed();
        const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
        return { message: { kind: "done", result, bytes }, body: nextBytes() };
      }
      case "more":
        return { message: { kind: "bytes" }, body: nextBytes() };
    }
  }

  function nextBytes(): Uint8Array {
    const next = left.pop() ?? NOTHING;
    if (next.length > PIECE_BYTES_MAX) left.push(next.subarray(PIECE_BYTES_MAX));
    return next.subarray(0, PIECE_BYTES_MAX);
  }

  function answerAnyway(request: Frame<ComputeRequest>): Answered {
    try {
      return answer(request);
    } catch (error) {
      work = undefined;
      return { message: { kind: "broken", reason: String(error) } };
    }
  }

  return {
    answer(request) {
      const startedMs = performance.now();
      const { message, body = NOTHING } = answerAnyway(request);
      const tookMs = performance.now() - startedMs;
      return { message: { ...message, tookMs, pauses: false }, body: body.slice() };
    },
    cleanUp() {},
  };
}

/** Chooses what a compute process does for each kind of job. */
function beginWork(head: HeadOf<ComputeKind>): Work {
  switch (head.kind) {
    case "fold":
      return foldWork(head);
    case "row":
      return rowWork(head);
  }
}
