/**
 * `#/proof`: anchors; the proof of one event, verified in the page: `/{type}/{id}/{index}`;
 * erasures with their receipts: `/erasures/{id}`; and evidence that somebody has: `/evidence`.
 */

import { useEffect, useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { goTo, hrefOf, place } from "../shell/router.ts";
import { Anchors } from "./anchors.tsx";
import { readChoice } from "./event_choice.ts";
import { EventProof } from "./event_proof.tsx";
import { Erasures } from "./erasures.tsx";
import { OwnEvidence } from "./own_evidence.tsx";
import { Trusted } from "./trusted.tsx";

const TABS = [
  { name: undefined, title: "Events and anchors" },
  { name: "erasures", title: "Erasures" },
  { name: "evidence", title: "Evidence that you have" },
] as const;

export function ProofPage() {
  const { path } = place.value;
  // An aggregate type may have the name of a tab; its events have longer addresses.
  const tab = path.length > 3 ? undefined : TABS.find(({ name }) => name === path[1])?.name;
  return (
    <>
      <h1>Proof</h1>
      <p class="quiet">
        An anchor is a signed statement about everything that was stored at a moment. A bundle leads
        from one event to an anchor, so it proves the event to somebody who does not trust the
        server.
      </p>
      <nav class="tabs" aria-label="Kinds of proof">
        {TABS.map(({ name, title }) => (
          <a
            key={title}
            href={hrefOf(name === undefined ? ["proof"] : ["proof", name])}
            aria-current={name === tab ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {tab === undefined && <Events />}
      {tab === "erasures" && <Erasures id={path[2]} />}
      {tab === "evidence" && <OwnEvidence />}
    </>
  );
}

function Events() {
  const { path } = place.value;
  const [, type = "", id = "", index] = path;
  const read = index === undefined ? undefined : readChoice(`${type}:${id}`, index);
  return (
    <>
      <ChooseEvent stream={type && `${type}:${id}`} index={index} />
      <Trusted>
        {(scope) =>
          read !== undefined && (read.ok
            ? <EventProof key={path.join("/")} choice={read.choice} scope={scope} />
            : <p class="note danger" role="alert">{read.message}</p>)}
      </Trusted>
      {index === undefined && <Anchors />}
    </>
  );
}

function ChooseEvent({ stream, index = "0" }: { stream: string; index?: string }) {
  const [typed, setTyped] = useState({ stream, index });
  const [fault, setFault] = useState<{ field: string; message: string }>();
  // The form stays, so that it keeps the focus; its fields follow the address.
  useEffect(() => {
    setTyped({ stream, index });
    setFault(undefined);
  }, [stream, index]);

  function open(event: SubmitEvent): void {
    event.preventDefault();
    const read = readChoice(typed.stream, typed.index);
    if (!read.ok) return setFault(read);
    setFault(undefined);
    const { type, id, index } = read.choice;
    goTo(["proof", type, id, String(index)]);
  }

  return (
    <form class="row" aria-label="Event" noValidate onSubmit={open}>
      <Field
        label="Stream"
        placeholder="order:7KD2M9QXA"
        value={typed.stream}
        fault={fault?.field === "stream" ? fault.message : undefined}
        onInput={(stream) => setTyped({ ...typed, stream })}
      />
      <Field
        label="Event"
        type="number"
        value={typed.index}
        fault={fault?.field === "index" ? fault.message : undefined}
        onInput={(index) => setTyped({ ...typed, index })}
      />
      <button type="submit" class="primary">Prove it</button>
    </form>
  );
}
