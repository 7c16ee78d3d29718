/** One event for a stream: its data, who writes it, and at which length. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Choice } from "../parts/field.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { about, connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { DataPart } from "./data_part.tsx";
import type { Entry } from "./entry.ts";
import type { Part } from "./form_draft.ts";
import { MetadataPart } from "./metadata_part.tsx";
import { OutcomeNote } from "./outcome_note.tsx";
import { checkEntry, type Outcome, sendEntry, stillTrue } from "./send_entry.ts";
import type { WriteForms } from "./write_forms.ts";

export interface WriteFormProps {
  readonly forms: WriteForms;
  /** The event types of the stream with the schemas of their data. */
  readonly events: ReadonlyMap<string, unknown>;
  readonly type: string;
  readonly id: string;
}

export function WriteForm(props: WriteFormProps) {
  const { type, id } = props;
  const { db } = connection.value;
  const length = useLoaded((signal) => db[type]!(id).length({ signal }), [db]);
  return (
    <LoadingView of={length}>
      {({ length: current }) => <Form {...props} length={shownLength() ?? current} />}
    </LoadingView>
  );
}

/** How many events the reader has seen, if the link that led here says so. */
function shownLength(): number | undefined {
  const { length = "" } = place.peek().query;
  return /^[0-9]{1,15}$/.test(length) ? Number(length) : undefined;
}

function newEntry({ forms, events }: WriteFormProps, length: number): Entry {
  const { event } = place.peek().query;
  const [first = ""] = events.keys();
  return {
    event: event !== undefined && events.has(event) ? event : first,
    isJson: false,
    draft: undefined,
    json: "",
    actorType: forms.actorTypes[0] ?? "",
    actorId: "",
    targetType: "",
    targetId: "",
    expected: String(length),
    key: crypto.randomUUID(),
  };
}

/** What came of the entry that was sent. */
interface Tried {
  readonly sent?: Entry;
  readonly came: Outcome;
}

const NOTHING: Tried = { came: { faults: [] } };

function Form(props: WriteFormProps & { readonly length: number }) {
  const { forms, events, type, id, length } = props;
  const [entry, setEntry] = useState(() => newEntry(props, length));
  const [tried, setTried] = useState(NOTHING);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const { writer } = connection.value;
  const schema = events.get(entry.event);
  const part: Part = { root: forms.root, schema, path: "data", isRequired: true, depth: 0 };
  const outcome = tried.sent ? stillTrue(tried.came, tried.sent, entry) : tried.came;

  useEffect(() => {
    if (outcome.faults.length === 0) return;
    form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [tried]);

  function change(some: Partial<Entry>): void {
    setEntry((before) => ({ ...before, ...some }));
  }

  async function run(act: typeof sendEntry): Promise<void> {
    if (isBusy) return;
    setBusy(true);
    setTried({ sent: entry, came: await act(writer!, { type, id }, entry, part) });
    setBusy(false);
  }

  async function startAnother(): Promise<void> {
    setTried(NOTHING);
    const { event, actorType, actorId } = entry;
    setEntry({ ...newEntry(props, outcome.written! + 1), event, actorType, actorId });
    // Reactions may have written to the same stream.
    const answer = await connection.peek().db[type]!(id).length();
    if (answer.ok) change({ expected: String(answer.length) });
  }

  return (
    <>
      <form
        ref={form}
        class="write"
        aria-label="Event"
        aria-busy={isBusy}
        onSubmit={(event) => {
          event.preventDefault();
          void run(sendEntry);
        }}
      >
        <p>
          <a href={hrefOf(["streams", type, id])}>The stream</a> had {length}{" "}
          {length === 1 ? "event" : "events"} when you opened this form.
        </p>
        <Choice
          label="Event type"
          value={entry.event}
          options={[...events.keys()].map((name) => [name, name])}
          onChange={(event) => {
            setQuery({ event });
            setTried(NOTHING);
            change({ event, draft: undefined, json: "", isJson: false });
          }}
        />
        <DataPart
          key={entry.event}
          entry={entry}
          part={part}
          faults={outcome.faults}
          onChange={change}
        />
        <MetadataPart entry={entry} forms={forms} faults={outcome.faults} onChange={change} />
        <Buttons isBusy={isBusy} onCheck={() => run(checkEntry)} />
      </form>
      {/* Outside of the form, for it may hold the form that takes a key. */}
      <OutcomeNote
        outcome={outcome}
        stream={{ type, id }}
        onExpect={(expected) => {
          change({ expected: String(expected) });
          setTried(NOTHING);
        }}
        onAnother={startAnother}
      />
    </>
  );
}

function Buttons({ isBusy, onCheck }: { isBusy: boolean; onCheck: () => void }) {
  const isProduction = about.value?.environment === "production";
  // They stay enabled while the server is asked: a disabled button would lose the focus.
  return (
    <>
      <div class="row">
        <button type="submit" class={isProduction ? "danger" : "primary"} aria-disabled={isBusy}>
          {isProduction ? "Write to production" : "Write"}
        </button>
        <button type="button" aria-disabled={isBusy} onClick={onCheck}>
          Check without writing
        </button>
      </div>
      <p class="hint">
        What is written stays: no event is ever changed. The check covers all but what handlers that
        are modules would say, which are asked only when the event is written.
      </p>
    </>
  );
}
