/** `#/workbench/{type}/{event}?stream=`: a handler is tried on a stream before it is deployed. */

import { EmptyState } from "../parts/empty_state.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { goTo, hrefOf, place, setQuery } from "../shell/router.ts";
import { callsOf } from "../shell/settled.ts";
import { GuardBench } from "./guard_bench.tsx";
import { HandlerBench } from "./handler_bench.tsx";
import { keptHandlers } from "./kept_handlers.ts";
import { SchemaDraft } from "./schema_draft.tsx";

const STREAMS_OFFERED = 8;

type Members = Readonly<Record<string, unknown>>;

export function WorkbenchPage() {
  const { admin } = connection.value;
  const current = useLoaded((signal) => admin!.specs.current({ signal }), [admin]);
  const { value, refusal } = current.now.value;
  return (
    <div class="workbench">
      <h1>Workbench</h1>
      <p class="quiet">
        A handler is edited here and tried on a stored stream. Nothing is written or deployed.
      </p>
      {refusal?.error_type === "not_found"
        ? (
          <EmptyState title="No spec yet" command="deno task daybook deploy spec.json">
            Handlers are part of the spec.
          </EmptyState>
        )
        : (
          <LoadingView of={current}>
            {() => <Chosen spec={value?.spec} />}
          </LoadingView>
        )}
    </div>
  );
}

function Chosen({ spec }: { spec: unknown }) {
  const types = membersOf(spec, "aggregate_types");
  const { path, query: { stream = "" } } = place.value;
  const type = path[1] ?? Object.keys(types)[0] ?? "";
  const events = membersOf(own(types, type), "events");
  const event = path[2] ?? Object.keys(events)[0] ?? "";
  if (!Object.hasOwn(events, event)) {
    return (
      <EmptyState title="No such event type">
        The deployed spec has no event type {type}.{event}.
      </EmptyState>
    );
  }
  return (
    <>
      <form class="row" aria-label="What is tried" onSubmit={openStream}>
        <Choice
          label="Type"
          value={type}
          options={Object.keys(types).map((name) => [name, name])}
          onChange={(name) => goTo(["workbench", name])}
        />
        <Choice
          label="Event type"
          value={event}
          options={Object.keys(events).map((name) => [name, name])}
          onChange={(name) => goTo(["workbench", type, name], { stream })}
        />
        <Field key={`${type}:${stream}`} label="Id of a stream" name="stream" value={stream} />
        <button type="submit">Fold it</button>
      </form>
      <Streams key={type} type={type} />
      <OtherChanges type={type} event={event} />
      <HandlerBench
        key={`${type}.${event}`}
        type={type}
        event={event}
        aggregateType={own(types, type)}
        handler={membersOf(events, event).handler}
        stream={stream}
        spec={spec}
      />
      <GuardBench
        key={`guards of ${type}.${event}`}
        type={type}
        event={event}
        aggregateType={own(types, type)}
        guards={membersOf(events, event).guards}
        stream={stream}
        spec={spec}
      />
      <SchemaDraft key={`schema of ${type}.${event}`} type={type} event={event} />
    </>
  );
}

/** The way back to what was changed before, for the page opens with the first handler. */
function OtherChanges({ type, event }: { type: string; event: string }) {
  const others = keptHandlers(connection.value.instanceId)
    .filter((each) => each.type !== type || each.event !== event);
  if (others.length === 0) return null;
  return (
    <p class="note">
      Also changed in this tab: {others.map((each, at) => (
        <span key={at}>
          {at > 0 && ", "}
          <a href={hrefOf(["workbench", each.type, each.event])}>{each.type}.{each.event}</a>
        </span>
      ))}
    </p>
  );
}

function openStream(event: SubmitEvent): void {
  event.preventDefault();
  const form = new FormData(event.currentTarget as HTMLFormElement);
  setQuery({ stream: String(form.get("stream")).trim(), length: undefined }, { replace: false });
}

/** A few streams to choose from. */
function Streams({ type }: { type: string }) {
  const { db } = connection.value;
  const found = useLoaded(
    (signal) => callsOf(db, type).listPage({ limit: STREAMS_OFFERED, signal }),
    [db, type],
  );
  const ids = (found.now.value.value?.data ?? []) as readonly string[];
  if (ids.length === 0) return null;
  return (
    <p>
      Streams of {type}: {ids.map((id) => (
        <button
          key={id}
          type="button"
          class="small mono"
          onClick={() => setQuery({ stream: id, length: undefined }, { replace: false })}
        >
          {id}
        </button>
      ))}
    </p>
  );
}

function membersOf(value: unknown, name: string): Members {
  const member = own(value, name);
  return typeof member === "object" && member !== null ? member as Members : {};
}

function own(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Members)[name];
}
