/** `#/write`: which stream; `/{type}/{id}`: an event for it. */

import { useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { EmptyState } from "../parts/empty_state.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { useOwnWriter } from "../shell/own_writer.ts";
import { goTo, hrefOf, place } from "../shell/router.ts";
import { credentials } from "../shell/session.ts";
import { NeedKey } from "./need_key.tsx";
import { WriteForm } from "./write_form.tsx";
import { type WriteForms, writeFormsOf } from "./write_forms.ts";

export function WritePage() {
  const [, type, id] = place.value.path;
  return (
    <>
      <h1>{id === undefined ? "Write an event" : `Write to ${type}:${id}`}</h1>
      <WithWriter />
    </>
  );
}

/** Writes go to the instance of the key, which must be the one that the page shows. */
function WithWriter() {
  const { writer, lack, refusal, retry } = useOwnWriter();
  if (refusal !== undefined) return <RefusalNote refusal={refusal} onRetry={retry} />;
  if (lack !== undefined) return <NeedKey why={WHY[lack]} />;
  if (writer === undefined) return <p class="quiet" role="status">Loading</p>;
  // What was found out about one key says nothing about another one.
  return <WithScope key={credentials.value.key} />;
}

const WHY = {
  no_key: "An operator token reads and administers, but no token writes events.",
  other_instance: "The key of this tab belongs to another instance than the one you see.",
} as const;

function WithScope() {
  const scope = useLoaded(
    async (signal) => ({ ok: true as const, mayWrite: await isWriteKey(signal) }),
    [],
  );
  return (
    <LoadingView of={scope}>
      {({ mayWrite }) =>
        mayWrite ? <Forms /> : <NeedKey why="The key of this tab has the scope read." />}
    </LoadingView>
  );
}

/** The server does not tell the scope of a key, but refuses every write of a key for reading. */
async function isWriteKey(signal: AbortSignal): Promise<boolean> {
  try {
    const response = await askWithKey("/_atomic-write", { method: "POST", body: "{}", signal });
    return response.status !== 403;
  } catch {
    // Whoever asks next is told that the server does not answer.
    return true;
  }
}

function askWithKey(path: string, init: RequestInit): Promise<Response> {
  const headers = {
    authorization: `Bearer ${credentials.peek().key}`,
    "content-type": "application/json",
  };
  return fetch(new URL(path, location.origin), { ...init, headers });
}

function Forms() {
  const { writer } = connection.value;
  const forms = useLoaded(readForms, [writer]);
  const [, type, id] = place.value.path;
  return (
    <LoadingView of={forms}>
      {(found) => {
        if (found.types.size === 0) return <NoTypes />;
        if (type === undefined || id === undefined) return <StreamChoice forms={found} />;
        const events = found.types.get(type);
        if (events === undefined) return <p class="note danger">The spec has no type {type}.</p>;
        return (
          <WriteForm
            key={`${type}:${id}`}
            forms={found}
            events={events}
            type={type}
            id={id}
          />
        );
      }}
    </LoadingView>
  );
}

/** The server makes this document for the spec that is deployed to the environment of the key. */
async function readForms(signal: AbortSignal): Promise<WriteForms | Refusal> {
  try {
    const response = await askWithKey("/openapi.json", { signal });
    const answer = await response.json();
    return response.ok ? writeFormsOf(answer) : { ...answer, status: response.status };
  } catch {
    const error = "The server does not answer. Is it running?";
    return { ok: false, error_type: "unreachable", error, status: 0 };
  }
}

function NoTypes() {
  return (
    <EmptyState
      title="No type of event can be written"
      command="deno task daybook deploy spec.json"
    >
      The spec says what can be written, and the form is made from it. No spec has been deployed to
      this environment, or its description is too long for a form.
    </EmptyState>
  );
}

function StreamChoice({ forms }: { forms: WriteForms }) {
  const names = [...forms.types.keys()];
  const [, named] = place.value.path;
  const [type, setType] = useState(names.find((name) => name === named) ?? names[0]!);
  const [id, setId] = useState("");

  function open(event: SubmitEvent): void {
    event.preventDefault();
    if (id.trim() !== "") goTo(["write", type, id.trim()]);
  }

  return (
    <form class="card" aria-label="Stream" onSubmit={open}>
      <Choice
        label="Type"
        value={type}
        options={names.map((name) => [name, name])}
        onChange={(value) => setType(value)}
      />
      <Field
        label="Id"
        value={id}
        required
        hint="A UUID, a code of nine letters and digits, or a singleton such as global. The first
          event makes the stream."
        onInput={(value) => setId(value)}
      />
      <div class="row">
        <button type="submit" class="primary">Go on</button>
        <button type="button" onClick={() => setId(crypto.randomUUID())}>New id</button>
        <a class="button" href={hrefOf(["streams"])}>Find a stream</a>
      </div>
    </form>
  );
}
