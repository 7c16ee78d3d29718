/** `#/proof`: anchors, and the proof of one event, verified in the page: `/{type}/{id}/{index}`. */

import { goTo, place } from "../shell/router.ts";
import { Field } from "../parts/field.tsx";
import { Anchors } from "./anchors.tsx";
import { EventProof } from "./event_proof.tsx";
import { SigningKeyView } from "./signing_key.tsx";

export function ProofPage() {
  const [, type, id, index] = place.value.path;
  return (
    <>
      <h1>Proof</h1>
      <p class="quiet">
        An anchor is a signed statement about everything that was stored at a moment. A bundle leads
        from one event to an anchor, so it proves the event to somebody who does not trust the
        server.
      </p>
      <SigningKeyView />
      <ChooseEvent type={type} id={id} index={index} />
      {index === undefined ? <Anchors /> : (
        <EventProof
          key={place.value.path.join("/")}
          type={type!}
          id={id!}
          index={Number(index)}
        />
      )}
    </>
  );
}

interface ChooseEventProps {
  readonly type?: string;
  readonly id?: string;
  readonly index?: string;
}

function ChooseEvent({ type, id, index }: ChooseEventProps) {
  function open(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const key = String(form.get("stream")).trim();
    const at = key.indexOf(":");
    if (at > 0) {
      goTo(["proof", key.slice(0, at), key.slice(at + 1), String(Number(form.get("index")))]);
    }
  }

  return (
    <form class="row" aria-label="Event" onSubmit={open}>
      <Field
        label="Stream"
        name="stream"
        placeholder="order:7KD2M9QXA"
        value={type === undefined ? "" : `${type}:${id}`}
        required
      />
      <Field label="Event" name="index" type="number" value={index ?? "0"} required />
      <button type="submit" class="primary">Prove it</button>
    </form>
  );
}
