/**
 * Scenarios: given these events, when this is decided, then these events follow. They need no
 * server and no test runner, and throw where they do not hold.
 */

import type { NewEvent, Party } from "../core/answers.ts";
import type { AggregateTypes, AnyTypes, ClientTypes } from "../core/client_types.ts";
import type { Decision } from "../core/update.ts";
import { needEqual, ScenarioError, textOf } from "./scenario_error.ts";
import { compileForTests, openStream, type PlainEvent, type ServiceRefusal } from "./service.ts";

/**
 * An event that has happened: its type and data, and what it says about its writer and time.
 *
 * @example
 * ```ts
 * import type { GivenEvent } from "@daybook/client/test";
 *
 * const placed: GivenEvent<{ was_placed: { item: string } }> = {
 *   type: "was_placed",
 *   data: { item: "book" },
 *   metadata: { timestamp: 1767225600 },
 * };
 * console.log(placed.type);
 * ```
 */
export type GivenEvent<Events> = (NewEvent<Events> | GivenMarker) & {
  readonly metadata?: {
    readonly actor?: Party;
    readonly target?: Party;
    /** Unix seconds. Default: 2026-01-01T00:00:00Z, and for each next event a second more. */
    readonly timestamp?: number;
  };
};

/** What an erasure leaves of an event. */
interface GivenMarker {
  readonly type: "_was_tombstoned";
  readonly data: object;
}

/**
 * Which stream a scenario is about; its events and their actor.
 *
 * @example
 * ```ts
 * import type { GivenOptions } from "@daybook/client/test";
 *
 * const options: GivenOptions = {
 *   id: "7KD2M9QXA",
 *   actor: { type: "user", id: "global" },
 *   others: { "product:7KD2M9QXB": { stock: 3 } },
 * };
 * console.log(options.id);
 * ```
 */
export interface GivenOptions {
  /** The id of the aggregate; `global` if not given. */
  readonly id?: string;
  /** Who writes; the first actor type of the spec, with the id `global`, if not given. */
  readonly actor?: Party;
  /** States of other aggregates, by key, for guards that look at them; without events otherwise. */
  readonly others?: Readonly<Record<string, object>>;
}

/**
 * What a refusal is held against: a text that its message contains or its `error_type` is, a
 * pattern that its message matches, or a function that judges what was thrown.
 *
 * @example
 * ```ts
 * import type { RefusalExpected } from "@daybook/client/test";
 *
 * const expected: RefusalExpected[] = ["schema_validation", /already paid/, () => true];
 * console.log(expected.length);
 * ```
 */
export type RefusalExpected = string | RegExp | ((refusal: unknown) => boolean);

/**
 * A promise if the decision was one, else nothing.
 *
 * @example
 * ```ts
 * import type { Outcome } from "@daybook/client/test";
 *
 * const outcome: Outcome<Promise<undefined>> = Promise.resolve();
 * await outcome;
 * ```
 */
export type Outcome<Result> = Result extends PromiseLike<unknown> ? Promise<void> : void;

/**
 * What is expected of a decision. Each call throws if it is not so, or rejects if the decision is
 * a promise.
 *
 * @example
 * ```ts
 * import { testSpec } from "@daybook/client/test";
 *
 * const spec = {
 *   agent_types: ["user"],
 *   aggregate_types: {
 *     order: {
 *       events: {
 *         was_paid: {
 *           schema: { type: "object", properties: { amount: { type: "number" } } },
 *           handler: { set: { target: "status", value: "paid" } },
 *         },
 *       },
 *     },
 *   },
 * };
 * const paying = testSpec(spec).order.given([]).when({ type: "was_paid", data: { amount: 5 } });
 * paying.then([{ type: "was_paid", data: { amount: 5 } }]);
 * paying.thenState({ status: "paid" });
 * testSpec(spec).order.given([]).when({ type: "was_paid", data: { amount: "five" } })
 *   .thenRefused("schema_validation");
 * ```
 */
export interface When<State, Events, Result> {
  /** Exactly these events were decided, and the server would take them. */
  then(expected: Decision<Events>): Outcome<Result>;
  /** The state after the decided events is exactly this one. */
  thenState(expected: State): Outcome<Result>;
  /** The decision threw, or the server would refuse its events. */
  thenRefused(expected?: RefusalExpected): Outcome<Result>;
}

