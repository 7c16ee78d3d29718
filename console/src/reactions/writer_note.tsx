/** Says why an act is not offered. */

import { RefusalNote } from "../parts/refusal_note.tsx";
import type { OwnWriter } from "../shell/own_writer.ts";

export interface WriterNoteProps {
  readonly of: OwnWriter;
  /** Such as "Cancelling". */
  readonly act: string;
}

export function WriterNote({ of: { lack, refusal, retry }, act }: WriterNoteProps) {
  if (refusal !== undefined) return <RefusalNote refusal={refusal} onRetry={retry} />;
  if (lack === undefined) return null;
  return (
    <p class="quiet">
      {act} needs an API key with the scope <code>write</code>
      {lack === "other_instance"
        ? " of this instance, and the key of this tab belongs to another one."
        : "."}
    </p>
  );
}
