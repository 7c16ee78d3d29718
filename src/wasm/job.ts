/**
 * The three kinds of jobs of the pool: a call, a fold, and the check of an uploaded file. Each
 * takes one or more turns of a runner. A job says what to send next and takes the answer; the
 * pool decides which runner has it, and when.
 */

import type { OutputKind } from "../domain/wasm/call_output.ts";
import type { CallPlace, WasmFailure, WasmOutcome, WasmStop } from "../domain/wasm/failure.ts";
import type { Violation } from "../domain/refusal.ts";
import { type Frame, joinBytes } from "../runners/frame.ts";
import type { CallTarget, RunnerAnswer, RunnerRequest } from "./messages.ts";

/** A module in its checked and kept form. Its bytes are loaded only if a runner lacks them. */
export interface WasmModule {
  /** Identifies the bytes: equal digests mean the same module. */
  readonly digest: string;
  /** If it rejects, so does the call. */
  load(): Promise<Uint8Array<ArrayBuffer>>;
}

/** A function that a spec names. */
export interface WasmTarget {
  readonly module: WasmModule;
  readonly entrypoint: string;
  /** Milliseconds, 1 to `limits.wasmTimeoutMsMax`. */
  readonly timeoutMs: number;
}

/** One event to fold, as the JSON text of `{key, type, data, metadata}`, and its handler. */
export interface WasmEvent {
  readonly target: WasmTarget;
  readonly eventJson: string;
}

export interface Turn extends Frame<RunnerRequest> {
  /** How long the runner may take, by the limits of the module. */
  readonly withinMs: number;
  /**
   * The limit of a turn that is a single call. If the runner vanishes after this time, the call
   * has timed out.
   */
  readonly timeoutMs: number | undefined;
}

export interface Job {
  readonly tenant: string;
  /** The lane of the next call, one for each entrypoint. Calls of a lane are paused together. */
  lane(): string;
  /** The lane of the next call once `done` calls of the turn have ended. */
  laneAfter(done: number): string;
  entrypoint(): string;
  nextTurn(): Turn;
  /** Whether it may be sent in a group with others; true for jobs that are short by nature. */
  isShort(): boolean;
  /** How often it may still lose its runner for an unknown reason. */
  lossesLeft: number;
  /** How often it may still be displaced and tried again. */
  displacementsLeft: number;
  /** Takes the answer to a turn. Returns true if the job is over. */
  take(answer: Frame<RunnerAnswer>): boolean;
  moduleOf(digest: string): WasmModule;
  /** Ends the job as timed out: the module did not end, so its runner was ended. */
  failTimeout(message: string): void;
  /** From now on each turn is one call on its own, because a larger turn was not completed. */
  takeSmallTurns(): void;
  stop(stop: WasmStop): void;
  /** Rejects for a failure that is not the module's, such as an outage of the store. */
  throw(error: unknown): void;
}

/** The module as it may be kept, or why it may not. */
export type CheckOutcome = WasmOutcome<
  | { readonly ok: true; readonly module: KeptModule }
  | { readonly ok: false; readonly violation: Violation }
>;

export interface KeptModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly entrypoints: readonly string[];
  readonly memoryPagesInitial: number;
}

/** Time beyond the limit of a call, for starting its clock and for its answer. */
const GRACE_MS = 45;
const CHECK_MS_MAX = 5_000;
/** A long fold lets others in after this time, and sends at most this much at a time. */
const SLICE_MS = 25;
const SLICE_EVENTS_MAX = 500;
const SHORT_EVENTS_MAX = 4;
const SLICE_BYTES_MAX = 256 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Who asks for a job; `settle` and `reject` are those of the promise. */
interface Asker<T> {
  readonly tenant: string;
  settle(outcome: WasmOutcome<T>): void;
  reject(error: unknown): void;
}

/** Who asks for a fold, whose state may grow by megabytes with each turn. */
interface FoldAsker extends Asker<string> {
  /** Counts bytes that the job holds from now on; the stop if they are too many. */
  hold(bytes: number): WasmStop | undefined;
}

