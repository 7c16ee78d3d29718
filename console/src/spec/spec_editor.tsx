/** `#/spec/edit`: a draft of the spec, what the server says of it, and its way to a deploy. */

import type { Admin } from "@daybook/client/admin";
import { LoadingView } from "../parts/loading_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { FindingList } from "./finding_list.tsx";
import { type Checked, useDraft } from "./use_draft.ts";

/** What is deployed now; version 0 is none. */
export interface Base {
  readonly ok: true;
  readonly version: number;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** To begin with where nothing is deployed. */
const FIRST_SPEC = {
  agent_types: ["user"],
  aggregate_types: {
    note: {
      events: {
        was_written: {
          schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
          handler: { set: { target: "text", value: "$.data.text" } },
        },
      },
    },
  },
};

export function SpecEditor() {
  const admin = connection.value.admin!;
  const base = useLoaded<Base>((signal) => readBase(admin, signal), [admin]);
  return (
    <LoadingView of={base}>
      {(base) => <Editor admin={admin} base={base} />}
    </LoadingView>
  );
}

export async function readBase(admin: Admin, signal: AbortSignal) {
  const answer = await admin.specs.current({ signal });
  if (!answer.ok && answer.error_type === "not_found") return { ok: true, version: 0 } as const;
  return answer;
}

function textOf({ spec = FIRST_SPEC }: Base): string {
  return `${JSON.stringify(spec, null, 2)}\n`;
}

interface EditorProps {
  readonly admin: Admin;
  readonly base: Base;
}

function Editor({ admin, base }: EditorProps) {
  const draft = useDraft(admin, textOf(base));
  const { checked, host, editor, isBroken } = draft;
  if (isBroken) {
    return (
      <p class="note danger" role="alert">
        The editor could not be loaded. Reload the page.
      </p>
    );
  }
  return (
    <>
      <p>
        {base.version === 0
          ? "Nothing is deployed yet. This is an example to begin with."
          : `Begins with version ${base.version}. What you type stays in this tab.`}{" "}
        <span class="quiet">Ctrl+Space completes; Tab leaves the editor.</span>
      </p>
      <div class="editor" ref={host} />
      <p role="status">{STATES[checked.state]}</p>
      {checked.refusal !== undefined && <RefusalNote refusal={checked.refusal} />}
      <FindingList
        label="What is wrong with the spec, and warnings"
        findings={checked.findings}
        lineOf={(offset) => editor.current?.lineAt(offset) ?? 1}
        onGo={(offset) => editor.current?.goTo(offset)}
      />
      <div class="row">
        <button type="button" onClick={() => draft.reset(textOf(base))}>
          {base.version === 0 ? "Back to the example" : `Back to version ${base.version}`}
        </button>
      </div>
    </>
  );
}

const STATES: Readonly<Record<Checked["state"], string>> = {
  // Said aloud by screen readers, so not with each key.
  typing: "\u00a0",
  checking: "Asks the server.",
  faulty: "This text is not a spec yet.",
  accepted: "The server would take this spec.",
  refused: "The server refuses this spec.",
};