/**
 * Events that have happened, and the state that they lead to.
 *
 * @example
 * ```ts
 * import { type Given, testSpec } from "@daybook/client/test";
 *
 * const spec = {
 *   agent_types: ["user"],
 *   aggregate_types: {
 *     counter: {
 *       events: { was_counted: { schema: true, handler: { increment: { target: "count" } } } },
 *     },
 *   },
 * };
 * function countOf({ state }: Pick<Given<{ count?: number }, never>, "state">): number {
 *   return state.count ?? 0;
 * }
 *
 * const counted = { type: "was_counted", data: {} };
 * const twice = testSpec(spec).counter.given([counted, counted]);
 * twice.thenState({ count: 2 });
 * console.log(countOf(twice)); // 2
 * const once = { type: "was_counted", data: {} } as const;
 * twice.when(({ count = 0 }) => count < 2 ? once : undefined).then([]);
 * ```
 */
export interface Given<State, Events> {
  /** The state after the given events. */
  readonly state: State;
  /**
   * Decides from the state, as `update()` of the client does; or takes the events themselves.
   */
  when<Result extends Decision<Events> | Promise<Decision<Events>>>(
    decide: ((state: State, known: { readonly length: number }) => Result) | NewEvent<Events>,
  ): When<State, Events, Result>;
  when(events: readonly NewEvent<Events>[]): When<State, Events, undefined>;
  /** The state after the given events is exactly this one. */
  thenState(expected: State): void;
}

/**
 * The scenarios of one aggregate type.
 *
 * @example
 * ```ts
 * import { type AggregateScenarios, testSpec } from "@daybook/client/test";
 *
 * interface Note {
 *   readonly state: { readonly text?: string };
 *   readonly events: { readonly was_noted: { readonly text: string } };
 * }
 * const spec = {
 *   agent_types: ["user"],
 *   aggregate_types: {
 *     note: {
 *       events: {
 *         was_noted: { schema: true, handler: { set: { target: "", value: "$.data" } } },
 *       },
 *     },
 *   },
 * };
 * interface Notes {
 *   readonly aggregates: { readonly note: Note };
 *   readonly actors: "user";
 *   readonly targets: never;
 * }
 * const note: AggregateScenarios<Note> = testSpec<Notes>(spec).note;
 * note.given([{ type: "was_noted", data: { text: "hello" } }]).thenState({ text: "hello" });
 * ```
 */
export interface AggregateScenarios<Aggregate extends AggregateTypes> {
  /**
   * The events that have happened. The server's own checks judge them, so a test cannot begin with
   * what could never have been written.
   */
  given(
    events?: readonly GivenEvent<Aggregate["events"]>[],
    options?: GivenOptions,
  ): Given<Aggregate["state"], Aggregate["events"]>;
}

/**
 * The scenarios of a spec, by aggregate type.
 *
 * @example
 * ```ts
 * import { type Scenarios, testSpec } from "@daybook/client/test";
 *
 * const scenarios: Scenarios = testSpec({
 *   agent_types: ["user"],
 *   aggregate_types: { order: { events: {} } },
 * });
 * scenarios.order.given([]).thenState({});
 * ```
 */
export type Scenarios<Types extends ClientTypes = AnyTypes> = {
  readonly [Name in keyof Types["aggregates"] & string]: AggregateScenarios<
    Types["aggregates"][Name]
  >;
};

/**
 * Compiles a spec as a deploy would, and makes the scenarios of its aggregate types. Throws with
 * every fault of the spec if the server would refuse it.
 *
 * @example
 * ```ts
 * import { testSpec } from "@daybook/client/test";
 *
 * const { order } = testSpec({
 *   agent_types: ["user"],
 *   aggregate_types: {
 *     order: {
 *       events: {
 *         was_placed: { schema: true, handler: { set: { target: "status", value: "placed" } } },
 *         was_cancelled: { schema: true, handler: { set: { target: "status", value: "over" } } },
 *       },
 *     },
 *   },
 * });
 *
 * function cancel(state: { status?: string }) {
 *   if (state.status !== "placed") throw new Error(`the order is ${state.status ?? "not there"}`);
 *   return { type: "was_cancelled", data: {} };
 * }
 *
 * const placed = order.given([{ type: "was_placed", data: {} }]);
 * placed.when(cancel).then([{ type: "was_cancelled", data: {} }]);
 * placed.when(cancel).thenState({ status: "over" });
 * order.given([]).when(cancel).thenRefused(/not there/);
 * ```
 */
export function testSpec<Types extends ClientTypes = AnyTypes>(spec: object): Scenarios<Types> {
  const compiled = compileForTests(spec);
  const [agentType] = compiled.agentTypes;
  const scenarios = [...compiled.aggregateTypes.keys()].map((name) => {
    const given = (events: readonly PlainEvent[] = [], options: GivenOptions = {}) => {
      const { id = "global", actor = { type: agentType!, id: "global" }, others = {} } = options;
      return openGiven(events, () => openStream(compiled, name, { id, actor, others }));
    };
    return [name, { given }];
  });
  return Object.fromEntries(scenarios);
}