/** One lane for each entrypoint: other entrypoints of a module go on while one is paused. */
function laneOf({ module, entrypoint }: WasmTarget): string {
  return `${module.digest} ${entrypoint}`;
}

/** One call with the given input. */
export function callJob(
  asker: Asker<string>,
  target: WasmTarget,
  output: OutputKind,
  inputJson: string,
): Job {
  const place = placeOf(target, 0);
  let isAlone = false;
  return {
    ...endings(asker, () => place),
    lane: () => laneOf(target),
    laneAfter: () => laneOf(target),
    entrypoint: () => target.entrypoint,
    isShort: () => !isAlone,
    moduleOf: () => target.module,
    takeSmallTurns() {
      isAlone = true;
    },
    nextTurn() {
      return {
        message: { kind: "call", target: wireTarget(target), output },
        body: encoder.encode(inputJson),
        withinMs: target.timeoutMs + GRACE_MS,
        timeoutMs: target.timeoutMs,
      };
    },
    take(answer) {
      asker.settle(outcomeOf<string>(answer, () => place) ?? valueOf(answer));
      return true;
    },
  };
}

/**
 * Folds events onto a state, one after the other. `isSuspect` says whether the last call of a
 * lane did not end in time. Events of such a lane have turns of their own, so that only those
 * turns wait for its pause.
 */
export function foldJob(
  asker: FoldAsker,
  stateJson: string,
  events: readonly WasmEvent[],
  isSuspect: (lane: string) => boolean,
): Job {
  let state = encoder.encode(stateJson);
  let at = 0;
  let sliceEventsMax = SLICE_EVENTS_MAX;
  let isCareful = false;
  const place = (done = 0) => placeOf(events[at + done]!.target, at + done);

  return {
    ...endings(asker, place),
    lane: () => laneOf(events[at]!.target),
    laneAfter: (done) => laneOf(events[at + done]!.target),
    entrypoint: () => events[at]!.target.entrypoint,
    moduleOf: (digest) =>
      events.find(({ target }) => target.module.digest === digest)!.target.module,
    isShort: () => !isCareful && events.length - at <= SHORT_EVENTS_MAX,
    takeSmallTurns() {
      isCareful = true;
    },
    nextTurn() {
      const slice = sliceOf(events, at, isCareful ? 1 : sliceEventsMax, isSuspect);
      const timeoutMs = Math.max(...slice.targets.map((target) => target.timeoutMs));
      const { targets } = slice;
      const sliceMs = slice.events.length === 1 ? 0 : SLICE_MS;
      return {
        message: {
          kind: "fold",
          stateBytes: state.length,
          events: slice.events,
          targets: targets.map(wireTarget),
          sliceMs,
        },
        body: joinBytes([state, ...slice.texts]),
        withinMs: sliceMs + timeoutMs + GRACE_MS,
        timeoutMs: slice.events.length === 1 ? timeoutMs : undefined,
      };
    },
    take(answer) {
      const { message, body } = answer;
      const stopped = outcomeOf<string>(answer, place);
      if (stopped !== undefined) {
        asker.settle(stopped);
        return true;
      }
      const { done } = message as Extract<RunnerAnswer, { kind: "value" }>;
      at += done;
      if (at === events.length) {
        asker.settle(valueOf(answer));
        return true;
      }
      const stop = asker.hold(body.length - state.length);
      if (stop !== undefined) asker.settle({ ok: false, stop });
      state = body;
      sliceEventsMax = Math.min(SLICE_EVENTS_MAX, 2 * Math.max(1, done));
      return stop !== undefined;
    },
  };
}

