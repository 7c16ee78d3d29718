/** Ends the text of a key: now, at a time, or by a new text in its place. Asks before it does. */

import { useState } from "preact/hooks";
import type { ApiKey, IssuedKey } from "@daybook/client/admin";
import { Confirm } from "../parts/confirm.tsx";
import { Field } from "../parts/field.tsx";
import { connection } from "../shell/connection.ts";

export type KeyAct = "revoke" | "rotate" | "schedule";

export interface EndKeyProps {
  readonly act: KeyAct;
  readonly of: ApiKey;
  /** After it was done, with the new key if there is one. */
  readonly onDone: (issued: IssuedKey | undefined) => void;
  readonly onClose: () => void;
}

const WORDS = {
  revoke: {
    verb: "Revoke",
    means: "Whoever uses it is refused from then on, at once. A revoked key never works again.",
  },
  rotate: {
    verb: "Rotate",
    means: "It gets a new text, which is shown once. Whoever uses the old one is refused at once.",
  },
  schedule: {
    verb: "End later",
    means: "Whoever uses it is refused from that time on. Another time can be set until then.",
  },
} as const;

const DAY_MS = 86_400_000;

export function EndKey({ act, of, onDone, onClose }: EndKeyProps) {
  const { admin } = connection.value;
  const [endsAt, setEndsAt] = useState(() => new Date(Date.now() + DAY_MS).toISOString());
  const { verb, means } = WORDS[act];

  async function run() {
    switch (act) {
      case "revoke": {
        const answer = await admin!.keys.revoke(of.id);
        if (answer.ok) onDone(undefined);
        return answer;
      }
      case "rotate": {
        const answer = await admin!.keys.rotate(of.id);
        if (answer.ok) onDone(answer);
        return answer;
      }
      case "schedule": {
        const answer = await admin!.keys.scheduleRevocation(of.id, endsAt.trim());
        if (answer.ok) onDone(undefined);
        return answer;
      }
    }
  }

  return (
    <Confirm
      title={`${verb}: ${of.name}`}
      verb={verb}
      environment={of.environment}
      onConfirm={run}
      onClose={onClose}
    >
      <p>
        The key <bdi>{of.name}</bdi> of {of.environment}. {means}
      </p>
      {act === "schedule" && (
        <Field
          label="Ends at (UTC)"
          value={endsAt}
          hint="Such as 2030-01-31T12:00:00Z"
          onInput={(text) => setEndsAt(text)}
        />
      )}
    </Confirm>
  );
}