type AnyDecide = (state: object, known: { readonly length: number }) => unknown;
type Stream = ReturnType<typeof openStream>;

function openGiven(events: readonly PlainEvent[], open: () => Stream) {
  /** A stream with the given events, for each question anew. */
  function opened(): Stream {
    const stream = open();
    const refusal = stream.append(events);
    if (refusal === undefined) return stream;
    throw new ScenarioError(`The server would refuse a given event: ${describe(refusal)}`);
  }

  const state = opened().state();
  return {
    state,
    when(decide: AnyDecide | object) {
      const make = typeof decide === "function" ? decide as AnyDecide : () => decide;
      return openWhen(opened, () => make(structuredClone(state), { length: events.length }));
    },
    thenState: (expected: unknown) => needEqual(state, expected, "The state is another one"),
  };
}

/** What came of a decision: its events, or what it threw. */
type Made = { readonly events: readonly PlainEvent[] } | { readonly thrown: unknown };

function openWhen(opened: () => Stream, decide: () => unknown) {
  let made: Made | Promise<Made> | undefined;

  function decideOnce(): Made | Promise<Made> {
    try {
      const result = decide();
      const isPromise = typeof (result as PromiseLike<unknown>)?.then === "function";
      if (!isPromise) return { events: listOf(result) };
      return Promise.resolve(result).then(
        (value) => ({ events: listOf(value) }),
        (thrown) => ({ thrown }),
      );
    } catch (thrown) {
      return { thrown };
    }
  }

  function judge(check: (made: Made) => void): void | Promise<void> {
    made ??= decideOnce();
    return made instanceof Promise ? made.then(check) : check(made);
  }

  return {
    then(expected: unknown) {
      if (typeof expected === "function") {
        throw new ScenarioError("A scenario is no promise: say what follows, .then([events])");
      }
      return judge((made) => {
        const events = eventsOf(made);
        const what = "Other events were decided";
        needEqual(events.map(essence), listOf(expected).map(essence), what);
        accepted(opened(), events);
      });
    },
    thenState: (expected: unknown) =>
      judge((made) => {
        const stream = accepted(opened(), eventsOf(made));
        needEqual(stream.state(), expected, "The state after the decision is another one");
      }),
    thenRefused: (expected?: RefusalExpected) =>
      judge((made) => needRefused(made, opened(), expected)),
  };
}

function listOf(decided: unknown): readonly PlainEvent[] {
  return ([decided ?? []] as unknown[]).flat() as readonly PlainEvent[];
}

/** What is compared of an event. */
function essence({ type, data = {}, metadata }: PlainEvent): PlainEvent {
  return metadata === undefined ? { type, data } : { type, data, metadata };
}

function eventsOf(made: Made): readonly PlainEvent[] {
  if ("events" in made) return made.events;
  const message = `The decision threw: ${messageOf(made.thrown)}`;
  throw new ScenarioError(message, { cause: made.thrown });
}

function accepted(stream: Stream, events: readonly PlainEvent[]): Stream {
  const refusal = stream.append(events);
  if (refusal === undefined) return stream;
  throw new ScenarioError(`The server would refuse what was decided: ${describe(refusal)}`);
}

function needRefused(made: Made, stream: Stream, expected: RefusalExpected | undefined): void {
  const refusal = "thrown" in made ? made.thrown : stream.append(made.events);
  if (refusal === undefined) {
    const decided = textOf((made as { events: unknown }).events);
    throw new ScenarioError(`A refusal was expected, but this was decided:\n${decided}`);
  }
  if (expected === undefined) return;
  const message = "thrown" in made ? messageOf(made.thrown) : describe(refusal as ServiceRefusal);
  const { error_type } = Object(refusal) as { error_type?: string };
  const isExpected = typeof expected === "function"
    ? expected(refusal)
    : typeof expected === "string"
    ? message.includes(expected) || error_type === expected
    : expected.test(message);
  if (isExpected) return;
  const wanted = typeof expected === "function" ? "what the test accepts" : String(expected);
  throw new ScenarioError(`It was refused for another reason than ${wanted}: ${message}`, {
    expected: wanted,
    actual: message,
    cause: refusal,
  });
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function describe(refusal: ServiceRefusal): string {
  const { event_type, error_type, path, error, details = [] } = refusal;
  const place = path === undefined ? "" : ` at ${path}`;
  const faults = details.map((fault) => `\n  ${fault.path} ${fault.message}`).join("");
  return `${event_type}: ${error_type}${place}: ${error}${faults}`;
}
