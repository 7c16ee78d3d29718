/** What came of a try: written, found good, in conflict, or refused, and what to do then. */

import type { Refusal } from "@daybook/client";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { hrefOf } from "../shell/router.ts";
import { NeedKey } from "./need_key.tsx";
import type { Outcome, Stream } from "./send_entry.ts";

export interface OutcomeNoteProps {
  readonly outcome: Outcome;
  readonly stream: Stream;
  readonly onExpect: (length: number) => void;
  readonly onAnother: () => void;
}

export function OutcomeNote({ outcome, stream, onExpect, onAnother }: OutcomeNoteProps) {
  const { faults, refusal, conflict, isFine, isDoubtful = false, written, isOld } = outcome;
  if (written !== undefined) {
    return <WrittenNote stream={stream} written={written} onAnother={onAnother} />;
  }
  if (conflict !== undefined) {
    return <ConflictNote stream={stream} conflict={conflict} onExpect={onExpect} />;
  }
  if (isFine) {
    return (
      <p class="note good" role="status">
        The server would take this event. Nothing has been written.
      </p>
    );
  }
  if (refusal !== undefined) {
    return (
      <>
        <RefusalNote refusal={refusal} />
        {adviceFor(refusal, isDoubtful)}
      </>
    );
  }
  if (faults.length === 0 || isOld) return null;
  return (
    <p class="note danger" role="alert">
      Nothing was sent, for {faults.length === 1 ? "one field" : `${faults.length} fields`}{" "}
      cannot be read. The faults stand at the fields.
    </p>
  );
}

function adviceFor(refusal: Refusal, isDoubtful: boolean) {
  const { error_type } = refusal;
  if (error_type === "forbidden") {
    return <NeedKey why="The key of this tab may not write here." />;
  }
  if (error_type === "idempotency_mismatch") {
    return (
      <p class="note warning">
        An event has been written under this key, and the form means another one now. Choose a new
        key to write it as well.
      </p>
    );
  }
  if (!isDoubtful) return null;
  return (
    <p class="note warning">
      It is not known whether the event was written. Press Write again and leave the key as it is:
      then it is written once, whatever has happened.
    </p>
  );
}

interface WrittenNoteProps {
  readonly stream: Stream;
  readonly written: number;
  readonly onAnother: () => void;
}

function WrittenNote({ stream: { type, id }, written, onAnother }: WrittenNoteProps) {
  return (
    <div class="note good" role="status">
      <p>
        Written once, as{" "}
        <a href={hrefOf(["streams", type, id], { event: written })}>
          event {written} of {type}:{id}
        </a>. Pressing again with the same key writes nothing more.
      </p>
      <button type="button" onClick={onAnother}>Write another event</button>
    </div>
  );
}

interface ConflictNoteProps {
  readonly stream: Stream;
  readonly conflict: { readonly current: number; readonly expected: number };
  readonly onExpect: (length: number) => void;
}

function ConflictNote({ stream, conflict, onExpect }: ConflictNoteProps) {
  const { type, id } = stream;
  const { current, expected } = conflict;
  return (
    <div class="note warning" role="alert">
      <p>
        <strong>The stream has {current} events, and you expected {expected}.</strong>{" "}
        Nothing was written.
      </p>
      {current > expected && (
        <p>
          Somebody else has written meanwhile. Look at{" "}
          <a href={hrefOf(["streams", type, id], { event: expected })}>what was written</a>{" "}
          first. If your event is still right, expect the new length and write again.
        </p>
      )}
      <button type="button" onClick={() => onExpect(current)}>Expect {current} events</button>
    </div>
  );
}
