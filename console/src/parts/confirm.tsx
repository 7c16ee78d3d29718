/** Asks before something is done that cannot be undone; in production for the name of it, too. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { Dialog } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { RefusalNote } from "./refusal_note.tsx";

export interface ConfirmProps {
  readonly title: string;
  /** What the button says that does it. */
  readonly verb: string;
  /** Of `production`, the name must be typed. */
  readonly environment: string;
  /** What it means. */
  readonly children: ComponentChildren;
  /** Does it. What the server refuses is shown, and the dialog stays open. */
  readonly onConfirm: () => PromiseLike<{ readonly ok: true } | Refusal>;
  /** Also called when it is done. */
  readonly onClose: () => void;
}

/** Open as long as it is rendered. */
export function Confirm(props: ConfirmProps) {
  const { title, verb, environment, children, onConfirm, onClose } = props;
  const [typed, setTyped] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  // The browser gives the focus back when a dialog is closed, not when it is taken away.
  const [isOpen, setOpen] = useState(true);
  const isProduction = environment === "production";
  const isReady = !isBusy && (!isProduction || typed.trim() === environment);

  async function act(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    setRefusal(undefined);
    const answer = await onConfirm();
    setBusy(false);
    if (answer.ok) setOpen(false);
    else setRefusal(answer as Refusal);
  }

  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <form onSubmit={act}>
        {children}
        {isProduction && (
          <Field
            label="Type the name of the environment, production"
            value={typed}
            onInput={(text) => setTyped(text)}
          />
        )}
        {refusal !== undefined && <RefusalNote refusal={refusal} />}
        <div class="row">
          <button type="submit" class="danger" disabled={!isReady}>{verb}</button>
          <button type="button" onClick={() => setOpen(false)}>Leave it as it is</button>
        </div>
      </form>
    </Dialog>
  );
}
