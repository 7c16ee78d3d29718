/**
 * The spec of the reaction crash run. The sender of an event decides what follows from it: each
 * part of `data.more` is the `{id, data}` of one event to be written. So the client knows every
 * event that may follow, with its token, before it sends the first one.
 */

/**
 * The largest amount that `was_booked` and `was_finished` accept; events beyond it are not
 * written.
 */
export const AMOUNT_MAX = 1_000_000;
/** How long the saga `poll` waits for an answer. */
export const POLL_TIMEOUT_MS = 2_500;
/** Plans of jobs: who answers, and how the job ends. `poll` waits for a client. */
export const BUILD_PLANS = ["answered", "declined", "bad", "unfit"] as const;
export const POLL_PLAN = "poll";

export const REACTION_SPEC = {
  agent_types: ["person"],
  aggregate_types: {
    order: { events: { was_placed: eventType(orderImplications()), was_paid: eventType() } },
    switch: { events: { was_thrown: eventType() } },
    link: { events: { was_linked: eventType([part("next", "link", "was_linked")]) } },
    stock: {
      events: {
        was_counted: eventType(),
        was_reserved: eventType(),
        was_taken: eventType(),
        was_returned: eventType(),
      },
    },
    ledger: { events: { was_booked: eventType([], AMOUNT_MAX) } },
    reminder: { events: { was_sent: eventType([part("next", "link", "was_linked")]) } },
    job: { events: { was_started: eventType(), was_finished: eventType([], AMOUNT_MAX) } },
    track: {
      events: {
        was_packed: eventType([part("next", "stock", "was_counted")]),
        was_unpacked: eventType(),
        was_wrapped: eventType(),
        was_unwrapped: eventType(),
        was_asked: eventType([
          part("answer", "track", "was_answered"),
          part("decline", "track", "was_declined"),
        ]),
        was_answered: eventType(),
        was_declined: eventType(),
        was_withdrawn: eventType(),
        was_closed: eventType(),
      },
    },
  },
  modules: {
    sagas: {
      // Longer than any run, because the service itself answers.
      build: saga([...BUILD_PLANS], 3_600_000),
      poll: saga([POLL_PLAN], POLL_TIMEOUT_MS),
    },
  },
};

function eventType(implications: readonly unknown[] = [], amountMax?: number) {
  const amount = { type: "integer", ...(amountMax === undefined ? {} : { maximum: amountMax }) };
  const schema = {
    type: "object",
    properties: {
      token: { type: "string" },
      amount,
      note: { type: "string" },
      more: { type: "object" },
    },
    required: ["token", "amount", "note"],
    additionalProperties: false,
  };
  const handler = [
    { increment: { target: "count" } },
    { increment: { target: "sum", by: "$.data.amount" } },
    { set: { target: "last", value: "$.data.token" } },
  ];
  return { schema, handler, ...(implications.length === 0 ? {} : { implications }) };
}

/** Implies one event if the trigger has the part of that name. */
function part(name: string, aggregateType: string, eventType: string) {
  const exists = `$.data.more.${name}`;
  return { condition: { exists }, emit: emission(name, aggregateType, eventType) };
}

function emission(name: string, aggregateType: string, eventType: string) {
  const path = `$.data.more.${name}`;
  return {
    aggregate_type: aggregateType,
    id: `${path}.id`,
    event_type: eventType,
    data: `${path}.data`,
  };
}

function orderImplications() {
  const reserve = {
    aggregate_type: "stock",
    id: "$line.id",
    event_type: "was_reserved",
    data: "$line.data",
  };
  const cancelOn = [
    { aggregate_type: "order", id: "$.key", event_type: "was_paid" },
    { aggregate_type: "switch", id: "$.data.more.switch?", event_type: "was_thrown" },
  ];
  return [
    part("count", "stock", "was_counted"),
    { map: { in: "$.data.more.lines", as: "line", emit: reserve } },
    {
      condition: { exists: "$.data.more.debit" },
      pipeline: [
        { emit: emission("debit", "ledger", "was_booked") },
        part("credit", "ledger", "was_booked"),
      ],
    },
    part("unfit", "ledger", "was_booked"),
    part("next", "link", "was_linked"),
    part("job", "job", "was_started"),
    {
      condition: { exists: "$.data.more.remind" },
      schedule: {
        delay_ms: "$.data.more.delay_ms",
        emit: emission("remind", "reminder", "was_sent"),
        cancel_on: cancelOn,
      },
    },
  ];
}

/**
 * Takes, packs, perhaps wraps, asks, finishes, closes; undoes completed steps in reverse order.
 */
function saga(plans: readonly string[], timeoutMs: number) {
  const step = (name: string, aggregateType: string, event: string, undo?: string) => ({
    name,
    emit: emission(name, aggregateType, event),
    ...(undo === undefined ? {} : { compensate: emission(`${name}_undo`, aggregateType, undo) }),
  });
  return {
    trigger: {
      aggregate_type: "job",
      event_type: "was_started",
      condition: { in: ["$.data.more.plan", plans] },
    },
    steps: [
      step("take", "stock", "was_taken", "was_returned"),
      step("pack", "track", "was_packed", "was_unpacked"),
      {
        ...step("wrap", "track", "was_wrapped", "was_unwrapped"),
        condition: { exists: "$.data.more.wrap" },
        else: "skip",
      },
      {
        ...step("ask", "track", "was_asked", "was_withdrawn"),
        await: {
          aggregate_type: "track",
          event_types: ["was_answered"],
          failure_types: ["was_declined"],
        },
        timeout_ms: timeoutMs,
      },
      {
        ...step("finish", "job", "was_finished"),
        // A negative amount is a bad answer: the step that asked then counts as failed.
        condition: { gte: ["$prev.data.amount", 0] },
      },
      step("close", "track", "was_closed"),
    ],
  };
}
