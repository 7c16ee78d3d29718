/** The last question before a deploy. In production it wants the name of the environment typed. */

import { useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import type { Admin } from "@daybook/client/admin";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { about, changedPlace } from "../shell/connection.ts";
import { type Preview, readBase } from "./preview.ts";

export interface DeployDialogProps {
  readonly admin: Admin;
  readonly preview: Preview;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onDeployed: (version: number) => void;
}

export function DeployDialog(props: DeployDialogProps) {
  const { isOpen, onClose } = props;
  return (
    <Dialog title={`Deploy to ${nameOfEnvironment()}`} isOpen={isOpen} onClose={onClose}>
      <Question {...props} />
    </Dialog>
  );
}

function nameOfEnvironment(): string {
  return about.value?.environment ?? "this environment";
}

function Question({ admin, preview, onClose, onDeployed }: DeployDialogProps) {
  const environment = nameOfEnvironment();
  const mustType = environment === "production";
  const mustForce = preview.verdict === "incompatible";
  const [typed, setTyped] = useState("");
  const [isForced, setForced] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [told, setTold] = useState<string | Refusal>();
  const isReady = !isBusy && (!mustType || typed === environment) && (!mustForce || isForced);

  async function deploy(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    const outcome = await deployPreviewed(admin, preview);
    setBusy(false);
    if (typeof outcome === "number") onDeployed(outcome);
    else setTold(outcome);
  }

  return (
    <form onSubmit={deploy}>
      <p>
        This deploys to <strong>{changedPlace.value}</strong>. {preview.base.version === 0
          ? "This is the first spec here."
          : `Version ${preview.base.version} is replaced.`}{" "}
        Writes follow the new spec at once, and states are computed by its handlers.
      </p>
      {mustForce && (
        <label class="choice">
          <input
            type="checkbox"
            checked={isForced}
            onChange={(event) => setForced(event.currentTarget.checked)}
          />{" "}
          Deploy although it breaks what clients send today
        </label>
      )}
      {mustType && (
        <Field
          label={`Type ${environment} to deploy to it`}
          value={typed}
          onInput={setTyped}
          required
        />
      )}
      {typeof told === "string" && <p class="note danger" role="alert">{told}</p>}
      {typeof told === "object" && <RefusalNote refusal={told} />}
      <div class="row">
        <button type="submit" class="primary" disabled={!isReady}>Deploy</button>
        <button type="button" onClick={onClose}>Cancel</button>
      </div>
    </form>
  );
}

/** The new version; else a refusal, or why what was previewed is no longer what would happen. */
async function deployPreviewed(
  admin: Admin,
  { base, spec, verdict }: Preview,
): Promise<number | string | Refusal> {
  const now = await readBase(admin);
  if (!now.ok) return now;
  if (now.version !== base.version) {
    return `Somebody has deployed version ${now.version} meanwhile. Preview the deploy again.`;
  }
  const answer = await admin.deploy(spec, verdict === "incompatible" ? { force: true } : {});
  return answer.ok ? answer.version : answer;
}
