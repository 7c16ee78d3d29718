/** Requests that a stream is erased: what, why, and when it begins. Asks before it does. */

import { useState } from "preact/hooks";
import type { ErasureRequest } from "@daybook/client/admin";
import { Confirm } from "../parts/confirm.tsx";
import { Field } from "../parts/field.tsx";
import { about, changedPlace, connection } from "../shell/connection.ts";
import { goTo } from "../shell/router.ts";
import { readChoice } from "./event_choice.ts";

const GRACE_HOURS = 72;

const NOTHING = { stream: "", reason: "", basis: "", grace: String(GRACE_HOURS) };
type Typed = typeof NOTHING;
type Fault = { readonly field: keyof Typed; readonly message: string };

export function NewErasure() {
  const [typed, setTyped] = useState(NOTHING);
  const [fault, setFault] = useState<Fault>();
  const [request, setRequest] = useState<ErasureRequest>();

  function ask(event: SubmitEvent): void {
    event.preventDefault();
    const read = readRequest(typed);
    setFault(read.ok ? undefined : read.fault);
    if (read.ok) setRequest(read.request);
  }

  const field = (name: keyof Typed) => ({
    value: typed[name],
    fault: fault?.field === name ? fault.message : undefined,
    onInput: (text: string) => setTyped({ ...typed, [name]: text }),
  });
  return (
    <details class="card">
      <summary>Request an erasure</summary>
      <form aria-label="Request an erasure" noValidate onSubmit={ask}>
        <div class="columns">
          <Field label="Stream to erase" placeholder="person:7KD2M9QXA" {...field("stream")} />
          <Field
            label="Reason"
            hint="It is signed and shown, so name no person."
            {...field("reason")}
          />
          <Field
            label="Legal basis (optional)"
            placeholder="GDPR Article 17(1)(b)"
            {...field("basis")}
          />
          <Field
            label="Hours until it begins"
            type="number"
            hint={`In production ${GRACE_HOURS} or more. Until then it can be cancelled.`}
            {...field("grace")}
          />
        </div>
        <button type="submit">Request it</button>
      </form>
      {request && <Ask request={request} onClose={() => setRequest(undefined)} />}
    </details>
  );
}

function Ask({ request, onClose }: { request: ErasureRequest; onClose: () => void }) {
  const { admin } = connection.value;
  const { environment } = about.value!;

  async function run() {
    const answer = await admin!.erasures.request(request);
    if (answer.ok) goTo(["proof", "erasures", answer.tombstone.id]);
    return answer;
  }

  return (
    <Confirm
      title="Erase this stream?"
      verb="Request the erasure"
      environment={environment}
      onConfirm={run}
      onClose={onClose}
    >
      <p>
        All events of <code class="wrap">{request.key}</code> in{" "}
        <strong>{changedPlace.value}</strong> are replaced by markers in {request.grace_hours}{" "}
        hours, with those written until then. Nobody can bring them back. What other streams hold of
        them is not touched.
      </p>
    </Confirm>
  );
}

type Read =
  | { readonly ok: true; readonly request: ErasureRequest }
  | { readonly ok: false; readonly fault: Fault };

function readRequest({ stream, reason, basis, grace }: Typed): Read {
  const read = readChoice(stream, "0");
  if (!read.ok) return refuse("stream", read.message);
  if (reason.trim() === "") return refuse("reason", "Write why the stream is to be erased");
  if (!/^\d+$/.test(grace.trim())) return refuse("grace", "Write a whole number of hours");
  const { type, id } = read.choice;
  return {
    ok: true,
    request: {
      key: `${type}:${id}`,
      reason: reason.trim(),
      legal_basis: basis.trim() || undefined,
      grace_hours: Number(grace),
    },
  };
}

function refuse(field: keyof Typed, message: string): Read {
  return { ok: false, fault: { field, message } };
}