/** Checks a file that a user has uploaded. */
export function checkJob(
  asker: Asker<CheckOutcome extends WasmOutcome<infer T> ? T : never>,
  file: Uint8Array<ArrayBuffer>,
): Job {
  const place = { eventIndex: 0, digest: "", entrypoint: "" };
  return {
    ...endings(asker, () => place),
    lane: () => "",
    laneAfter: () => "",
    entrypoint: () => "",
    moduleOf() {
      throw new Error("a check names no module");
    },
    isShort: () => false,
    takeSmallTurns() {},
    nextTurn() {
      const withinMs = CHECK_MS_MAX;
      return { message: { kind: "check" }, body: file, withinMs, timeoutMs: withinMs };
    },
    take({ message, body }) {
      if (message.kind === "checked") {
        const { entrypoints, memoryPagesInitial } = message;
        const module = { bytes: body, entrypoints, memoryPagesInitial };
        asker.settle({ ok: true, value: { ok: true, module } });
      } else if (message.kind === "refused") {
        asker.settle({ ok: true, value: { ok: false, violation: message.violation } });
      } else throw new Error(`unexpected answer ${message.kind}`);
      return true;
    },
  };
}

function endings<T>(
  { tenant, settle, reject }: Asker<T>,
  place: () => CallPlace,
): Pick<Job, "tenant" | "lossesLeft" | "displacementsLeft" | "failTimeout" | "stop" | "throw"> {
  return {
    tenant,
    lossesLeft: 1,
    displacementsLeft: 1,
    failTimeout(message) {
      const failure: WasmFailure = { kind: "wasm_timeout", message, phase: "entrypoint" };
      settle({ ok: false, stop: { kind: "failed", failure, place: place() } });
    },
    stop: (stop) => settle({ ok: false, stop }),
    throw: reject,
  };
}

/** The outcome of an answer that is not a value; undefined for a value. */
function outcomeOf<T>(
  { message }: Frame<RunnerAnswer>,
  placeAfter: (done: number) => CallPlace,
): WasmOutcome<T> | undefined {
  switch (message.kind) {
    case "failed": {
      const { failure, done } = message;
      return { ok: false, stop: { kind: "failed", failure, place: placeAfter(done) } };
    }
    case "error": {
      const { error, done } = message;
      return { ok: false, stop: { kind: "handler_error", error, place: placeAfter(done) } };
    }
    case "refused": {
      const failure: WasmFailure = {
        kind: "wasm_trap",
        message: message.violation.message,
        phase: "start",
      };
      return { ok: false, stop: { kind: "failed", failure, place: placeAfter(0) } };
    }
  }
}

function valueOf({ body }: Frame<RunnerAnswer>): WasmOutcome<string> {
  return { ok: true, value: decoder.decode(body) };
}

function placeOf({ module, entrypoint }: WasmTarget, eventIndex: number): CallPlace {
  return { eventIndex, digest: module.digest, entrypoint };
}

function wireTarget({ module, entrypoint, timeoutMs }: WasmTarget): CallTarget {
  return { digest: module.digest, entrypoint, timeoutMs };
}

/** As many events from `at` on as fit into one turn, at least one. */
function sliceOf(
  events: readonly WasmEvent[],
  at: number,
  eventsMax: number,
  isSuspect: (lane: string) => boolean,
) {
  const first = laneOf(events[at]!.target);
  const isApart = (target: WasmTarget) => {
    const lane = laneOf(target);
    return lane !== first && (isSuspect(first) || isSuspect(lane));
  };
  const targets: WasmTarget[] = [];
  const texts: Uint8Array[] = [];
  const slice: { bytes: number; target: number }[] = [];
  let bytes = 0;
  for (let index = at; index < events.length && slice.length < eventsMax; index++) {
    const { target, eventJson } = events[index]!;
    const text = encoder.encode(eventJson);
    if (slice.length > 0 && bytes + text.length > SLICE_BYTES_MAX) break;
    let number = targets.indexOf(target);
    if (number < 0 && isApart(target)) break;
    if (number < 0) number = targets.push(target) - 1;
    texts.push(text);
    slice.push({ bytes: text.length, target: number });
    bytes += text.length;
  }
  return { targets, texts, events: slice };
}
