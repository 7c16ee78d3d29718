/**
 * What the clients of a crash run remember: every write they sent and the reply to it. The
 * journal is the oracle; it lives in the driver's memory, where a killed server cannot reach
 * it.
 */

/** `data` of every event sent; no other event of the run has the same token. */
export interface EventData {
  readonly token: string;
  readonly amount: number;
  readonly note: string;
  /** Extra data of a workload. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export interface SentEvent {
  readonly type: string;
  readonly data: EventData;
}

export interface SentTarget {
  readonly aggregateType: string;
  readonly id: string;
  readonly events: readonly SentEvent[];
  readonly previousLength?: number;
}

/**
 * - acknowledged: a 201 was received, so the write must be there.
 * - refused: a 4xx was received, so it must not be there.
 * - unknown: the server died first; it may be there, but only whole.
 */
export type Outcome = "acknowledged" | "refused" | "unknown";

export interface Operation {
  readonly number: number;
  readonly form: "single" | "batch" | "atomic";
  readonly targets: readonly SentTarget[];
  readonly idempotencyKey?: string;
  readonly skipOcc?: boolean;
  outcome: Outcome;
  /** For each target the ids that its events were given; known once acknowledged. */
  streamIds?: readonly (readonly string[])[];
}

/** A write that is about to be sent. */
export type Write = Pick<Operation, "form" | "targets" | "idempotencyKey" | "skipOcc">;

/** Where an event of the journal was found: its position in its stream, from 0. */
export interface Place {
  readonly operation: Operation;
  readonly target: number;
  readonly event: number;
  position?: number;
  id?: string;
}

export interface Journal {
  readonly operations: readonly Operation[];
  /** Records a write that is about to be sent, as unknown. */
  record(write: Write): Operation;
  placeOf(token: string): Place | undefined;
  placesOf(operation: Operation): readonly Place[];
}

export function createJournal(): Journal {
  const operations: Operation[] = [];
  const places = new Map<string, Place>();
  return {
    operations,
    record(sent) {
      const operation: Operation = { ...sent, number: operations.length, outcome: "unknown" };
      operations.push(operation);
      operation.targets.forEach(({ events }, target) =>
        events.forEach(({ data }, event) => {
          if (places.has(data.token)) throw new Error(`token ${data.token} was sent before`);
          places.set(data.token, { operation, target, event });
        })
      );
      return operation;
    },
    placeOf: (token) => places.get(token),
    placesOf: (operation) =>
      operation.targets.flatMap(({ events }) => events.map(({ data }) => places.get(data.token)!)),
  };
}

export function keyOf(target: { readonly aggregateType: string; readonly id: string }): string {
  return `${target.aggregateType}:${target.id}`;
}

/** Whether some of it was found in its streams; `operationFaults` checks that all of it was. */
export function isLanded(operation: Operation, journal: Journal): boolean {
  return journal.placesOf(operation).some(({ position }) => position !== undefined);
}

/** What a restarted store does not show is gone for good: it must not appear later. */
export function settle(operation: Operation, journal: Journal): void {
  if (operation.outcome !== "unknown") return;
  operation.outcome = isLanded(operation, journal) ? "acknowledged" : "refused";
  operation.streamIds = operation.targets.map((_, target) =>
    journal.placesOf(operation).filter((place) => place.target === target).map(({ id }) => id ?? "")
  );
}
