/** Sends deliveries of a listener again: one, or after a question all since a time. */

import { useState } from "preact/hooks";
import type { Client, Refusal } from "@daybook/client";
import { Confirm } from "../parts/confirm.tsx";
import { Field } from "../parts/field.tsx";
import { about } from "../shell/connection.ts";

export interface Replayed {
  readonly ok: true;
  readonly replayed: number;
  /** There are more deliveries than are sent again in one call. */
  readonly truncated?: boolean;
}

/** Never sent twice, for a receiver would get all of it twice. */
export function replay(
  writer: Client,
  name: string,
  which: { readonly delivery_id: string } | { readonly since: string },
): PromiseLike<Replayed | Refusal> {
  return writer.$request<Replayed>({
    method: "POST",
    path: `/_listeners/${encodeURIComponent(name)}/replay`,
    body: which,
    once: true,
  });
}

export function toldOf({ replayed, truncated }: Replayed): string {
  const sent = replayed === 1
    ? "One delivery is"
    : `${replayed.toLocaleString("en")} deliveries are`;
  return `${sent} sent again.${
    truncated ? " There are more: choose the time of the last one." : ""
  }`;
}

export interface ReplaySinceProps {
  readonly writer: Client;
  readonly name: string;
  readonly onReplayed: (answer: Replayed) => void;
}

export function ReplaySince({ writer, name, onReplayed }: ReplaySinceProps) {
  const [local, setLocal] = useState("");
  const [asked, setAsked] = useState<string>();

  async function send(since: string): Promise<{ readonly ok: true } | Refusal> {
    const answer = await replay(writer, name, { since });
    if (answer.ok) onReplayed(answer);
    return answer;
  }

  return (
    <>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(new Date(local).toISOString());
        }}
      >
        <Field
          label="Send again all since"
          type="datetime-local"
          value={local}
          required
          onInput={setLocal}
        />
        <button type="submit" disabled={local === ""}>Send again</button>
      </form>
      {asked !== undefined && (
        <Confirm
          title="Send these deliveries again?"
          verb="Send them again"
          environment={about.value!.environment}
          onConfirm={() => send(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            All ended deliveries to <strong>{name}</strong> of events that were written since{" "}
            <code>{asked}</code> are sent again. Its receiver gets those once more that it has had.
          </p>
        </Confirm>
      )}
    </>
  );
}
