/** `#/spec/edit`: a draft of the spec, what the server says of it, and its way to a deploy. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import type { Admin } from "@daybook/client/admin";
import { LoadingView } from "../parts/loading_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { about, connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { DeployPreview } from "./deploy_preview.tsx";
import { FindingList } from "./finding_list.tsx";
import { type Base, makePreview, type Preview, readBase } from "./preview.ts";
import { type Checked, type GoodText, useDraft } from "./use_draft.ts";

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
      {(value) => <Editor admin={admin} base={value} onDeployed={base.reload} />}
    </LoadingView>
  );
}

function textOf({ spec = FIRST_SPEC }: Base): string {
  return `${JSON.stringify(spec, null, 2)}\n`;
}

interface EditorProps {
  readonly admin: Admin;
  readonly base: Base;
  readonly onDeployed: () => void;
}

type Shown =
  | { readonly kind: "nothing" | "asking" }
  | { readonly kind: "preview"; readonly text: GoodText; readonly preview: Preview }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "deployed"; readonly version: number };

function Editor({ admin, base, onDeployed }: EditorProps) {
  const draft = useDraft(admin, textOf(base));
  const [shown, setShown] = useState<Shown>({ kind: "nothing" });
  const asking = useRef(new AbortController());
  useEffect(() => () => asking.current.abort(), []);
  const { checked, host, editor, isBroken } = draft;
  if (isBroken) {
    return (
      <p class="note danger" role="alert">
        The editor could not be loaded. Reload the page.
      </p>
    );
  }

  async function preview(text: GoodText): Promise<void> {
    asking.current.abort();
    const { signal } = asking.current = new AbortController();
    setShown({ kind: "asking" });
    const isProduction = about.peek()?.environment === "production";
    const answer = await makePreview(admin, text.spec, { isProduction, signal });
    if (signal.aborted) return;
    setShown(
      answer.ok
        ? { kind: "preview", text, preview: answer.preview }
        : { kind: "refused", refusal: answer },
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
        <button
          type="button"
          class="primary"
          disabled={checked.text === undefined || shown.kind === "asking"}
          onClick={() => preview(checked.text!)}
        >
          Preview the deploy
        </button>
        <button type="button" onClick={() => draft.reset(textOf(base))}>
          {base.version === 0 ? "Back to the example" : `Back to version ${base.version}`}
        </button>
      </div>
      {shown.kind === "asking" && <p role="status">Asks the server and the stored data.</p>}
      {shown.kind === "refused" && <RefusalNote refusal={shown.refusal} />}
      {shown.kind === "deployed" && (
        <p class="note good" role="status">Deployed as version {shown.version}.</p>
      )}
      {shown.kind === "preview" && (
        <DeployPreview
          admin={admin}
          preview={shown.preview}
          isStale={checked.text !== shown.text}
          onAgain={checked.text && (() => void preview(checked.text!))}
          onDeployed={(version) => {
            draft.forget();
            setShown({ kind: "deployed", version });
            onDeployed();
          }}
        />
      )}
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
