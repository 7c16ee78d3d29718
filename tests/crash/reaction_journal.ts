/**
 * The oracle of the reaction crash run, beside the journal of writes: what must follow from
 * what. It knows every event that the service may write, by a token, before its trigger is
 * sent. It also knows when each write was sent and when its reply arrived.
 */

import type { EventData, Journal, Operation } from "./journal.ts";

export type Author = "implication" | "scheduler" | "coordinator" | "compensator";

/** An event that the service may write. */
export interface Effect {
  readonly token: string;
  readonly key: string;
  readonly type: string;
  readonly data: EventData;
  /** Token of the event that it follows from; for a saga's events, of the trigger of the saga. */
  readonly cause: string;
  readonly author: Author;
  /** Step of the saga. */
  readonly step?: string;
  found?: FoundEffect;
}

export interface FoundEffect {
  readonly position: number;
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Unix milliseconds: the write was committed between the two, if at all. */
export interface Span {
  readonly sentMs: number;
  heardMs: number;
  /** When the connection broke, if there was no reply. */
  lostMs?: number;
}

export interface Reminder {
  /** The scheduled event, and the events that it implies in turn. */
  readonly effect: Effect;
  readonly implied: readonly Effect[];
  readonly delayMs: number;
  /** Events, as `<key> <type>`, that cancel it. */
  readonly cancelOn: readonly string[];
}

export type Ending = "completed" | "declined" | "bad" | "unfit" | "silent";

export interface Job {
  readonly saga: "build" | "poll";
  /** Token of `was_started`. */
  readonly started: string;
  readonly track: string;
  readonly isWrapped: boolean;
  /** How it must end; undefined if a client's answer and the time decide. */
  readonly ending: Ending | undefined;
  /** By the name of the step, or of the step with `_undo`. */
  readonly parts: ReadonlyMap<string, Effect>;
  /** What the parts imply, by the token of the part. */
  readonly implied: ReadonlyMap<string, readonly Effect[]>;
}

/** One event of a client that triggers reactions. */
export interface Trigger {
  readonly operation: Operation;
  readonly token: string;
  /** Everything that must follow, whatever happens. */
  readonly effects: readonly Effect[];
  /** Error records that must be there, named as by `errorName`. */
  readonly errors: readonly string[];
  readonly reminder?: Reminder;
  readonly job?: Job;
}

/** A client's answer to a job, sent after the question was seen. */
export interface Answer {
  readonly operation: Operation;
  readonly ending: "completed" | "declined";
}

/** cancelled: DELETE answered 200. unknown: the server died first. A 404 proves nothing. */
export interface Removal {
  outcome: "cancelled" | "unknown";
}

export interface ReactionJournal {
  readonly triggers: readonly Trigger[];
  /** Cancelling events that clients sent, by `<key> <type>`. */
  readonly cancels: ReadonlyMap<string, readonly Operation[]>;
  /** DELETE calls, by the token of the scheduled event. */
  readonly removals: Map<string, Removal[]>;
  /** By the key of the track. */
  readonly answers: Map<string, Answer[]>;
  addTrigger(trigger: Trigger): void;
  addCancel(name: string, operation: Operation): void;
  effectOf(token: string): Effect | undefined;
  triggerOf(effect: Effect): Trigger;
  /** Undefined until the write was sent. */
  readonly spans: Map<Operation, Span>;
}

export function createReactionJournal(): ReactionJournal {
  const triggers: Trigger[] = [];
  const cancels = new Map<string, Operation[]>();
  const effects = new Map<string, { effect: Effect; trigger: Trigger }>();
  return {
    triggers,
    cancels,
    removals: new Map(),
    answers: new Map(),
    spans: new Map(),
    addTrigger(trigger) {
      triggers.push(trigger);
      for (const effect of possibleEffects(trigger)) {
        effects.set(effect.token, { effect, trigger });
      }
    },
    addCancel(name, operation) {
      cancels.set(name, [...cancels.get(name) ?? [], operation]);
    },
    effectOf: (token) => effects.get(token)?.effect,
    triggerOf: ({ token }) => effects.get(token)!.trigger,
  };
}

/** Everything that may follow from a trigger, including what excludes each other. */
export function possibleEffects({ effects, reminder, job }: Trigger): Effect[] {
  const reminded = reminder === undefined ? [] : [reminder.effect, ...reminder.implied];
  const worked = job === undefined
    ? []
    : [...job.parts.values(), ...[...job.implied.values()].flat()];
  return [...effects, ...reminded, ...worked];
}

export function errorName(errorType: string, eventKey: string): string {
  return `${errorType} of ${eventKey}`;
}

/** Whether the whole write is in the store, as far as it was read. */
export function hasLanded(operation: Operation, journal: Journal): boolean {
  return journal.placesOf(operation).every(({ position }) => position !== undefined);
}
